"""Switches, numbers, choices, texts, dates, buttons, timers and counters, and the helpers of the same kinds."""

from ..parameters import between, date, date_time, duration, local_date_time, option, text, time
from ..spec import Action, Domain, Field, Subject

SWITCHED = Domain(
    actions=(Action(service="turn_on"), Action(service="turn_off"), Action(service="toggle")),
    on=("turn_on",),
    off=("turn_off",),
    toggle=("toggle",),
)

_SET_NUMBER = Action(service="set_value", fields={"value": Field(between("min", "max"))}, required=("value",))
NUMBER = Domain(actions=(_SET_NUMBER,), values=("set_value",), value="value")
INPUT_NUMBER = Domain(
    actions=(_SET_NUMBER, Action(service="increment"), Action(service="decrement")),
    values=("set_value",),
    value="value",
    words={"increase": "increment", "decrease": "decrement"},
)

_CHOOSING = (
    Action(service="select_option", fields={"option": Field(option("options"))}, required=("option",)),
    Action(service="select_next"),
    Action(service="select_previous"),
    Action(service="select_first"),
    Action(service="select_last"),
)
SELECT = Domain(
    actions=_CHOOSING,
    values=("select_option",),
    value="option",
    words={"next": "select_next", "previous": "select_previous", "first": "select_first", "last": "select_last"},
)

TEXT = Domain(
    actions=(Action(service="set_value", fields={"value": Field(text)}, required=("value",)),),
    values=("set_value",),
    value="value",
    aliases={"text": "value"},
)
DATE = Domain(
    actions=(Action(service="set_value", fields={"date": Field(date)}, required=("date",)),),
    values=("set_value",),
    value="date",
)
TIME = Domain(
    actions=(Action(service="set_value", fields={"time": Field(time)}, required=("time",)),),
    values=("set_value",),
    value="time",
)
DATETIME = Domain(
    actions=(Action(service="set_value", fields={"datetime": Field(date_time)}, required=("datetime",)),),
    values=("set_value",),
    value="datetime",
)


def _has_date(subject: Subject) -> bool:
    return bool(subject.attribute("has_date"))


def _has_time(subject: Subject) -> bool:
    return bool(subject.attribute("has_time"))


def _what_it_holds(subject: Subject) -> str:
    if _has_date(subject) and _has_time(subject):
        return "datetime"
    return "date" if _has_date(subject) else "time"


INPUT_DATETIME = Domain(
    actions=(
        Action(
            service="set_datetime",
            fields={
                "date": Field(date, _has_date),
                "time": Field(time, _has_time),
                "datetime": Field(local_date_time, lambda subject: _has_date(subject) and _has_time(subject)),
            },
        ),
    ),
    values=("set_datetime",),
    value=_what_it_holds,
)

BUTTON = Domain(actions=(Action(service="press"),), on=("press",), words={"push": "press"})

_DURATION = {"duration": Field(duration)}
TIMER = Domain(
    actions=(
        Action(service="start", fields=_DURATION),
        Action(name="restart", service="start", fields=_DURATION, required=("duration",)),
        Action(service="pause"),
        Action(service="cancel"),
        Action(service="finish"),
        Action(service="change", fields=_DURATION, required=("duration",)),
    ),
    on=("start",),
    off=("cancel",),
    is_on=lambda subject: subject.state.state == "active",
    values=("restart",),
    value="duration",
    aliases={"time": "duration", "remaining": "duration"},
    words={"resume": "start", "stop": "cancel"},
)

COUNTER = Domain(
    actions=(
        Action(
            service="set_value", fields={"value": Field(between("minimum", "maximum", whole=True))}, required=("value",)
        ),
        Action(service="increment"),
        Action(service="decrement"),
        Action(service="reset"),
    ),
    values=("set_value",),
    value="value",
    words={"increase": "increment", "decrease": "decrement"},
)
