"""What is to happen again and again: a sentence that says how often becomes an automation of Home Assistant, after a yes.

It is read as it would be said for once, without the words that say how often; so what a wish understands is understood here. What an
automation cannot express exactly is left to the readers of wishes, which refuse it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time
from itertools import chain, count
import re
from typing import Any

from homeassistant.components.climate.const import DOMAIN as CLIMATE, INTENT_SET_TEMPERATURE, SERVICE_SET_TEMPERATURE
from homeassistant.components.notify import DOMAIN as NOTIFY
from homeassistant.const import ATTR_TEMPERATURE
from homeassistant.core import DOMAIN as HOMEASSISTANT, HomeAssistant, split_entity_id
from homeassistant.helpers.json import json_bytes
from homeassistant.util import dt as dt_util
from homeassistant.util.json import json_loads_object

from ..automations.of_watches import conditions_of, triggers_of
from ..automations.store import automation_store
from ..home.wording import quoted
from ..languages.data import data_of
from ..languages.later import LaterKind, later_in
from ..languages.moments import PARTS, WEEKDAYS
from ..languages.recasts import recast
from ..languages.reminders import awaited
from ..languages.repeated import Rhythm, asked_for, rhythm_in
from ..languages.said_moments import SaidMoment, says_day
from ..languages.timing import Timed, timed_in
from ..policy.automating import ChangeAutomation, Creation
from ..policy.confirmation import NeedsConfirmation
from ..policy.effects import KINDS
from ..policy.effects.effect import Moment
from ..policy.intents import Recognised
from ..policy.phones import phones_of
from ..policy.wishing import has_code
from ..support.errors import ToolError, ToolRefusal
from ..support.localize import async_text
from ..support.text import words_of
from ..turn.plan import Effect, ServiceCall
from ..turn.turn import Understanding
from ..wishes.when import Watch, When
from ..wishes.wish import Step, WishKind
from .automation_asked import note_asked
from .clauses import async_read_clause
from .later import async_ask_half, async_ask_time, async_told, named_in
from .planning import effects_of
from .sentences import Done, Note, NotForNow, NotMine, Refused, Result, Sentence, Stage, spoken
from .when_due import NotUnderstood, async_both_of, async_when_of
from .wished import Wished, async_wished

MAKES = "make_automation"
"""What the understanding of a sentence calls it that an automation came of it."""
_MAX_NAME, _NUMBERED = 120, 8
"""Characters of the name of an automation, and of those what is kept for its number."""
_NIGHT = ("21:00:00", "06:00:00")
_SPANS: Mapping[str, tuple[range, ...]] = {
    "morning": (range(3, 12),), "noon": (range(11, 15),), "afternoon": (range(12, 19),), "evening": (range(16, 24),),
    "night": (range(18, 24), range(7)),
}  # fmt: skip
"""Hours that may be meant by a time in a part of the day."""
_MORNING = range(6, 9)
"""Hours that are those of the morning where nothing else is said; of others it is asked."""
_DAWN = 6
_LEAST_MINUTES, _HOUR, _DAY = 5, 60, 24
_WRITTEN = re.compile(r"\d[:.]\d\d")
_TEMPLATE = re.compile(r"\{[{%#]|[{%#]\}|(?<!\w)!\w")
"""What Home Assistant would fill in, or take for a tag of its file."""


async def async_repeated(sentence: Sentence, plain: str, named: Sequence[str]) -> Result:
    """Make an automation of a sentence that says how often, or propose it; what is not understood is left to the reader of wishes.

    `plain` is what it says without other forms, and what was `named` in it is no time.
    """
    code = sentence.language.code
    rhythm = rhythm_in(plain, code, named)
    is_surely = rhythm is not None and bool(rhythm.days or rhythm.is_every or rhythm.minutes or rhythm.is_each)
    if not is_surely and not any(one.forever for one in timed_in(plain, code, dt_util.now(), named)):
        return NotMine()  # "abends um neun" may be for once
    return NotMine() if rhythm is None else await _async_read(sentence, plain, rhythm, named)


async def answer_asked_for(sentence: Sentence) -> Result:
    """Make an automation of a sentence that asks for one by this name, or propose it; it is never for once, nor for now."""
    code = sentence.language.code
    if (asked := asked_for(sentence.turn.text, code)) is None:
        return NotMine()
    words, text = asked
    named = named_in(sentence)
    plain = recast(text, code)
    rhythm = rhythm_in(plain, code, named) or Rhythm(rest=plain, words=words)
    result = await _async_read(sentence, plain, rhythm, named)
    if not isinstance(result, NotMine):
        return result
    return NotMine(put_off=NotForNow(words=text or words, is_forever=True, follows=True))


async def _async_read(sentence: Sentence, plain: str, rhythm: Rhythm, named: Sequence[str]) -> Result:
    """Return what comes of a sentence that says how often."""
    turn, code = sentence.turn, sentence.language.code
    if not rhythm.rest or not turn.profile.wishes or _TEMPLATE.search(plain):
        return NotMine()
    once = replace(sentence.saying(awaited(rhythm.rest, code)), is_repeated=True)
    if any(one.kind is LaterKind.REPEATED for one in later_in(once.turn.text, code, named)):
        return NotMine()
    for timed in _readings(once, rhythm, named):
        try:
            return await _async_of(sentence, plain, once, rhythm, timed)
        except NotUnderstood:
            continue
    return NotMine(put_off=NotForNow(words=rhythm.words, is_forever=True)) if rhythm.days else NotMine()


def _readings(sentence: Sentence, rhythm: Rhythm, named: Sequence[str]) -> list[Timed]:
    """Return the ways to read a sentence that is said for once, as from a midnight on.

    Of what is done every few minutes the sun is a condition, as it is beside a time of day: "if it is dark".
    """
    text, code = sentence.turn.text, sentence.language.code
    found = [*timed_in(text, code, _midnight(), named)] or [Timed(rest=text)]
    if rhythm.minutes and all(timed.moment is None or timed.moment.sun for timed in found):
        times = [f"{at} 00:00 {text}" for at in data_of(code).times.get("at", ())[:1]]
        readings = (timed for time in times for timed in timed_in(time, code, _midnight(), named))
        found += [replace(timed, moment=None) for timed in readings if timed.daylight is not None]
    return found


def _midnight() -> datetime:
    """Return the beginning of a day on which no clock is changed."""
    return dt_util.now().replace(month=1, day=15, hour=0, minute=0, second=0, microsecond=0)


async def _async_of(sentence: Sentence, plain: str, once: Sentence, rhythm: Rhythm, timed: Timed) -> Result:
    """Return what comes of one reading of what is plainly said. Raises `NotUnderstood`."""
    code = sentence.language.code
    is_whole = not (timed.unread or timed.forever or timed.back or timed.window or timed.then)
    if not is_whole or any(clause.until for clause in timed.clauses) or _names_day(once.turn.text, code):
        raise NotUnderstood(timed.words)
    what = await async_wished(once, timed)
    planned = what.planned
    if planned is not None and planned.refused is not None:
        return planned.refused
    if planned is not None and planned.lacks is not None:
        raise NotUnderstood(timed.rest)
    told = ", ".join(clause.text for clause in timed.clauses)
    if what.is_whether:  # "tell me at ten if the door is open": told is only that it is so
        what = Wished(kind=WishKind.TELL, words=what.words, text=told)
    when = await _async_when(once, rhythm, timed)
    if when is None:
        if sentence.stage is not Stage.NO_MODEL:
            return NotMine()
        return await async_ask_time(sentence.saying(plain), rhythm.words)
    clock = None
    if when.wall:
        clock = _clock(rhythm, timed, code, once, named_in(once))
        if clock is None and sentence.stage is Stage.NO_MODEL:
            return await async_ask_half(sentence.saying(plain), timed.moment.words if timed.moment is not None else "")
        if clock is None:
            return NotMine()
    config = {
        "alias": await _async_name(sentence.hass, plain),
        **_when_config(rhythm, when, clock, await _async_both(once, timed)),
        "actions": await _async_actions(sentence, what, when, tells_itself=what.text == told or what.text in when.said),
        "mode": "single",
    }
    if _TEMPLATE.search(str(config["actions"])):
        raise NotUnderstood(timed.rest)
    result = await _async_made(sentence, config, await _async_never(once, rhythm))
    if isinstance(result, Refused) and isinstance(result.error, NeedsConfirmation):
        said = timed.moment.words if clock is not None and timed.moment is not None else ""
        note_asked(sentence, str(config["alias"]), plain, said, _async_asked_again)
    return result


async def _async_asked_again(sentence: Sentence, text: str) -> Result:
    """Return what comes of a sentence that was asked about, with another time."""
    again, code = sentence.saying(text), sentence.language.code
    named = named_in(again)
    return await _async_read(again, text, rhythm_in(text, code, named) or Rhythm(rest=text, words=text), named)


def _names_day(text: str, code: str) -> bool:
    """Return whether a sentence names a day as well: "tomorrow"."""
    return says_day(text, code, _midnight())


async def _async_name(hass: HomeAssistant, text: str) -> str:
    """Return what an automation is called that a sentence made; one that is cut is called like no other."""
    name = " ".join(text.split()).strip(" .!,;")
    name = name[:1].upper() + name[1:]
    if len(name) <= _MAX_NAME:
        return name
    taken = {known.name.casefold() for known in await automation_store(hass).async_automations()}
    cut = f"{name[: _MAX_NAME - _NUMBERED].rsplit(maxsplit=1)[0].strip(' ,;')}…"
    numbered = (f"{cut} ({number})" for number in count(2))
    return next(one for one in chain((cut,), numbered) if one.casefold() not in taken)


# When.


async def _async_when(sentence: Sentence, rhythm: Rhythm, timed: Timed) -> When | None:
    """Return when it is due; None where no time is said, which is asked for. Raises `NotUnderstood`."""
    events = [clause for clause in timed.clauses if not (clause.is_if or clause.negated)]
    if timed.moment is None and not rhythm.minutes:
        if not timed.clauses or (rhythm.is_daily and not (events or rhythm.is_each)):
            if rhythm.is_daily and not rhythm.is_each:
                return None
            raise NotUnderstood(timed.words or timed.rest)
        return await async_when_of(sentence, timed)
    is_sunny = timed.moment is not None and bool(timed.moment.sun) and not timed.clauses
    if (rhythm.is_each and not is_sunny) or (rhythm.minutes and timed.moment is not None):
        raise NotUnderstood(timed.words)
    if timed.moment is not None:
        if timed.moment.seconds or not (timed.moment.wall or timed.moment.sun):
            raise NotUnderstood(timed.words)
        return await async_when_of(sentence, timed)
    if any(clause.delay or clause.lasting for clause in timed.clauses):
        raise NotUnderstood(timed.words)
    moment = SaidMoment(at=_midnight(), wall=_midnight().replace(tzinfo=None).isoformat(timespec="minutes"))
    return replace(await async_when_of(sentence, replace(timed, moment=moment)), at=None, wall="")


def _clock(rhythm: Rhythm, timed: Timed, code: str, once: Sentence, named: Sequence[str]) -> time | None:
    """Return the time of day; None where it may be that of the morning or of the evening."""
    assert timed.moment is not None
    early = datetime.fromisoformat(timed.moment.wall).time()
    noon = _midnight().replace(hour=12)
    others = (one.moment for one in timed_in(once.turn.text, code, noon, named) if one.moment is not None)
    late = next((datetime.fromisoformat(one.wall).time() for one in others if one.wall), early)
    meant = [early] if _WRITTEN.search(timed.moment.words) or early == late else [early, late]
    if rhythm.part:
        meant = [one for one in dict.fromkeys((early, late)) if any(one.hour in span for span in _SPANS[rhythm.part])]
    if len(meant) == 1:
        return meant[0]
    if early.hour == noon.hour and _counts_on(timed.moment.words, code):
        return early
    return early if meant and early.hour in _MORNING and not rhythm.part else None


def _counts_on(words: str, code: str) -> bool:
    """Return whether a time of day is said by a clock of 24 hours: "12 Uhr" is noon."""
    return not set(words_of(words)).isdisjoint(data_of(code).times.get("whole_day", ()))


async def _async_both(sentence: Sentence, timed: Timed) -> tuple[Watch, ...]:
    """Return what is waited for until it is so at once: "whenever the lamp is on and the door is closed"."""
    events = [clause for clause in timed.clauses if not (clause.is_if or clause.negated)]
    return await async_both_of(sentence, events[0]) if events and timed.moment is None else ()


def _when_config(rhythm: Rhythm, when: When, clock: time | None, both: Sequence[Watch]) -> dict[str, Any]:
    """Return the triggers and conditions. Raises `NotUnderstood` for what they cannot express."""
    days = [day[:3] for day in WEEKDAYS if day in rhythm.days]
    conditions, part = list[dict[str, Any]](), rhythm.part
    if part == "night" and days and (clock is None or clock.hour < _DAWN):
        raise NotUnderstood(when.words)  # it is not known of which night
    if clock is not None:
        on = {"weekday": days} if days else {}
        triggers: list[dict[str, Any]] = [{"trigger": "time", "at": clock.isoformat(timespec="seconds"), **on}]
        days, part = [], ""
    elif when.sun is not None:
        if part not in ("", *(("evening", "night") if when.sun == "sunset" else ("morning",))):
            raise NotUnderstood(when.words)
        triggers, part = [{"trigger": "sun", "event": str(when.sun), **_offset(when.offset)}], ""
    elif when.event is not None:
        found = triggers_of(when.event, when.delay if when.stays else 0)
        is_later = bool(when.delay) and not when.stays
        if found is None or (
            is_later and (when.conditions or when.daylight is not None)
        ):  # they would be looked at too early
            raise NotUnderstood(when.words)
        triggers, conditions = _at_once(both, when) if both else found
    else:
        triggers = [_pattern(rhythm)]
    if days or part:
        first, last = _NIGHT if part == "night" else _borders(part)
        within = {"after": first, "before": last} if part else {}
        conditions = [*conditions, {"condition": "time", **within, **({"weekday": days} if days else {})}]
    if when.daylight is not None:
        conditions = [*conditions, _sky(when.daylight)]
    for watch in when.conditions:
        if (rows := conditions_of(watch)) is None:
            raise NotUnderstood(when.words)
        conditions = [*conditions, *(row for row in rows if row not in conditions)]
    return {"triggers": triggers, "conditions": conditions}


def _at_once(watches: Sequence[Watch], when: When) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a trigger for each thing that may become so last, and that all of them are so. Raises `NotUnderstood`."""
    triggers, conditions = list[dict[str, Any]](), list[dict[str, Any]]()
    for watch in watches:
        found, rows = triggers_of(watch), conditions_of(watch)
        if found is None or rows is None or when.delay:
            raise NotUnderstood(when.words)
        triggers += found[0]
        conditions += (row for row in rows if row not in conditions)
    return triggers, conditions


