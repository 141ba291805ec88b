"""A kind of effect that only these tests know: a note with the subject `note:<id>` is written, and a tool that writes it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, override

from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.helpers.dispatcher import async_dispatcher_connect, async_dispatcher_send
from homeassistant.helpers.event import async_call_later
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import JsonObjectType
import probatio

from custom_components.home_agent.home.judgement import Judgement
from custom_components.home_agent.policy.effects.effect import Before, EffectKind, EffectWatch, Moment
from custom_components.home_agent.policy.write import EffectTool, async_plan_of
from custom_components.home_agent.turn.plan import Effect, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Turn

NOTES: HassKey[dict[str, str]] = HassKey("test_notes")
CHANGED = "test_note_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteWritten(Effect):
    """A text on a note; no text takes the note away."""

    kind: ClassVar[str] = "note"
    domain: str = "notes"
    service: str = "write"

    @classmethod
    def of(cls, note: str, text: str | None) -> Self:
        return cls(data={"note": note, "text": text})

    @property
    @override
    def subjects(self) -> tuple[str, ...]:
        return (f"note:{self.data['note']}",)


class NoteWatch(EffectWatch[NoteWritten]):
    """Notes that may be written a little later."""

    @override
    def listen(self, subjects: Sequence[str], look: Callable[[str], None]) -> CALLBACK_TYPE:
        return async_dispatcher_connect(self.hass, CHANGED, look)


class NoteKind(EffectKind[NoteWritten]):
    """Notes in `hass.data`."""

    effect = NoteWritten
    why: ClassVar = {"diary": "confirm_why_listed"}

    def __init__(self) -> None:
        self.delay = 0.0
        self.lost = False

    @override
    def judge(self, hass: HomeAssistant, effect: NoteWritten) -> Judgement:
        return Judgement(reasons=("diary",) if effect.data["note"] == "diary" else ())

    @override
    async def async_execute(self, hass: HomeAssistant, effect: NoteWritten, subject: str, context: Context) -> None:
        if effect.data["text"] == "???":
            raise HomeAssistantError("No such words")

        @callback
        def write(_now: object = None) -> None:
            notes, note = hass.data.setdefault(NOTES, {}), effect.data["note"]
            notes.pop(note, None)
            if effect.data["text"] is not None:
                notes[note] = effect.data["text"]
            async_dispatcher_send(hass, CHANGED, subject)

        if self.delay:
            async_call_later(hass, self.delay, write)
        elif not self.lost:
            write()

    @override
    def is_so(self, hass: HomeAssistant, effect: NoteWritten, subject: str) -> bool:
        return bool(hass.data.get(NOTES, {}).get(effect.data["note"]) == effect.data["text"])

    @override
    def watch(self, hass: HomeAssistant, subjects: Any) -> NoteWatch:
        return NoteWatch(hass, self, subjects)

    @override
    def capture(self, hass: HomeAssistant, effect: NoteWritten, subject: str) -> Before:
        return {"text": hass.data.get(NOTES, {}).get(effect.data["note"])}

    @override
    def reverse(self, hass: HomeAssistant, effect: NoteWritten, before: Before | None) -> Sequence[NoteWritten] | None:
        return None if before is None else (NoteWritten(data={**effect.data, **before}),)

    @override
    def kept(self, effect: NoteWritten, entity_ids: Collection[str]) -> NoteWritten:
        return effect

    @override
    async def async_describe(self, hass: HomeAssistant, language: str, effect: NoteWritten, moment: Moment) -> str:
        note, text = effect.data["note"], effect.data["text"]
        match moment:
            case Moment.ASKED:
                return f"write “{text}” into the {note}"
            case Moment.PAST:
                return f"wrote “{text}” into the {note}"
            case Moment.DONE:
                return f"The {note} says “{text}”."
            case Moment.UNDONE:
                return f"The {note} says “{text}” again." if text is not None else f"The {note} is gone."


class WriteNote(EffectTool):
    """Writes notes, and turns on a lamp if asked for one."""

    name = "write_note"
    description = "Write a note."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    judges_calls = True
    parameters = probatio.Schema(
        {probatio.Required("note"): str, probatio.Required("text"): str, probatio.Optional("lamp"): str}
    )
    wire_parameters: ClassVar[JsonObjectType] = {  # type: ignore[misc]
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("note", "text", "lamp")},
        "required": ["note", "text"],
    }

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        effects: list[Effect] = [NoteWritten.of(args["note"], args["text"])]
        if lamp := args.get("lamp"):
            effects.append(ServiceCall(domain="light", service="turn_on", entity_ids=(lamp,)))
        return await async_plan_of(hass, effects)
