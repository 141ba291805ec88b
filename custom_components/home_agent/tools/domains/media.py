"""Media players."""

from homeassistant.components.media_player.const import MediaPlayerEntityFeature, RepeatMode
from homeassistant.const import STATE_OFF, STATE_UNKNOWN

from ..parameters import boolean, fraction, number, one_of, option, percent_as_fraction
from ..spec import Action, Domain, Field, Subject

_PLAY_PAUSE = MediaPlayerEntityFeature.PLAY | MediaPlayerEntityFeature.PAUSE


def _is_on(subject: Subject) -> bool | None:
    return None if subject.state.state == STATE_UNKNOWN else subject.state.state != STATE_OFF


def _has_volume(subject: Subject) -> bool:
    """Return whether the volume can be stepped; players that can be set are stepped by Home Assistant."""
    return bool(subject.features & (MediaPlayerEntityFeature.VOLUME_SET | MediaPlayerEntityFeature.VOLUME_STEP))


def _play_pause(subject: Subject) -> bool:
    """Return whether play/pause is possible: the service wants both, as a toggle does."""
    return subject.features & _PLAY_PAUSE == _PLAY_PAUSE


def _flags(_subject: Subject, given: dict[str, object]) -> dict[str, object]:
    """Read `{"pause": true}` and `{"state": "playing"}` as the commands they are."""
    for flag in ("play", "pause", "stop", "next", "previous"):
        if given.get(flag) is True:
            return {**{name: value for name, value in given.items() if name != flag}, "command": flag}
    states = {"playing": "play", "paused": "pause", "idle": "stop"}
    if (word := states.get(str(given.get("state")).casefold())) is not None:
        return {**{name: value for name, value in given.items() if name != "state"}, "command": word}
    return given


MEDIA_PLAYER = Domain(
    actions=(
        Action(service="turn_on", feature=MediaPlayerEntityFeature.TURN_ON),
        Action(service="turn_off", feature=MediaPlayerEntityFeature.TURN_OFF),
        Action(
            service="toggle", feature=MediaPlayerEntityFeature.TURN_ON | MediaPlayerEntityFeature.TURN_OFF
        ),
        Action(
            service="select_source",
            feature=MediaPlayerEntityFeature.SELECT_SOURCE,
            fields={"source": Field(option("source_list"))},
            required=("source",),
        ),
        Action(
            service="select_sound_mode",
            feature=MediaPlayerEntityFeature.SELECT_SOUND_MODE,
            fields={"sound_mode": Field(option("sound_mode_list"))},
            required=("sound_mode",),
        ),
        Action(
            service="volume_set",
            feature=MediaPlayerEntityFeature.VOLUME_SET,
            fields={"volume_level": Field(fraction), "volume": Field(percent_as_fraction, key="volume_level")},
        ),
        Action(
            service="volume_mute",
            feature=MediaPlayerEntityFeature.VOLUME_MUTE,
            fields={"is_volume_muted": Field(boolean)},
            required=("is_volume_muted",),
        ),
        Action(
            name="mute",
            service="volume_mute",
            feature=MediaPlayerEntityFeature.VOLUME_MUTE,
            data=lambda _subject: {"is_volume_muted": True},
        ),
        Action(
            name="unmute",
            service="volume_mute",
            feature=MediaPlayerEntityFeature.VOLUME_MUTE,
            data=lambda _subject: {"is_volume_muted": False},
        ),
        Action(service="volume_up", when=_has_volume),
        Action(service="volume_down", when=_has_volume),
        Action(service="media_play", feature=MediaPlayerEntityFeature.PLAY),
        Action(service="media_pause", feature=MediaPlayerEntityFeature.PAUSE),
        Action(service="media_play_pause", when=_play_pause),
        Action(service="media_stop", feature=MediaPlayerEntityFeature.STOP),
        Action(service="media_next_track", feature=MediaPlayerEntityFeature.NEXT_TRACK),
        Action(service="media_previous_track", feature=MediaPlayerEntityFeature.PREVIOUS_TRACK),
        Action(
            service="media_seek",
            feature=MediaPlayerEntityFeature.SEEK,
            fields={"seek_position": Field(number(0))},
            required=("seek_position",),
        ),
        Action(
            service="shuffle_set",
            feature=MediaPlayerEntityFeature.SHUFFLE_SET,
            fields={"shuffle": Field(boolean)},
            required=("shuffle",),
        ),
        Action(
            service="repeat_set",
            feature=MediaPlayerEntityFeature.REPEAT_SET,
            fields={"repeat": Field(one_of(*(mode.value for mode in RepeatMode)))},
            required=("repeat",),
        ),
        Action(service="clear_playlist", feature=MediaPlayerEntityFeature.CLEAR_PLAYLIST),
    ),
    on=("turn_on", "media_play"),
    off=("turn_off", "media_stop", "media_pause"),
    toggle=("toggle",),
    is_on=_is_on,
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
        "stop": "media_stop", "next": "media_next_track", "next_track": "media_next_track", "skip": "media_next_track",
        "previous": "media_previous_track", "previous_track": "media_previous_track",
        "volume_increase": "volume_up", "volume_decrease": "volume_down",
    },
    rewrite=_flags,
)  # fmt: skip
