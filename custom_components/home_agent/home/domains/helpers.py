"""Switches, numbers, choices, texts, dates, buttons, timers and counters, and the helpers of the same kinds."""

from collections.abc import Mapping
from dataclasses import replace

from homeassistant.components.button import ButtonDeviceClass
from homeassistant.const import ATTR_DEVICE_CLASS
from homeassistant.core import State
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType

from ...turn.plan import DESTRUCTIVE
from ..domain import Action, Domain, Field, Logged, ReadValue, ServiceStep, Snapshot
from ..parameters import between, date, date_time, duration, local_date_time, option, text, time
from ..records import SWITCHABLE, at, plain, setting
from ..tolerance import STATE, Check, Tolerance, moment, near, other_than, same, steps


def _value(name: str, read: ReadValue, tolerance: Tolerance) -> Domain:
    """Return the record of a domain whose state is one value that `set_value` sets under this name."""
    return Domain(
        actions=setting("set_value", name, Field(read, shows=(STATE, tolerance))),
        values=("set_value",),
        value=name,
        sets_state=("set_value", name),
    )


_NUMBER = replace(
    _value("value", between("min", "max"), near(1e-6, 0.5)), is_number=True, logged=Logged.BY_USER, is_setting=True
)  # a device rounds, a helper does not
_INPUT_NUMBER = replace(_value("value", between("min", "max"), near(1e-6, 1e-6)), is_setting=True)
_COUNTER = _value("value", between("minimum", "maximum", whole=True), near(0, 0))
_STEP_WORDS = {"increase": "increment", "decrease": "decrement"}


def _choice(before: State, service: str) -> Mapping[str, Check]:
    """Expect the choice that is named by its place."""
    options = list(before.attributes.get("options") or ())
    if options and service in ("select_first", "select_last"):
        return {STATE: same(options[0 if service == "select_first" else -1], None, before)}
    moves = service in ("select_next", "select_previous") and len(options) > 1
    return {STATE: other_than(before.state)} if moves else {}


_SELECT = Domain(
    actions={
        **setting("select_option", "option", Field(option("options"), shows=(STATE, same))),
        **plain("select_next", "select_previous", "select_first", "select_last"),
    },
    values=("select_option",),
    value="option",
    words={"next": "select_next", "previous": "select_previous", "first": "select_first", "last": "select_last"},
    logged=Logged.BY_USER,
    leads=_choice,
    sets_state=("select_option", "option"),
    is_setting=True,
)
_TEXT = replace(_value("value", text, same), aliases={"text": "value"}, holds_text=True, is_setting=True)


def _held(state: State) -> str:
    """Return what an `input_datetime` holds: `date`, `time` or `datetime`."""
    if not state.attributes.get("has_date"):
        return "time"
    return "datetime" if state.attributes.get("has_time") else "date"


def _restore_date_and_time(before: Snapshot, now: State, _different: set[str]) -> list[ServiceStep]:
    day, _, clock = before.state.partition(" ")
    held = _held(now)
    return [ServiceStep("set_datetime", {"date": day, "time": clock} if held == "datetime" else {held: before.state})]


_BUTTON = Domain(
    actions=plain("press"),
    on=("press",),
    words={"push": "press"},
    own={"turn_on": "press"},
    state_is_told=False,
    acts_unseen=True,
)


def _restarts(state: State | None, *_call: object) -> str | None:
    is_restart = state is not None and state.attributes.get(ATTR_DEVICE_CLASS) == ButtonDeviceClass.RESTART
    return DESTRUCTIVE if is_restart else None


_DURATION = {"duration": Field(duration)}


def _seconds_left(state: State) -> JsonObjectType:
    """Return how many seconds a running timer has left; its own attribute is as old as its start."""
    if state.state != "active" or (ends := dt_util.parse_datetime(str(state.attributes.get("finishes_at")))) is None:
        return {}
    return {"seconds_left": max(round((ends - dt_util.utcnow()).total_seconds()), 0)}


DOMAINS = {
    "switch": replace(SWITCHABLE, stands_for=True, rank=1, logged=Logged.BY_USER, in_a_room=True, is_verb=True),
    "input_boolean": replace(SWITCHABLE, says_little=True, stands_for=True, logged=Logged.BY_USER),
    "number": replace(_NUMBER, says_little=True),
    "input_number": replace(
        _INPUT_NUMBER,
        actions={**_INPUT_NUMBER.actions, **plain("increment", "decrement")},
        words=_STEP_WORDS,
        leads=steps({"increment": (STATE, "max"), "decrement": (STATE, "min")}),
        is_number=True,
        logged=Logged.BY_USER,
    ),
    "counter": replace(
        _COUNTER,
        actions={**_COUNTER.actions, **plain("increment", "decrement", "reset")},
        words=_STEP_WORDS,
        leads=steps({"increment": (STATE, None), "decrement": (STATE, None)}),
        is_number=True,
        harmless=frozenset({"reset"}),
        is_named=False,
    ),
    "select": replace(_SELECT, says_little=True),
    "input_select": _SELECT,
    "text": _TEXT,
    "input_text": replace(_TEXT, is_named=False),
    "date": replace(_value("date", date, moment), is_named=False),
    "time": replace(_value("time", time, moment), is_named=False),
    "datetime": replace(_value("datetime", date_time, moment), is_named=False),
    "input_datetime": Domain(
        actions={
            "set_datetime": Action(
                "set_datetime",
                fields={
                    "date": Field(date, lambda subject: _held(subject.state) != "time", shows=(STATE, moment)),
                    "time": Field(time, lambda subject: bool(subject.attribute("has_time")), shows=(STATE, moment)),
                    "datetime": Field(
                        local_date_time, lambda subject: _held(subject.state) == "datetime", shows=(STATE, moment)
                    ),
                },
            )
        },
        values=("set_datetime",),
        value=lambda subject: _held(subject.state),
        logged=Logged.BY_USER,
        restore=_restore_date_and_time,
        is_named=False,
    ),
    "button": replace(
        _BUTTON, says_little=True, stands_for=True, logged=Logged.ALWAYS, sensitive=_restarts, is_setting=True
    ),
    "input_button": replace(_BUTTON, stands_for=True, logged=Logged.BY_USER),
    "timer": Domain(
        actions={
            "start": Action("start", fields=_DURATION),
            "restart": Action("start", fields=_DURATION, required=("duration",)),
            **plain("pause", "cancel", "finish"),
            "change": Action("change", fields=_DURATION, required=("duration",)),
        },
        on=("start",),
        off=("cancel",),
        is_on=lambda subject: subject.state.state == "active",
        values=("restart",),
        value="duration",
        aliases={"time": "duration", "remaining": "duration"},
        words={"resume": "start", "stop": "cancel"},
        line=("remaining", "finishes_at"),
        attributes=("duration", "remaining", "finishes_at"),
        computed=_seconds_left,
        rank=12,
        logged=Logged.BY_USER,
        goals={"start": at("active"), "pause": at("paused"), "cancel": at("idle"), "finish": at("idle")},
        back={"idle": "cancel"},
        harmless=frozenset({"restart"}),
    ),
}