def _borders(part: str) -> tuple[str, str]:
    """Return from when to when a part of the day lasts."""
    first, last = PARTS[part] if part else (0, 0)
    return f"{first:02}:00:00", f"{last % _DAY:02}:00:00"


def _offset(seconds: int) -> dict[str, str]:
    """Return the offset of an event of the sun."""
    if not seconds:
        return {}
    minutes, rest = divmod(abs(seconds), 60)
    sign = "-" if seconds < 0 else ""
    return {"offset": f"{sign}{minutes // 60:02}:{minutes % 60:02}:{rest:02}"}


def _sky(is_light: bool) -> dict[str, Any]:
    """Return the condition that it is light outside, or dark."""
    if is_light:
        return {"condition": "sun", "after": "sunrise", "before": "sunset"}
    sides = [{"condition": "sun", "after": "sunset"}, {"condition": "sun", "before": "sunrise"}]
    return {"condition": "or", "conditions": sides}


def _pattern(rhythm: Rhythm) -> dict[str, Any]:
    """Return the trigger after so many minutes. Raises `NotUnderstood` where a clock has no such pattern, or for fewer than 5."""
    minutes, hours = rhythm.minutes, rhythm.minutes // _HOUR
    if _LEAST_MINUTES <= minutes < _HOUR and _HOUR % minutes == 0:
        return {"trigger": "time_pattern", "minutes": f"/{minutes}"}
    if hours and minutes % _HOUR == 0 and hours < _DAY and _DAY % hours == 0:
        return {"trigger": "time_pattern", "hours": f"/{hours}"}
    raise NotUnderstood(rhythm.words)


