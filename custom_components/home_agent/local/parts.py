"""A sentence as a whole: one command, several with "and", all but some things, or one that goes on from the sentence before."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
import re

from homeassistant.const import STATE_OFF

from ..home.domains import domains_where
from ..languages.data import FollowUpWords
from ..languages.enumerations import parts_of
from ..languages.phrases import is_order
from ..support.text import MAX_TEXT, fold, tokens
from .reading import MAX_WORDS, Order, Said, SentenceReading, Understood
from .things import StateOf, Things
from .understanding import Commanding

MAX_PARTS = 4  # orders of one sentence
_SWITCHING = frozenset({"HassTurnOn", "HassTurnOff"})
_AT_ONCE = domains_where(lambda record: record.in_a_room or record.switches_at_once)
_SET = frozenset({"HassLightSet", "HassSetPosition", "HassFanSetSpeed", "HassSetVolume", "HassClimateSetTemperature"})
"""What may be said of the same thing right after something else: "turn on the fan and set it to 40 percent"."""
_OF_ALL = ("_all", "_area")  # answers of Home Assistant's about all of a kind

type Read = Callable[[str, Collection[str]], Understood]
"""Reads a part of a sentence, after one that was about some entities."""


def understand(
    text: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: Said | None = None
) -> Understood:
    """Return what a sentence wants: as a whole, else as several orders, else as one that goes on from the sentence before."""

    def read(part: str, targets: Collection[str]) -> Understood:
        command = Commanding(part, things, state_of, area_id=area_id, before=targets)
        return (command.everything_off() if command.everything else None) or command.understand()

    targets = before.targets if before else ()
    whole = read(text, targets)
    if whole.reason == "altered" and things.data.exceptions:
        return _excepting(text, things, state_of, area_id) or whole
    if whole.orders or whole.reason not in ("words", "several", "action", "two_ways", "question"):
        return whole
    joins = sorted(things.data.follow_ups.joins, key=len, reverse=True)
    parts = parts_of(text, joins)
    if 1 < len(parts) <= MAX_PARTS and whole.reason != "question":
        if (several := _several(text, parts, read, targets, things)) is not None:
            return several
    if rest := new_in(text, things.data.follow_ups):
        alone, again = read(rest, targets), None
        new = SentenceReading(rest, things, state_of)
        begins = new.words[:1] or [""]
        says_what = bool(alone.orders) and begins[0] not in things.routes.harmless  # "the lock" is no verb
        if before is not None and not says_what:
            again = _going_on(new, before, read, SentenceReading(before.text, things, state_of))
        return again or (replace(alone, text=rest) if alone.orders else whole)
    return whole


def _excepting(text: str, things: Things, state_of: StateOf, area_id: str | None) -> Understood | None:
    """Return the order for all of some things but those that are excepted, anywhere in the text; None if that is not certain."""
    words = "|".join(re.escape(phrase) for phrase in sorted(things.data.exceptions, key=len, reverse=True))
    found = [*re.finditer(rf"(?<!\w)(?:{words})(?!\w)", text, re.IGNORECASE)]
    if len(found) != 1 or len(text) > MAX_TEXT:
        return None
    first, rest = text[: found[0].start()].rstrip(" ,"), text[found[0].end() :]
    ends = [match.end() for match in re.finditer(r"[^\s,.!]+", rest)][:MAX_WORDS]
    for end in reversed(ends):
        excepted = parts_of(rest[:end], things.data.follow_ups.joins)
        readings = [Commanding(part, things, state_of, area_id=area_id) for part in excepted]
        if len(readings) > MAX_PARTS or not all(reading.names_something() for reading in readings):
            continue
        command = Commanding(f"{first} {rest[end:].lstrip(' ,')}".strip(), things, state_of, area_id=area_id)
        whole = (command.everything_off(also_off=True) if command.everything else None) or command.understand()
        if len(whole.orders) != 1 or len(whole.orders[0].targets) < 2:
            continue
        order = whole.orders[0]
        spared = [reading.among(order) for reading in readings]
        many = command.of_many(order.targets)
        left = [item for item in order.targets if item not in many and not any(item in each for each in spared)]
        if not all(spared) or not left:
            continue
        is_so = False
        if order.intent == "HassTurnOff" and len({item.partition(".")[0] for item in order.targets}) > 1:
            on = [item for item in left if (state := state_of(item)) and state.state != STATE_OFF]
            left, is_so = on or left, not on
        names = tuple(dict.fromkeys(item for each in spared for item in each))
        # the answer for all of a kind would say too much
        response = "default" if order.response.endswith(_OF_ALL) else order.response
        order = replace(order, targets=tuple(left), response=response)
        return replace(whole, orders=(order,), spared=names, is_so=is_so)
    return None


def _several(
    text: str, parts: Sequence[str], read: Read, targets: Collection[str], things: Things
) -> Understood | None:
    """Return the orders of all parts, None unless each is certain; one without a verb takes that of the one before, or after.

    A value that ends the sentence is of all things before it: "dim the bed light and the desk lamp to 30 percent".
    """
    pronouns = {fold(word) for word in things.data.follow_ups.it}
    orders: list[Order] = []
    going_on: list[Order] = []
    waiting: list[str] = []
    vague: list[str] = []
    score = 1.0
    for part in parts:
        found = read(part, () if waiting else targets)  # "the lamp also on" is not what was before
        # a name by itself turns on, and so does its "light"
        is_name = bool(found.orders) and things.language.nouns.issuperset(
            word for order in found.orders for word in order.said
        )
        if orders and (is_name or not found.orders):
            said = [word for word in orders[-1].said if not word[0].isdigit() or not re.search(r"\d", part)]
            found = read(f"{' '.join(said)} {part}", targets)
        if not found.orders:
            if orders:
                return None
            waiting.append(part)
            continue
        last = found.orders[0]
        if vague and last.slots and not is_order(part, things.language.code) and last.intent == orders[-1].intent:
            waiting += vague
            del orders[-len(vague) :]
            vague.clear()
        for earlier in waiting:
            first = read(f"{earlier} {' '.join(last.said)}", ())
            if not first.orders:
                return None
            orders += first.orders
        waiting.clear()
        orders += found.orders
        going_on += found.orders if any(token.word in pronouns for token in tokens(part)) else ()
        vague = [*vague, part] if len(found.orders) == 1 and last.change else []
        targets = last.targets
        score = min(score, found.score)
    # of several things it would not be certain what "it" is; what opens, moves or keeps warm takes its time
    is_one = len({order.targets for order in orders}) == 1
    back = _in_a_row(text, things.data.follow_ups) if is_one else ()
    domains = {item.partition(".")[0] for order in orders for item in order.targets}
    # on and off, or twice the same: which of them?
    clash = any(
        set(first.targets) & set(order.targets)
        and (order not in going_on or order.intent not in _SET or first.intent in (order.intent, "HassTurnOff"))
        and not (order.intent in back and {first.intent, order.intent} == _SWITCHING and domains <= _AT_ONCE)
        for number, order in enumerate(orders)
        for first in orders[:number]
    )
    if waiting or not orders or clash:
        return None
    return Understood(orders=tuple(orders), intents=tuple(order.intent for order in orders), score=score)


def _in_a_row(text: str, words: FollowUpWords) -> frozenset[str]:
    """Return the intents that may switch back what was switched: "on and then off", "off and on again"; not "on and off again"."""
    said = f" {' '.join(token.word for token in tokens(text))} "
    phrases = {phrase for phrase in words.then if f" {fold(phrase)} " in said}
    back = frozenset({"HassTurnOn"}) if phrases.isdisjoint(words.joins) else _SWITCHING
    return back if phrases else frozenset()


def new_in(text: str, words: FollowUpWords) -> str:
    """Return what is new in a sentence that goes on: without "and", "the same for", "too"; "" for others."""
    said = rest = f" {text.strip(' ?.!').casefold()} "
    for phrase in words.too:
        rest = rest.replace(f" {phrase} ", " ")
    before = ""
    while rest != before:
        before = rest
        begin = max((one for one in words.again if rest.startswith(f" {one} ")), key=len, default="")
        rest = rest[len(begin) + 1 :] if begin else rest
    return rest.strip() if rest != said else ""


def _going_on(new: SentenceReading, before: Said, read: Read, said: SentenceReading) -> Understood | None:
    """Return the order of a sentence that goes on with something else or another value, None where it is not certain.

    `new` is what it says, `said` the sentence before. "And in the office" after the fan of the bedroom is a fan.
    """
    earlier = read(before.text, before.targets)
    kinds = {said.words[at] for at in said.kinds}
    kind = kinds.pop() if len(kinds) == 1 else ""
    if len(earlier.orders) != 1 or (new.everything - new.both and not new.kinds):
        return None
    verb = [word for word in earlier.orders[0].said if word != kind or not new.kinds]
    text, one_words = new.text, {fold(word) for word in new.things.data.follow_ups.one}
    nothing = new.routes.harmless | new.routes.prepositions
    beside = {word for at, word in enumerate(new.words) if at not in new.in_places}
    is_place = bool(new.place_spans) and beside <= nothing
    if not one_words.isdisjoint(new.words):
        if not kind or nothing.union(one_words).issuperset(new.words):
            return None
        text = " ".join(kind if fold(word) in one_words else word for word in text.split())
    elif is_place:
        verb[:0] = [kind] if kind and kind not in verb else []
    bare = verb if is_place else [word for word in verb if word != kind]
    plain = [word for word in verb if not new.things.is_value(word)]
    domains = {item.partition(".")[0] for item in earlier.orders[0].targets}
    for words, targets in ((verb, ()), (bare, ()), (plain, before.targets)):
        whole = " ".join((*words, text))
        orders = (found := read(whole, targets)).orders if words else ()
        if orders and not (is_place and {item.partition(".")[0] for item in orders[0].targets} - domains):
            return replace(found, text=whole)
    return None
