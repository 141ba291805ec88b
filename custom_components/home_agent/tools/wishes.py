"""`make_wish`, `list_wishes`, `change_wish`, `cancel_wish`: what a model keeps for later instead of doing it now."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
import re
from typing import Any, override

from homeassistant.components.conversation import UserContent
from homeassistant.components.conversation.chat_log import current_chat_log
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType, JsonValueType
from homeassistant.util.ulid import ulid_now
import probatio

from ..home.snapshot import Home
from ..languages.data import ENGLISH
from ..languages.timing import timed_in
from ..policy.confirmation import Call
from ..policy.effects.wish_change import CANCEL_WISH, CHANGE_WISH, MAKE_WISH, WishChange
from ..policy.policy import Policy
from ..policy.questions import async_done
from ..policy.tool import HomeAgentTool
from ..policy.wishing import CancelWishes, ChangeWish, MakeWish, check_asks, registered, step_of
from ..policy.write import EffectTool
from ..settings.profile import Profile
from ..support.encoding import plain_text
from ..support.errors import ToolRefusal
from ..support.localize import async_text
from ..turn.plan import ActionClass, Plan
from ..turn.turn import Turn, zone_of_turn
from ..wishes.told import SHORT_ID, row_of
from ..wishes.when import SunEvent, When, moment_of
from ..wishes.wish import Wish, WishKind
from ..wishes.wishes import FARTHEST, MAX_TEXT, MOST_STEPS, wishes_of
from .arguments import LenientSchema, json_object, text_list
from .control import HaControl
from .watches import WIRE as WATCH, async_watch, async_words, watch_fields

LIST_WISHES = "list_wishes"
MAX_LISTED = 30  # wishes of one answer
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_FARTHEST = FARTHEST / timedelta(minutes=1)
_MOST_OFFSET = 720  # minutes from the event of the sun
_MINUTES = {"in_seconds": 1 / 60, "in_minutes": 1, "in_hours": 60}

TIMES: JsonObjectType = {
    "in_minutes": {"type": "number"},
    "at": {"type": "string", "description": "Local time: 07:00 (the next) or 2026-11-25T07:00"},
    "sun": {"type": "string", "enum": ["sunset", "sunrise"]},
    "offset_minutes": {"type": "number", "description": "From sun; negative: before"},
    "event": {**WATCH, "description": "The next time that this becomes so"},
    "delay_minutes": {"type": "number", "description": "After the event"},
    "if": {**WATCH, "description": "Only if this is so then"},
}
MAKE: JsonObjectType = {
    "type": "object",
    "properties": {
        "actions": {
            "type": "array",
            "description": "What to do, each with the arguments of ha_control; of another tool: tool and arguments",
            "items": {
                "type": "object",
                "properties": {
                    "action": {"type": "string"},
                    "entity_id": {"type": "string"},
                    "parameters": {"type": "object"},
                },
            },
        },
        "say": {"type": "string", "description": "Or what to remind of"},
        "question": {"type": "string", "description": "Or what to answer then"},
        **TIMES,
    },
}
LIST: JsonObjectType = {"type": "object", "properties": {}}
CHANGE: JsonObjectType = {
    "type": "object",
    "properties": {"id": {"type": "string"}, **{key: TIMES[key] for key in ("in_minutes", "at")}},
    "required": ["id"],
}
CANCEL: JsonObjectType = {
    "type": "object",
    "properties": {"ids": {"type": "array", "items": {"type": "string"}}},
    "required": ["ids"],
}


def _minutes(value: object) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise probatio.Invalid("expected a number")
    try:
        return float(str(value).strip())
    except ValueError as err:
        raise probatio.Invalid("expected a number") from err


def _text(value: object) -> str:
    text = " ".join(plain_text(str(value)).split()) if value is not None else ""
    if len(text) > MAX_TEXT:
        raise probatio.Invalid(f"a text has at most {MAX_TEXT} characters")
    return text


def _sun(value: object) -> SunEvent | None:
    name = str(value or "").strip().casefold()
    if not name:
        return None
    if name not in list(SunEvent):
        raise probatio.Invalid("sun is sunset or sunrise")
    return SunEvent(name)


def _actions(value: object) -> list[dict[str, Any]]:
    """Read a list of calls, or one alone."""
    if value in (None, "", [], {}):
        return []
    listed = value if isinstance(value, list) else [value]
    if len(listed) > MOST_STEPS:
        raise probatio.Invalid(f"a wish has at most {MOST_STEPS} actions")
    return [json_object(item) for item in listed]


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Make one number of all spans, and one of the actions that stand beside the time."""
    kept = {key: value for key, value in data.items() if value is not None}
    spans = [(key, factor) for key, factor in _MINUTES.items() if _minutes(kept.get(key)) is not None]
    if spans:
        total = sum((_minutes(kept.pop(key)) or 0) * factor for key, factor in spans)
        kept["in_minutes"] = total
    if "action" in kept and "actions" not in kept:
        kept["actions"] = [{key: kept.pop(key) for key in ("action", "entity_id", "parameters") if key in kept}]
    return kept