async def _async_never(sentence: Sentence, rhythm: Rhythm) -> list[dict[str, Any]]:
    """Return the conditions under which nothing may be done. Raises `NotUnderstood`."""
    if not rhythm.never:
        return []
    read = await async_read_clause(sentence, rhythm.never, is_event=False)
    found = conditions_of(read.watch) if read is not None else None
    if found is None or len(found) != 1:
        raise NotUnderstood(rhythm.never)
    return found


# What.


async def _async_actions(sentence: Sentence, what: Wished, when: When, *, tells_itself: bool) -> list[dict[str, Any]]:
    """Return the actions. Raises `NotUnderstood` for what an automation cannot do."""
    actions: list[dict[str, Any]] = [{"delay": {"seconds": when.delay}}] if when.delay and not when.stays else []
    if what.kind in (WishKind.TELL, WishKind.REMINDER):
        return [*actions, *await _async_messages(sentence, what, when, tells_itself=tells_itself)]
    if what.kind is not WishKind.ACTION or what.planned is None:
        raise NotUnderstood(what.words)
    does = [effects_of((step,)) or _handled(step) for step in what.planned.steps]
    if not all(does):
        raise NotUnderstood(what.words)
    for effect in chain.from_iterable(does):
        if not KINDS[effect.kind].changes_states or getattr(effect, "returns_response", False) or has_code(effect.data):
            raise NotUnderstood(what.words)
        action: dict[str, Any] = {"action": f"{_domain(sentence.hass, effect)}.{effect.service}"}
        if effect.entity_ids:
            action["target"] = {"entity_id": [*effect.entity_ids]}
        if effect.data:
            action["data"] = json_loads_object(json_bytes(dict(effect.data)))  # as the file has it: a color is a list
        last = actions[-1] if actions else {}
        if "target" in action and "target" in last and _same(last, action):
            ids = [*last["target"]["entity_id"], *action["target"]["entity_id"]]
            last["target"]["entity_id"] = [*dict.fromkeys(ids)]
        else:
            actions.append(action)
    return actions


