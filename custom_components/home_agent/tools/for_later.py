"""`make_wish`, `change_wish`: what a model keeps for later instead of doing it now, and what becomes of it."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
import math
import re
from typing import Any, override

from homeassistant.components.conversation import UserContent
from homeassistant.components.conversation.chat_log import current_chat_log
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
import probatio

from ..home.snapshot import Home
from ..languages.data import ENGLISH
from ..languages.timing import timed_in
from ..policy.confirmation import Call
from ..policy.effects.wish_change import CHANGE_WISH, MAKE_WISH, WishChange
from ..policy.policy import Policy
from ..policy.questions import async_done
from ..policy.tool import HomeAgentTool, PendingResult
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
from .watches import async_watch, async_words, watch_fields

MAX_LISTED = 30  # wishes of one answer
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::\d{2})?")
_SUN = re.compile(r"(sunset|sunrise)\s*([+-]\s*\d{1,3})?(?:\s*min(?:utes)?)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_FARTHEST = FARTHEST / timedelta(minutes=1)
_MOST_OFFSET = 720  # minutes from the event of the sun
_SPAN = re.compile(r"(?:in\s+)?(\d{1,7}(?:\.\d{1,3})?)\s*(s|sec|seconds?|m|mins?|minutes?|h|hours?|d|days?)")
_UNITS = {"s": 1 / 60, "m": 1, "h": 60, "d": 1440}
_SUNS = {SunEvent.SUNSET: "value_sunset", SunEvent.SUNRISE: "value_sunrise"}
_MINUTES = {"in_seconds": 1 / 60, "in_minutes": 1, "in_hours": 60}

MAKE: JsonObjectType = {
    "type": "object",
    "properties": {
        "actions": {"type": "array", "items": {"type": "object"}, "description": "ha_control"},
        "say": {"type": "string"},
        "at": {"type": "string", "description": "in 5 min, 07:00, sunset-30"},
        "event": {"type": "string", "description": "light.a = on, sensor.b > 2"},
        "if": {"type": "string"},
    },
}
"""Short, as both are part of each prompt. `question`, `in_minutes`, `sun`, objects for events, `delay_minutes`, `offset_minutes`, other tools and
`cancel` are accepted as well."""
CHANGE: JsonObjectType = {"type": "object", "properties": {"id": {"type": "string"}, "at": {"type": "string"}}}


def _minutes(value: object) -> float | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise probatio.Invalid("expected a number")
    try:
        number = float(str(value).strip())
    except ValueError as err:
        raise probatio.Invalid("expected a number") from err
    if not math.isfinite(number):
        raise probatio.Invalid("expected a number")
    return number


def _text(value: object) -> str:
    text = " ".join(plain_text(str(value)).split()) if value is not None else ""
    if len(text) > MAX_TEXT:
        raise probatio.Invalid(f"a text has at most {MAX_TEXT} characters")
    return text


def _sun(value: object) -> tuple[SunEvent, float] | None:
    """Read an event of the sun with minutes after or before it: "sunset", "sunrise-30"."""
    text = str(value or "").strip().casefold()
    if not text:
        return None
    found = _SUN.fullmatch(text)
    if found is None:
        raise probatio.Invalid("sun is sunset or sunrise, maybe with minutes: sunset-30")
    return SunEvent(found[1]), float((found[2] or "0").replace(" ", ""))


def _is_true(value: object) -> bool:
    return str(value).strip().casefold() in ("true", "1", "yes")


def _actions(value: object) -> list[dict[str, Any]]:
    """Read a list of calls, or one alone."""
    if value in (None, "", [], {}):
        return []
    listed = value if isinstance(value, list) else [value]
    if len(listed) > MOST_STEPS:
        raise probatio.Invalid(f"a wish has at most {MOST_STEPS} actions")
    return [json_object(item) for item in listed]


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Make one number of all spans, a question of what ends like one, actions of one that stands beside the time, and `sun` of a sunset that stands in `at`."""
    kept = {key: value for key, value in data.items() if value is not None}
    spans = [(key, factor) for key, factor in _MINUTES.items() if _minutes(kept.get(key)) is not None]
    if spans:
        total = sum((_minutes(kept.pop(key)) or 0) * factor for key, factor in spans)
        kept["in_minutes"] = total
    at = str(kept.get("at", "")).strip().casefold()
    if at == "cancel":
        kept |= {"cancel": True, "at": ""}
    elif (span := _SPAN.fullmatch(at)) is not None:
        del kept["at"]
        kept["in_minutes"] = float(span[1]) * _UNITS[span[2][0]]
    if "sun" not in kept and _SUN.fullmatch(at):
        kept["sun"] = kept.pop("at")
    if str(kept.get("say", "")).strip().endswith("?") and "question" not in kept:
        kept["question"] = kept.pop("say")
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
    is_of_person = True

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
        match plan.effects[0].service if wishes else "":
            case "make_wish":
                return MakeWish(wishes[0])
            case "change_wish":
                return ChangeWish(wishes[0])
            case "cancel_wish":
                return CancelWishes(wishes)
        return self

    async def async_when(self, hass: HomeAssistant, args: Mapping[str, Any], turn: Turn) -> When:
        """Return when it is to be. Raises `ToolRefusal` for no time, several ones, and one that is past or too far ahead."""
        ways = [key for key in ("in_minutes", "at", "sun", "event") if args.get(key) not in (None, "")]
        if ways == ["in_minutes", "event"]:  # so long after it
            ways = ["event"]
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
                event, offset = args["sun"]
                offset += args["offset_minutes"] or 0
                if abs(offset) > _MOST_OFFSET:
                    raise ToolRefusal(f"offset_minutes is at most {_MOST_OFFSET}, before or after.")
                when = When(sun=event, offset=round(offset * 60)).settled(hass, now, zone)
            case _:
                delay = args["delay_minutes"] or args["in_minutes"] or 0
                if not 0 <= delay <= _FARTHEST:
                    raise ToolRefusal(f"delay_minutes is at least 0 and at most {FARTHEST.days} days.")
                watch = await async_watch(hass, self._home, turn, args["event"])
                when = When(event=watch, delay=round(delay * 60))
        if args.get("if"):
            when = replace(when, conditions=(await async_watch(hass, self._home, turn, args["if"]),))
        return await async_worded(hass, turn.speaks, when)


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
        at = moment_of(shown.isoformat(), zone)
    except (ValueError, OverflowError) as err:  # the last one in the first and last hours of the calendar
        if (when := _read(text, now, language)) is not None:
            return when
        raise ToolRefusal(f"'{plain_text(text[:40])}' is no time. Write 07:00 or 2026-11-25T07:00.") from err
    wall = shown.isoformat(timespec="seconds" if shown.second else "minutes")
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