_WHEN = {
    probatio.Optional("in_minutes", default=None): _minutes,
    probatio.Optional("at", default=""): _text,
    probatio.Optional("sun", default=None): _sun,
    probatio.Optional("offset_minutes", default=None): _minutes,
    probatio.Optional("event", default=None): watch_fields,
    probatio.Optional("delay_minutes", default=None): _minutes,
    probatio.Optional("if", default=None): watch_fields,
}


class WishTool(EffectTool):
    """A tool with which a model changes wishes: of its arguments it makes a tool of policy/wishing.py, which does it."""

    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=False, open_world=False)
    judges_calls = True
    is_its_effects = False

    def __init__(self, home: Home, policy: Callable[[], Policy]) -> None:
        """Take where the exposed home is read, and what judges calls."""
        self._home = home
        self._policy = policy

    @abstractmethod
    async def async_change(
        self, hass: HomeAssistant, args: dict[str, Any], turn: Turn
    ) -> MakeWish | ChangeWish | CancelWishes:
        """Return the change that a call comes to. Raises `ToolError`."""

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the change as a plan. Raises `ToolError` for what may not be, and with what is missing."""
        return await (await self.async_change(hass, args, turn)).plan(hass, {}, turn)

    @override
    def asked_as(self, plan: Plan) -> HomeAgentTool:
        """Return the tool with the wish as it was asked about: "in ten minutes" counts from when it was said."""
        wishes = [effect.wish for effect in plan.effects if isinstance(effect, WishChange)]
        if self.name == CANCEL_WISH:
            return CancelWishes(wishes)
        return MakeWish(wishes[0]) if self.name == MAKE_WISH else ChangeWish(wishes[0])

    async def async_when(self, hass: HomeAssistant, args: Mapping[str, Any], turn: Turn) -> When:
        """Return when it is to be. Raises `ToolRefusal` for no time, several ones, and one that is past or too far ahead."""
        ways = [key for key in ("in_minutes", "at", "sun", "event") if args.get(key) not in (None, "")]
        if len(ways) != 1:
            raise ToolRefusal("Say when with exactly one of in_minutes, at, sun and event.")
        now, zone = dt_util.utcnow(), dt_util.get_default_time_zone()
        match ways[0]:
            case "in_minutes":
                if not 0 < args["in_minutes"] <= _FARTHEST:
                    raise ToolRefusal(f"in_minutes is more than 0 and at most {FARTHEST.days} days.")
                when = When(at=now + timedelta(seconds=max(1, round(args["in_minutes"] * 60))))
            case "at":
                when = _at(args["at"], now, turn.language)
                if when.sun is not None:
                    when = when.settled(hass, max(now, when.at or now), zone)
            case "sun":
                offset = args["offset_minutes"] or 0
                if abs(offset) > _MOST_OFFSET:
                    raise ToolRefusal(f"offset_minutes is at most {_MOST_OFFSET}, before or after.")
                when = When(sun=args["sun"], offset=round(offset * 60)).settled(hass, now, zone)
            case _:
                delay = args["delay_minutes"] or 0
                if not 0 <= delay <= _FARTHEST:
                    raise ToolRefusal(f"delay_minutes is at least 0 and at most {FARTHEST.days} days.")
                watch = await async_watch(hass, self._home, turn, args["event"])
                when = When(event=watch, delay=round(delay * 60))
        if args.get("if"):
            when = replace(when, conditions=(await async_watch(hass, self._home, turn, args["if"]),))
        return replace(when, words=await async_told(hass, turn.speaks, when))


def _at(said: str, now: datetime, language: str) -> When:
    """Return when a text says: a time on the clock, the next one without a date, or words. Raises `ToolRefusal` for what is past."""
    zone, text = zone_of_turn(), said.strip()
    here = now.astimezone(zone)
    try:
        if (clock := _CLOCK.fullmatch(text)) is not None:
            shown = here.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0, fold=0, tzinfo=None)
            if moment_of(shown.isoformat(), zone) <= now:
                shown += timedelta(days=1)
        else:
            shown = datetime.fromisoformat(text)
            if shown.tzinfo is not None:
                shown = shown.astimezone(zone).replace(tzinfo=None)
            elif _DATE.fullmatch(text):
                raise ToolRefusal("Say the time of day, too: 2026-11-25T07:00. Ask the user if it was not said.")
    except ValueError as err:
        if (when := _read(text, now, language)) is not None:
            return when
        raise ToolRefusal(f"'{plain_text(text[:40])}' is no time. Write 07:00 or 2026-11-25T07:00.") from err
    wall = shown.isoformat(timespec="seconds" if shown.second else "minutes")
    at = moment_of(wall, zone)
    if at <= now:
        raise ToolRefusal(f"{wall} is past: it is {here:%Y-%m-%dT%H:%M} now. Nothing was planned.")
    if at > now + FARTHEST:
        raise ToolRefusal(f"A wish waits {FARTHEST.days} days at most. Nothing was planned.")
    return When(at=at, wall=wall if zone == dt_util.get_default_time_zone() else "")


def _read(said: str, now: datetime, language: str) -> When | None:
    """Return when a text says that it is to be, as people say it: "in 20 minutes", "tomorrow at seven"; None for other texts."""
    zone = zone_of_turn()
    for code in dict.fromkeys((language, ENGLISH)):
        for timed in timed_in(said, code, now.astimezone(zone)):
            moment = timed.moment
            if moment is None or timed.rest.strip() or timed.back or timed.clauses or timed.unread or timed.forever:
                continue
            if moment.sun:
                return When(sun=SunEvent(moment.sun), offset=moment.offset, at=moment.at)
            is_own = zone != dt_util.get_default_time_zone()
            return When(at=dt_util.as_utc(moment.at), wall="" if is_own else moment.wall)
    return None


async def async_told(hass: HomeAssistant, language: str, when: When) -> str:
    """Return when a wish is due as it is kept: what is waited for and what has to be so, else the time on the clock."""
    said: list[str] = []
    if when.event is not None:
        minutes = f" + {when.delay / 60:g} min" if when.delay else ""
        said.append(f"{await async_words(hass, language, when.event)}{minutes}")
    elif when.sun is not None:
        minutes = f" {when.offset / 60:+g} min" if when.offset else ""
        said.append(f"{await async_text(hass, language, f'value_{when.sun.value}')}{minutes}")
    elif when.at is not None and not when.conditions:
        here = when.at.astimezone(zone_of_turn())
        is_today = here.date() == dt_util.utcnow().astimezone(zone_of_turn()).date()
        said.append(f"{here:%H:%M}" if is_today else f"{here:%Y-%m-%d %H:%M}")
    said += [await async_words(hass, language, watch) for watch in when.conditions]
    return "; ".join(said)


class MakeWishTool(WishTool):
    """Keeps what is to be done, told or asked later."""

    name = MAKE_WISH
    title_key = "tool_make_wish"
    description = (
        "Do something once later, remind, or answer later: at a time, or when something happens. Never act now on what is for "
        "later. Not for what is to happen always."
    )
    parameters = LenientSchema(
        {
            probatio.Optional("actions", default=list): _actions,
            probatio.Optional("say", default=""): _text,
            probatio.Optional("question", default=""): _text,
            **_WHEN,
        },
        _tidy,
    )
    wire_parameters = MAKE

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> MakeWish:
        """Return the wish, whose actions were judged as if they were done now."""
        if sum(bool(args[key]) for key in ("actions", "say", "question")) != 1:
            raise ToolRefusal("Give exactly one of actions, say and question. Make another wish for more.")
        when = await self.async_when(hass, args, turn)
        text = args["say"] or args["question"]
        kind = WishKind.ACTION if args["actions"] else WishKind.REMINDER if args["say"] else WishKind.QUESTION
        calls = [await self._async_call(turn, action) for action in args["actions"]]
        steps = tuple(step_of(call) for call in calls)
        effects = [effect for call in calls for effect in call.plan.effects]
        words = (
            text
            or await async_done(hass, turn.speaks, effects)
            or ", ".join(step.tool or step.intent for step in steps)
        )
        wish = Wish(
            id=ulid_now(),
            kind=kind,
            words=words[:MAX_TEXT],
            text=text,
            steps=steps,
            when=when,
            made=dt_util.utcnow(),
            asks=check_asks(hass, turn, calls),
            user_id=turn.user.id if turn.user is not None else None,
            device_id=turn.device_id,
            satellite_id=turn.satellite_id,
            area_id=turn.area_id,
            agent_id=turn.profile.subentry_id,
            language=turn.language,
            conversation_id=turn.conversation_id,
            message=_message(),
            within=turn.within,
        )
        return MakeWish(replace(wish, registered=registered(hass, wish)))

    async def _async_call(self, turn: Turn, action: dict[str, Any]) -> Call:
        """Return a call as it would be made now. Raises what stands against it."""
        policy, name, arguments = self._policy(), HaControl.name, action
        if "tool" in action:
            name, arguments = str(action["tool"]), json_object(action.get("arguments"))
        tool = next((tool for tool in await policy.offered(turn) if tool.name == name), None)
        if tool is None or isinstance(tool, WishTool):
            raise ToolRefusal(
                f"There is no tool '{plain_text(name[:60])}' for wishes. Use only the tools you were given."
            )
        call = await policy.async_judge(turn, tool, arguments)
        if call.plan.action is ActionClass.READ:
            raise ToolRefusal(f"{tool.name} only reads. To be told something later, use question.")
        return call


def _message() -> int:
    """Return which message of the running conversation is answered, from 1; 0 without one."""
    log = current_chat_log.get()
    return sum(isinstance(item, UserContent) for item in log.content) if log is not None else 0


class ListWishesTool(HomeAgentTool):
    """Tells what waits."""

    name = LIST_WISHES
    title_key = "tool_list_wishes"
    description = "What waits for later, with ids."
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)
    parameters = probatio.Schema({}, extra=probatio.REMOVE_EXTRA)
    wire_parameters = LIST

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return a plan that touches nothing."""
        return Plan(action=ActionClass.READ)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the wishes that the speaker may know of, those with a time first."""
        known = wishes_of(hass).known_to(turn)
        result: JsonObjectType = {"wishes": [row_of(wish) for wish in known[:MAX_LISTED]]}
        return result | ({"more": len(known) - MAX_LISTED} if len(known) > MAX_LISTED else {})


def _named(hass: HomeAssistant, turn: Turn, text: str) -> Wish:
    """Return the wish with an id, as it was told in full or in short. Raises `ToolRefusal` unless it is exactly one."""
    wanted = text.strip().strip("#\"'").casefold()
    found = [wish for wish in wishes_of(hass).known_to(turn) if wish.id.casefold().endswith(wanted)]
    if len(wanted) < SHORT_ID or len(found) != 1:
        raise ToolRefusal(f"No wish has the id '{plain_text(text[:40])}'. Look it up with list_wishes.")
    return found[0]


class ChangeWishTool(WishTool):
    """Gives a wish another time."""

    name = CHANGE_WISH
    title_key = "tool_change_wish"
    description = "Give a waiting wish another time."
    parameters = LenientSchema(
        {probatio.Required("id"): _text, **{key: _WHEN[key] for key in _WHEN}},
        _tidy,
    )
    wire_parameters = CHANGE

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> ChangeWish:
        """Return the wish with its new time; its condition stays unless another one is given."""
        wish = _named(hass, turn, args["id"])
        when = await self.async_when(hass, args, turn)
        if not args.get("if") and wish.when.conditions:
            when = replace(when, conditions=wish.when.conditions)
            when = replace(when, words=await async_told(hass, turn.speaks, when))
        changed = replace(wish, when=when)
        return ChangeWish(replace(changed, registered=registered(hass, changed)))


class CancelWishTool(WishTool):
    """Cancels wishes."""

    name = CANCEL_WISH
    title_key = "tool_cancel_wish"
    description = "Cancel waiting wishes."
    parameters = LenientSchema(
        {probatio.Required("ids"): probatio.All(text_list, probatio.Length(min=1, max=MAX_LISTED))},
        lambda data: {"ids": data["id"]} if "id" in data and "ids" not in data else dict(data),
        ("ids",),
    )
    wire_parameters = CANCEL

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> CancelWishes:
        """Return the wishes that are cancelled."""
        wishes = {wish.id: wish for wish in (_named(hass, turn, text) for text in args["ids"])}
        return CancelWishes([*wishes.values()])


class WishTools:
    """Offers the tools to agents that take wishes."""

    names = (MAKE_WISH, LIST_WISHES, CHANGE_WISH, CANCEL_WISH)

    def __init__(self, home: Home, policy: Callable[[], Policy]) -> None:
        """Take where the exposed home is read, and what judges calls."""
        self.revision = 0
        self._tools = (
            MakeWishTool(home, policy), ListWishesTool(), ChangeWishTool(home, policy), CancelWishTool(home, policy),
        )  # fmt: skip

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return all, or none for an agent that takes no wishes."""
        return self._tools if profile.wishes else ()