def _handled(step: Step) -> list[Effect]:
    """Return what an intent does that is carried out by its handler, and is one action: a thermostat is set."""
    if step.intent != INTENT_SET_TEMPERATURE or len(step.targets) != 1 or ATTR_TEMPERATURE not in step.arguments:
        return []
    data = {ATTR_TEMPERATURE: step.arguments[ATTR_TEMPERATURE]}
    return [ServiceCall(domain=CLIMATE, service=SERVICE_SET_TEMPERATURE, entity_ids=step.targets, data=data)]


def _domain(hass: HomeAssistant, effect: Effect) -> str:
    """Return the domain whose action does it: that of the things, where they are of one, rather than the one for all."""
    domains = {split_entity_id(item)[0] for item in effect.entity_ids}
    own = domains.pop() if effect.domain == HOMEASSISTANT and len(domains) == 1 else effect.domain
    return own if hass.services.has_service(own, effect.service) else effect.domain


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two actions do the same, each to its own things."""
    return all(one.get(key) == other.get(key) for key in ("action", "data"))


async def _async_messages(sentence: Sentence, what: Wished, when: When, *, tells_itself: bool) -> list[dict[str, Any]]:
    """Return the actions that tell the speaker something: on the phones, else in Home Assistant."""
    hass, turn = sentence.hass, sentence.turn
    if what.kind is WishKind.REMINDER and not what.text:
        message = await async_text(hass, turn.language, "wish_reminder_bare")
    elif what.kind is WishKind.REMINDER:
        message = await async_text(hass, turn.language, "wish_reminder", text=what.text)
    elif tells_itself:
        said = when.said if when.event is not None else ", ".join(when.provided) or when.said
        message = await async_text(hass, turn.language, "wish_tell_event", when=said)
    else:
        message = await async_text(hass, turn.language, "wish_tell", text=what.text)
    phones = phones_of(hass, turn.user.id if turn.user is not None else None)
    actions = [f"{NOTIFY}.{phone}" for phone in phones] or ["persistent_notification.create"]
    return [{"action": action, "data": {"message": message}} for action in actions]


async def _async_made(sentence: Sentence, config: Mapping[str, Any], never: Sequence[Mapping[str, Any]]) -> Result:
    """Ask whether an automation is to be made, or propose it; say why not."""
    hass, turn = sentence.hass, sentence.turn
    targets = tuple(item for action in config["actions"] for item in action.get("target", {}).get("entity_id", ()))
    note = Note(understanding=Understanding(intents=(MAKES,), targets=targets, score=1.0))
    recognised = Recognised(name=MAKES, slots={})
    if turn.user is None:
        return await async_told(sentence, "automation_spoken_by_nobody")
    name = str(config["alias"])
    if any(known.name.casefold() == name.casefold() for known in await automation_store(hass).async_automations()):
        return await async_told(sentence, "automation_spoken_exists", automation=quoted(name, turn.language))
    tool = ChangeAutomation(Creation(config=config, never=never), asks=True)
    try:
        plan = await tool.plan(hass, {}, turn)
    except ToolRefusal as err:
        raise NotUnderstood(name) from err
    except ToolError as err:
        return Refused(error=err, recognised=recognised, note=note)
    result = await sentence.means.policy.async_call_by_code(turn, tool, {}, sentence.chat_log, known=False)
    if result is None:
        return Refused(error=NeedsConfirmation(), recognised=recognised, note=note)
    if result.error:
        return await async_told(sentence, "confirm_failed")
    said = [
        await KINDS[effect.kind].async_describe(hass, turn.language, effect, Moment.DONE) for effect in plan.effects
    ]
    return Done(said=spoken(turn, " ".join(said)), note=note)
