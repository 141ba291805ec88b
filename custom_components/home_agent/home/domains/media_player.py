"""Media players and remote controls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from homeassistant.components.media_player.const import MediaPlayerEntityFeature as Feature, RepeatMode
from homeassistant.components.remote.const import RemoteEntityFeature

from ..domain import Action, Domain, Field, Logged, Subject
from ..parameters import boolean, choice, fraction, number, one_of, option, percent_as_fraction, text
from ..records import ON_OFF, SWITCHABLE, at, away_from, exchanged, features_as_words, has, is_in, setting, shown
from ..tolerance import near, same, steps, yes_or_no

_PLAYING, _SILENT = at("playing", "buffering"), away_from("playing", "buffering")


def _has_volume(subject: Subject) -> bool:
    return bool(subject.features & (Feature.VOLUME_SET | Feature.VOLUME_STEP))  # Home Assistant steps what can be set


def _flags(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Read `{"pause": true}` and `{"state": "playing"}` as the commands they are."""
    for flag in ("play", "pause", "stop", "next", "previous"):
        if given.get(flag) is True:
            return exchanged(given, flag, "command", flag)
    states = {"playing": "play", "paused": "pause", "idle": "stop"}
    if (word := states.get(str(given.get("state")).casefold())) is not None:
        return exchanged(given, "state", "command", word)
    return given


def _may_speak(_state: object, service: str, data: Mapping[str, Any]) -> bool:
    """Return whether it plays what anybody may have written: a text that is spoken, or a page elsewhere."""
    played = str(data.get("media_content_id") or data.get("media") or "").casefold()
    return service == "play_media" and ("tts" in played or played.startswith(("http:", "https:")))


DOMAINS = {
    "media_player": Domain(
        actions={
            "turn_on": Action("turn_on", Feature.TURN_ON),
            "turn_off": Action("turn_off", Feature.TURN_OFF),
            "toggle": Action("toggle", Feature.TURN_ON | Feature.TURN_OFF),
            **choice("select_source", "source", "source_list", Feature.SELECT_SOURCE),
            **choice("select_sound_mode", "sound_mode", "sound_mode_list", Feature.SELECT_SOUND_MODE),
            "volume_set": Action(
                "volume_set",
                Feature.VOLUME_SET,
                {
                    "volume_level": Field(fraction, shows=("volume_level", near(0.005, 0.05))),
                    "volume": Field(percent_as_fraction, key="volume_level"),
                },
            ),
            **shown("volume_mute", "is_volume_muted", boolean, yes_or_no, Feature.VOLUME_MUTE),
            "mute": Action("volume_mute", Feature.VOLUME_MUTE, data=lambda _: {"is_volume_muted": True}),
            "unmute": Action("volume_mute", Feature.VOLUME_MUTE, data=lambda _: {"is_volume_muted": False}),
            "volume_up": Action("volume_up", when=_has_volume),
            "volume_down": Action("volume_down", when=_has_volume),
            "media_play": Action("media_play", Feature.PLAY),
            "media_pause": Action("media_pause", Feature.PAUSE),
            "media_play_pause": Action("media_play_pause", Feature.PLAY | Feature.PAUSE),  # it needs both, as a toggle does
            "media_stop": Action("media_stop", Feature.STOP),
            "media_next_track": Action("media_next_track", Feature.NEXT_TRACK),
            "media_previous_track": Action("media_previous_track", Feature.PREVIOUS_TRACK),
            **setting("media_seek", "seek_position", Field(number(0)), Feature.SEEK),
            **shown("shuffle_set", "shuffle", boolean, yes_or_no, Feature.SHUFFLE_SET),
            **shown("repeat_set", "repeat", one_of(*(mode.value for mode in RepeatMode)), same, Feature.REPEAT_SET),
            "clear_playlist": Action("clear_playlist", Feature.CLEAR_PLAYLIST),
        },
        on=("turn_on", "media_play"),
        off=("turn_off", "media_stop", "media_pause"),
        toggle=("toggle",),
        is_on=is_in(unless=("off",)),
        values=(
            "select_source", "select_sound_mode", "volume_set", "volume_mute", "media_seek", "shuffle_set", "repeat_set",
        ),
        value="volume",
        aliases={
            "volume_pct": "volume", "volume_percent": "volume", "muted": "is_volume_muted", "mute": "is_volume_muted",
            "input": "source", "input_source": "source", "position": "seek_position",
        },
        words={
            "play": "media_play", "resume": "media_play", "pause": "media_pause", "play_pause": "media_play_pause",
            "stop": "media_stop", "next": "media_next_track", "next_track": "media_next_track",
            "skip": "media_next_track", "previous": "media_previous_track", "previous_track": "media_previous_track",
            "volume_increase": "volume_up", "volume_decrease": "volume_down",
        },
        rewrite=_flags,
        line=("volume_level", "is_volume_muted", "source"),
        attributes=("volume_level", "is_volume_muted", "source", "sound_mode", "shuffle", "repeat"),
        others_attributes=(
            "media_title", "media_artist", "media_album_name", "media_album_artist", "media_series_title", "media_channel",
            "media_playlist", "media_content_id",
        ),
        search_words=features_as_words(
            (Feature.PLAY | Feature.PAUSE, "play"),
            (Feature.VOLUME_SET | Feature.VOLUME_STEP, "volume"),
            (Feature.NEXT_TRACK, "next track"),
            (Feature.SELECT_SOURCE, "source"),
            (Feature.GROUPING, "grouping"),
        ),
        rank=6,
        logged=Logged.BY_USER,
        goals={
            "turn_on": away_from("off", "standby"),
            "turn_off": at("off", "standby"),
            "media_play": _PLAYING,
            "media_pause": _SILENT,
            "media_stop": _SILENT,
        },
        leads=steps({"volume_up": ("volume_level", 1.0), "volume_down": ("volume_level", 0.0)}),
        alternates={"media_play_pause": ("playing", "media_pause", "media_play")},
        kept=("volume_level", "is_volume_muted", "source", "sound_mode", "shuffle", "repeat"),
        back={
            "off": "turn_off", "on": "turn_on", "idle": "turn_on", "playing": "media_play", "paused": "media_pause",
        },
        wakes="turn_on",
        wary=_may_speak,
        in_a_room=True,
        told_as=ON_OFF | {"playing"},
        becomes={"on": ("on", "playing", "paused", "idle", "buffering"), **dict.fromkeys(("off", "done"), ("off", "standby")), **dict.fromkeys(("playing", "running"), ("playing", "buffering")), "paused": ("paused",), "stopped": ("paused", "idle", "off", "standby")},
    ),
    "remote": replace(
        SWITCHABLE,
        stands_for=True,
        actions={
            **SWITCHABLE.actions,
            "turn_on": Action(
                "turn_on",
                fields={
                    "activity": Field(
                        option("activity_list"), has(RemoteEntityFeature.ACTIVITY), shows=("current_activity", same)
                    )
                },
            ),
            "send_command": Action(
                "send_command",
                fields={
                    "command": Field(text),
                    "device": Field(text),
                    "num_repeats": Field(number(1, 20, whole=True)),
                    "delay_secs": Field(number(0, 10)),
                    "hold_secs": Field(number(0, 10)),
                },
                required=("command",),
            ),
        },
        values=("turn_on", "send_command"),
        value="command",
        aliases={"source": "activity"},
        harmless=frozenset({"send_command"}),
        wary=lambda _state, service, _data: service == "send_command",
        asked_last=True,
    ),
}  # fmt: skip