async def async_worded(hass: HomeAssistant, language: str, when: When) -> When:
    """Return it with its words: what is waited for, else the time on the clock, and what has to be so."""
    said: list[str] = []
    if when.event is not None:
        minutes = f" + {when.delay / 60:g} min" if when.delay else ""
        said.append(f"{await async_words(hass, language, when.event)}{minutes}")
    elif when.sun is not None:
        minutes = f" {when.offset / 60:+g} min" if when.offset else ""
        said.append(f"{await async_text(hass, language, _SUNS[when.sun])}{minutes}")
    elif when.at is not None:
        here = when.at.astimezone(zone_of_turn())
        is_today = here.date() == dt_util.utcnow().astimezone(zone_of_turn()).date()
        said.append(f"{here:%H:%M}" if is_today else f"{here:%Y-%m-%d %H:%M}")
    provided = [await async_words(hass, language, watch) for watch in when.conditions]
    return replace(when, words="; ".join(said), provided=tuple(provided))


class MakeWishTool(WishTool):
    """Keeps what is to be done, told or asked later."""

    name = MAKE_WISH
    title_key = "tool_make_wish"
    description = "Later, once: do or say (…?: answer)"
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
        asks, message = check_asks(hass, turn, calls), _message()
        wish = Wish.of(turn, kind, when, words[:MAX_TEXT], text, steps=steps, asks=asks, message=message)
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


def _named(hass: HomeAssistant, turn: Turn, text: str) -> Wish:
    """Return the wish with an id, as it was told in full or in short. Raises `ToolRefusal` unless it is exactly one."""
    wanted = text.strip().strip("#\"'").casefold()
    found = [wish for wish in wishes_of(hass).known_to(turn) if wish.id.casefold().endswith(wanted)]
    if len(wanted) < SHORT_ID or len(found) != 1:
        raise ToolRefusal(f"No wish has the id '{plain_text(text[:40])}'. Call change_wish without an id to see all.")
    return found[0]


class ChangeWishTool(WishTool):
    """Tells what waits, gives a wish another time, or cancels wishes. One tool, as each takes room in every prompt."""

    name = CHANGE_WISH
    title_key = "tool_change_wish"
    description = "at: or cancel; no id: list"
    parameters = LenientSchema(
        {
            probatio.Optional("id", default=list): probatio.All(text_list, probatio.Length(max=MAX_LISTED)),
            probatio.Optional("cancel", default=False): _is_true,
            **_WHEN,
        },
        _tidy,
    )
    wire_parameters = CHANGE

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the change; without an id a plan that touches nothing."""
        return await super().plan(hass, args, turn) if args["id"] else Plan(action=ActionClass.READ)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> PendingResult:
        """Make the change; without an id return what the speaker may know of, those with a time first."""
        if plan.effects:
            return await super().run(hass, args, plan, turn)
        known = wishes_of(hass).known_to(turn)
        told: JsonObjectType = {"wishes": [row_of(wish) for wish in known[:MAX_LISTED]]}
        if len(known) > MAX_LISTED:
            told["more"] = len(known) - MAX_LISTED
        return PendingResult(render=lambda _outcomes: told)

    @override
    async def async_change(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> ChangeWish | CancelWishes:
        """Return the wishes that are cancelled, or the one with its new time; its condition stays unless another is given."""
        wishes = {wish.id: wish for wish in (_named(hass, turn, text) for text in args["id"])}
        if args["cancel"]:
            return CancelWishes([*wishes.values()])
        if len(wishes) > 1:
            raise ToolRefusal("Move one wish at a time.")
        [wish] = wishes.values()
        when = await self.async_when(hass, args, turn)
        if not args["if"] and wish.when.conditions:
            when = when.under(wish.when)
        changed = replace(wish, when=when)
        return ChangeWish(replace(changed, registered=registered(hass, changed)))


class WishTools:
    """Offers the tools to agents that take wishes."""

    names = (MAKE_WISH, CHANGE_WISH)

    def __init__(self, home: Home, policy: Callable[[], Policy]) -> None:
        """Take where the exposed home is read, and what judges calls."""
        self.revision = 0
        self._tools = MakeWishTool(home, policy), ChangeWishTool(home, policy)

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> Sequence[HomeAgentTool]:
        """Return both, or none for an agent that takes no wishes or whose model has no tools of ours."""
        return self._tools if profile.wishes and profile.native_tools else ()
