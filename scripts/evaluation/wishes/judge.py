"""What a row expects, beside what waits once it was said. Events and conditions are compared by what they come to in the home.

The same may be written in several ways: "nobody is home" as one event of two persons, or as an event of each and two conditions. So
changes of the home are played through, one after another, and both have to be due at the same one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from itertools import product
from typing import Any, Self, cast
from zoneinfo import ZoneInfo

import astral
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers.sun import get_observer_astral_event_next

from custom_components.home_agent.wishes.when import Watch, When
from custom_components.home_agent.wishes.wish import Wish, WishKind

type Row = Mapping[str, Any]
"""A line of a file, or what it expects."""
type Done = Mapping[str, Collection[str]]
"""What was done at once: by entity id, the actions without their domain; none where only its state has changed."""


class Outcome(StrEnum):
    """What became of a row."""

    UNDERSTOOD = "understood"
    PARTLY = "partly"
    """As wanted but for something that does no harm: told in another way, or told something more."""
    WRONG_TIME = "wrong time"
    """Another moment, event, delay or condition; or what is done for a while has no end."""
    WRONG_TARGET = "wrong target"
    """Another entity, one more or less, or the contrary is done to it."""
    WRONG_KIND = "wrong kind"
    ACTED = "acted"
    """Something was done at once that is for later."""
    NOT_UNDERSTOOD = "not understood"
    """Nothing waits, nothing was done; of a plan: one of the turns was declined."""
    MISSING = "missing"
    """Of a plan: fewer wishes wait than should."""
    LEFT_OVER = "left over"
    """Of a plan: more wishes wait than should."""
    NOT_ASKED = "not asked"
    """Of a plan: it was not asked back."""
    DONE = "done"
    """Of what is for now: it was done."""
    NOT_DONE = "not done"
    LEFT_ALONE = "left alone"
    """Of what is for later: nothing was done at once."""


GOOD = frozenset({Outcome.UNDERSTOOD, Outcome.DONE, Outcome.LEFT_ALONE})
MINUTE = 60  # seconds
_TOLD = frozenset({WishKind.REMINDER, WishKind.WAKE, WishKind.TELL, WishKind.TIMER})
_OTHERS: Mapping[str, Sequence[str]] = {
    "person": ("home", "not_home"),
    "vacuum": ("docked", "cleaning"),
    "cover": ("open", "closed"),
    "lock": ("locked", "unlocked"),
    "climate": ("off", "heat"),
    "sensor": (),
}
"""States that are played through, by domain; of all others on and off."""
_NEAR = 0.05  # to both sides of a bound
_UP = frozenset({"turn_on", "open_cover", "open_valve", "start", "media_play", "unlock", "volume_up"})
_DOWN = frozenset(
    {
        "turn_off", "close_cover", "close_valve", "return_to_base", "pause", "stop", "media_pause", "media_stop", "lock",
        "volume_down",
    }
)  # fmt: skip
_IS_DOWN = frozenset({"off", "closed", "docked", "paused", "idle", "standby", "locked", "returning"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a row, and why that is said."""

    outcome: Outcome
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One of several turns."""

    answer: str
    declined: bool
    """Whether the answer was an error or a question, and the same waits as before."""
    ended: Collection[str] = ()
    """Entities for which an end waits then: something was done to them for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The home at the moment at which all is said."""

    states: Mapping[str, State]
    now: datetime
    zone: ZoneInfo
    latitude: float
    longitude: float

    def moment(self, local: str) -> datetime:
        """Return the moment at which the clock of the home shows a day and time."""
        return datetime.fromisoformat(local).replace(tzinfo=self.zone)

    def suns(self, when: Row) -> Iterator[datetime]:
        """Yield the moments that an event of the sun with an offset may mean.

        An hour after sunset, said half an hour after it, is in half an hour; but it may be said of the next one too.
        """
        event, offset = when["sun"], timedelta(seconds=when.get("offset", 0))
        observer = astral.Observer(self.latitude, self.longitude, 0)
        if (day := when.get("day")) is not None:
            begin = datetime.combine(date.fromisoformat(day), datetime.min.time(), self.zone)
            yield get_observer_astral_event_next(observer, event, begin) + offset
            return
        yield get_observer_astral_event_next(observer, event, self.now) + offset
        yield get_observer_astral_event_next(observer, event, self.now, offset)


class _Imagined:
    """States that can be changed and nothing else happens: in the place of Home Assistant for `Watch` and `When`."""

    def __init__(self, states: Mapping[str, State]) -> None:
        self._states = dict(states)

    @property
    def states(self) -> Self:
        """Itself, as it is what knows them."""
        return self

    @property
    def hass(self) -> HomeAssistant:
        """Itself: only states are asked for."""
        return cast(HomeAssistant, self)

    def get(self, entity_id: str) -> State | None:
        """Return a state, as the state machine does."""
        return self._states.get(entity_id)

    def value(self, entity_id: str) -> str:
        """Return the state alone."""
        state = self._states.get(entity_id)
        return state.state if state is not None else ""

    def put(self, entity_id: str, value: str) -> State:
        """Change a state."""
        before = self._states.get(entity_id)
        state = self._states[entity_id] = State(entity_id, value, before.attributes if before else {})
        return state


def judge(expected: Row, wishes: Sequence[Wish], done: Done, scene: Scene) -> Verdict:
    """Return what became of a row that says one thing for later."""
    now = frozenset(expected.get("now") or ())
    if surplus := sorted(done.keys() - now):
        return Verdict(outcome=Outcome.ACTED, why=f"at once: {', '.join(surplus)}")
    if not wishes:
        if now & done.keys():
            return Verdict(outcome=Outcome.WRONG_TIME, why="it has no end")
        return Verdict(outcome=Outcome.NOT_UNDERSTOOD)
    verdict = _judge_waiting(expected, wishes, scene)
    if verdict.outcome in (Outcome.UNDERSTOOD, Outcome.PARTLY):
        end = _direction(str(expected.get("service", "")))
        if any(end and all(_direction(name) == end for name in done[key]) for key in now & done.keys() if done[key]):
            return Verdict(outcome=Outcome.WRONG_TARGET, why="the contrary was done now")
        if missing := sorted(key for key in now - done.keys() if not _is_so(scene.states.get(key), -end)):
            return Verdict(outcome=Outcome.WRONG_TARGET, why=f"not at once: {', '.join(missing)}")
    return verdict


def judge_plan(row: Row, wishes: Sequence[Wish], done: Done, turns: Sequence[Turn], scene: Scene) -> Verdict:
    """Return what became of several turns.

    Where one of them was declined, the person knows that what waits is not as it was meant.
    """
    allowed = {*(row.get("now") or ()), *(target for turn in turns for target in turn.ended)}
    if surplus := sorted(done.keys() - allowed):
        return Verdict(outcome=Outcome.ACTED, why=f"at once: {', '.join(surplus)}")
    verdict = _judge_all(row["after"], wishes, scene)
    if verdict.outcome is Outcome.UNDERSTOOD:
        is_asked = not row.get("asks") or "?" in turns[-1].answer
        return verdict if is_asked else Verdict(outcome=Outcome.NOT_ASKED)
    if declined := [str(number) for number, turn in enumerate(turns, 1) if turn.declined]:
        why = f"turn {', '.join(declined)} declined; {verdict.outcome}: {verdict.why}"
        return Verdict(outcome=Outcome.NOT_UNDERSTOOD, why=why)
    return verdict


def _judge_all(after: Sequence[Row], wishes: Sequence[Wish], scene: Scene) -> Verdict:
    """Return whether just these wait."""
    left, unmet = list(wishes), list[Row]()
    for expected in after:
        fitting = [wish for wish in left if _waits_as(expected, [wish], scene)]
        parts = [wish for wish in left if not fitting and _fits(expected, wish, scene)]
        taken = fitting[:1] or (parts if _waits_as(expected, parts, scene) else [])
        left = [wish for wish in left if wish not in taken]
        if not taken:
            unmet.append(expected)
    if unmet and left:
        return _judge_waiting(unmet[0], left, scene)
    if unmet:
        return Verdict(outcome=Outcome.MISSING, why=f"{len(unmet)} less")
    if left:
        return Verdict(outcome=Outcome.LEFT_OVER, why=f"{len(left)} more")
    return Verdict(outcome=Outcome.UNDERSTOOD)


def judge_guard(row: Row, done: Done) -> Verdict:
    """Return whether what is for later was left alone, and what is for now was done."""
    if not row.get("now"):
        outcome = Outcome.ACTED if done else Outcome.LEFT_ALONE
        return Verdict(outcome=outcome, why=f"at once: {', '.join(sorted(done))}" if done else "")
    service, entity_id = _name(row["call"]["service"]), row["call"]["entity_id"]
    names, wanted = done.get(entity_id, ()), _direction(service)
    if service in names or (wanted and any(_direction(name) == wanted for name in names)):
        return Verdict(outcome=Outcome.DONE)
    return Verdict(outcome=Outcome.NOT_DONE, why=f"at once: {', '.join(sorted(done))}" if done else "")


def _judge_waiting(expected: Row, wishes: Sequence[Wish], scene: Scene) -> Verdict:
    """Return whether one of the wishes is what is expected, or several at the same time, and nothing else waits."""
    of_kind = [wish for wish in wishes if _kind_fits(expected["kind"], wish) is not None]
    if not of_kind:
        return Verdict(outcome=Outcome.WRONG_KIND, why=f"{wishes[0].kind.value} instead of {expected['kind']}")
    whens = [(wish, _when_fits(expected["when"], wish.when, scene)) for wish in of_kind]
    own = [(wish, found) for wish, found in whens if found.fits]
    if not own:
        return Verdict(outcome=Outcome.WRONG_TIME, why=whens[0][1].note)
    fitting = [wish for wish, _ in own]
    notes = [*filter(None, (found.note for _, found in own))]
    notes += [*filter(None, (_kind_fits(expected["kind"], wish) for wish in fitting))]
    if (wanted := expected.get("targets")) is not None and expected["kind"] == WishKind.ACTION.value:
        found = {item for wish in fitting for item in wish.targets}
        if found != set(wanted):
            return Verdict(outcome=Outcome.WRONG_TARGET, why=f"for {', '.join(sorted(found)) or 'nothing known'}")
    if (fits := _service_fits(str(expected.get("service", "")), fitting)) is False:
        return Verdict(outcome=Outcome.WRONG_TARGET, why="another action")
    notes += ["another action"] if fits is None else []
    for wish in wishes:
        if wish in fitting or (wish.ends and set(wish.targets) <= set(expected.get("targets", ()))):
            continue
        if wish.kind is WishKind.ACTION:
            return Verdict(outcome=Outcome.WRONG_TARGET, why=f"besides, for {', '.join(wish.targets)}")
        notes.append(f"besides, a {wish.kind.value}")
    return Verdict(outcome=Outcome.PARTLY if notes else Outcome.UNDERSTOOD, why=", ".join(dict.fromkeys(notes)))


def _waits_as(expected: Row, wishes: Sequence[Wish], scene: Scene) -> bool:
    return bool(wishes) and _judge_waiting(expected, wishes, scene).outcome in (Outcome.UNDERSTOOD, Outcome.PARTLY)


def _fits(expected: Row, wish: Wish, scene: Scene) -> bool:
    """Return whether a wish may be a part of what is expected."""
    is_own = set(wish.targets) <= set(expected.get("targets", wish.targets))
    return (
        is_own
        and _kind_fits(expected["kind"], wish) is not None
        and _when_fits(expected["when"], wish.when, scene).fits
    )


def _kind_fits(wanted: str, wish: Wish) -> str | None:
    """Return "" for the right kind, what is to be said of one that does as well, and None for a wrong one."""
    if wish.kind.value == wanted or (wish.kind is WishKind.REMINDER and wanted == WishKind.TELL.value):
        return ""
    return f"{wish.kind.value} instead of {wanted}" if wish.kind in _TOLD and WishKind(wanted) in _TOLD else None


def _service_fits(wanted: str, wishes: Iterable[Wish]) -> bool | None:
    """Return whether the first action is among what is done; None where it is a value instead of on, as of a fan.

    What is decided only then, as of an intent, may be anything.
    """
    wanted = _name(wanted)
    steps = [step for wish in wishes for step in wish.steps]
    found = {service for step in steps for service in map(_service, step.effects)}
    if not wanted or wanted in found or any(not step.effects for step in steps):
        return True
    if (way := _direction(wanted)) and any(_direction(name) == way for name in found):
        return True
    sets = wanted.startswith("set_") or any(name.startswith("set_") for name in found)
    return None if sets and not any(_direction(name) < 0 for name in (wanted, *found)) else False


def _service(effect: Mapping[str, Any]) -> str:
    """Return the name of the action of an effect; a position is told as open or closed."""
    name, position = str(effect.get("service", "")), (effect.get("data") or {}).get("position")
    if name.endswith("_position") and position in (0, 100):
        return ("open_" if position else "close_") + name.removeprefix("set_").removesuffix("_position")
    return name


def _name(service: str) -> str:
    return service.rpartition(".")[2]


def _direction(service: str) -> int:
    """Return 1 for what turns on or opens, -1 for the contrary, 0 for what is neither."""
    name = _name(service)
    return (name in _UP) - (name in _DOWN)


def _is_so(state: State | None, direction: int) -> bool:
    """Return whether an entity is on or open already, or the contrary."""
    return state is not None and bool(direction) and (state.state in _IS_DOWN) is (direction < 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """Whether something is as wanted, and what is to be said about it."""

    fits: bool
    note: str = ""


def _when_fits(wanted: Row, when: When, scene: Scene) -> _Fit:
    """Return whether a wish is due when it should be."""
    ways = [wanted]
    if "event" in wanted and "delay" in wanted and all(_is(scene, item, wanted) for item in wanted["event"]):
        # "if it is still so in ten minutes": what is so already is looked at then
        pairs = [[item, _wanted(wanted)[0]] for item in wanted["event"]]
        moment = scene.now + timedelta(seconds=wanted["delay"])
        at = moment.astimezone(scene.zone).replace(tzinfo=None).isoformat()
        ways.append({"at": at, "if": [*pairs, *wanted.get("if", ())]})
    found = [_way_fits(way, when, scene) for way in ways]
    return next((one for one in found if one.fits), found[0])


def _way_fits(wanted: Row, when: When, scene: Scene) -> _Fit:
    if "event" in wanted:
        if when.event is None:
            return _Fit(fits=False, note="no event")
        if abs(when.delay - wanted.get("delay", 0)) >= MINUTE:
            return _Fit(fits=False, note="another delay")
        if _is_due_alike(wanted, when, scene, _any_of):
            return _Fit(fits=True)
        if len(wanted["event"]) > 1 and _is_due_alike(wanted, when, scene, all):
            return _Fit(fits=True, note="all of them instead of any")
        return _Fit(fits=False, note="another event or condition")
    moments = [*scene.suns(wanted)] if "sun" in wanted else [scene.moment(wanted["at"])]
    if when.event is not None or when.at is None:
        return _Fit(fits=False, note="an event")
    if all(abs((when.at - moment).total_seconds()) >= MINUTE for moment in moments):
        return _Fit(fits=False, note=f"at {when.at.astimezone(scene.zone):%Y-%m-%d %H:%M}")
    if not _conditions_fit(wanted.get("if", ()), when.conditions, scene):
        return _Fit(fits=False, note="another condition")
    return _Fit(fits=True)


def _any_of(_: Iterable[object]) -> bool:
    return True


def _wanted(when: Row) -> list[str]:
    """Return what the entities of an event become, in the form of conditions."""
    bounds = [f"{sign}{when[key]}" for key, sign in (("above", ">"), ("below", "<")) if key in when]
    to = when.get("to", [])
    return bounds or ([to] if isinstance(to, str) else [*to])


def _holds(value: str, wanted: str) -> bool:
    if wanted[:1] not in ("<", ">"):
        return value == wanted
    try:
        number = float(value)
    except ValueError:
        return False
    return number > float(wanted[1:]) if wanted[0] == ">" else number < float(wanted[1:])


def _is(scene: Scene, entity_id: str, when: Row) -> bool:
    state = scene.states.get(entity_id)
    return state is not None and any(_holds(state.state, one) for one in _wanted(when))


def _values(scene: Scene, wanted: Iterable[tuple[str, str]], watches: Iterable[Watch]) -> dict[str, list[str]]:
    """Return the states that are played through, of every entity that matters."""
    values: dict[str, dict[str, None]] = {}
    bounds: list[tuple[str, float]] = []

    def of(entity_id: str) -> dict[str, None]:
        state = scene.states.get(entity_id)
        others = _OTHERS.get(entity_id.partition(".")[0], ("on", "off"))
        return values.setdefault(entity_id, dict.fromkeys([*([state.state] if state else ()), *others]))

    for entity_id, value in wanted:
        known = of(entity_id)
        if value[:1] in ("<", ">"):
            bounds.append((entity_id, float(value[1:])))
        else:
            known[value] = None
    for watch in watches:
        for entity_id in watch.entity_ids:
            of(entity_id)
            bounds += [(entity_id, bound) for bound in (watch.above, watch.below) if bound is not None]
    for entity_id, bound in bounds:
        values[entity_id] |= dict.fromkeys([f"{bound - _NEAR:g}", f"{bound + _NEAR:g}"])
    return {entity_id: [*known] for entity_id, known in values.items()}


def _is_due_alike(wanted: Row, when: When, scene: Scene, of: Callable[[Iterable[bool]], bool]) -> bool:
    """Return whether a wish is due at the same one of two changes of the home as what is wanted, whichever these are.

    `of` says of how many of the entities it has to be so: `_any_of` it is enough of the one that changes.
    """
    becomes, pairs = _wanted(wanted), [(str(one), str(value)) for one, value in wanted.get("if", ())]
    named = [(item, value) for item in wanted["event"] for value in becomes] + pairs
    values = _values(scene, named, when.watches)
    moves = [(entity_id, value) for entity_id, known in values.items() for value in known]
    return all(
        _due_as_wanted(wanted["event"], becomes, pairs, of, scene, path) == _due(when, scene, path)
        for path in product(moves, repeat=2)
    )


type _Path = Sequence[tuple[str, str]]


def _due_as_wanted(
    event: Sequence[str],
    becomes: Sequence[str],
    pairs: _Path,
    of: Callable[[Iterable[bool]], bool],
    scene: Scene,
    path: _Path,
) -> int | None:
    """Return the number of the change at which it is due, None if it is not or the conditions are not met."""

    def is_so(value: str) -> bool:
        return any(_holds(value, one) for one in becomes)

    home = _Imagined(scene.states)
    for number, (entity_id, value) in enumerate(path):
        before = home.value(entity_id)
        home.put(entity_id, value)
        if entity_id in event and is_so(value) and not is_so(before) and of(is_so(home.value(one)) for one in event):
            return number if all(_holds(home.value(one), wanted) for one, wanted in pairs) else None
    return None


def _due(when: When, scene: Scene, path: _Path) -> int | None:
    home = _Imagined(scene.states)
    now = when.begun(home.hass)
    for number, (entity_id, value) in enumerate(path):
        if home.value(entity_id) == value:
            continue
        changed = home.put(entity_id, value)
        now = now.seen(home.hass, changed)
        if not now.is_awaited:
            return number if all(one.is_so(home.hass) for one in now.conditions) else None
    return None


def _conditions_fit(wanted: Iterable[Sequence[str]], conditions: Sequence[Watch], scene: Scene) -> bool:
    """Return whether conditions are met in the same states of the home as those that are wanted."""
    pairs = [(str(one), str(value)) for one, value in wanted]
    values = _values(scene, pairs, conditions)
    home = _Imagined(scene.states)
    for states in product(*values.values()):
        for entity_id, value in zip(values, states, strict=True):
            home.put(entity_id, value)
        is_wanted = all(_holds(home.value(one), value) for one, value in pairs)
        if is_wanted is not all(one.is_so(home.hass) for one in conditions):
            return False
    return True
