"""To-do and shopping lists."""

from collections.abc import Sequence
from typing import Any

from homeassistant.components.todo.const import TodoListEntityFeature
from homeassistant.util.json import JsonValueType

from ...safety.tool import ToolRefusal
from ..parameters import date, date_time, one_of, text
from ..spec import Action, Domain, Field, Step, Subject, has

_DETAILS = {
    "due_date": Field(date, has(TodoListEntityFeature.SET_DUE_DATE_ON_ITEM)),
    "due_datetime": Field(date_time, has(TodoListEntityFeature.SET_DUE_DATETIME_ON_ITEM)),
    "description": Field(text, has(TodoListEntityFeature.SET_DESCRIPTION_ON_ITEM)),
}
_ITEM = {"item": Field(text)}
_SHORT: dict[str, tuple[str, dict[str, object]]] = {
    "add": ("add_item", {}),
    "complete": ("update_item", {"status": "completed"}),
    "uncomplete": ("update_item", {"status": "needs_action"}),
    "remove": ("remove_item", {}),
}
MAX_ITEMS = 20  # items that one call may name

_ADD = Action(
    service="add_item",
    feature=TodoListEntityFeature.CREATE_TODO_ITEM,
    fields={**_ITEM, **_DETAILS},
    required=("item",),
)
_UPDATE = Action(
    service="update_item",
    feature=TodoListEntityFeature.UPDATE_TODO_ITEM,
    fields={**_ITEM, "rename": Field(text), "status": Field(one_of("needs_action", "completed")), **_DETAILS},
    required=("item",),
)
_REMOVE = Action(
    service="remove_item", feature=TodoListEntityFeature.DELETE_TODO_ITEM, fields=_ITEM, required=("item",)
)


def _edit(subject: Subject, action: str, given: dict[str, object]) -> Sequence[Step] | None:
    """Plan `{"add": ["milk", "eggs"]}`, `{"complete": "milk"}` and `{"item": "milk"}`: one step per item."""
    rest = dict(given)
    if action in _SHORT and "item" in rest:  # the action itself was "complete"
        rest[action] = rest.pop("item")
    words = [word for word in _SHORT if word in rest]
    if words:
        named = [(word, rest.pop(word)) for word in words]
        return [
            step
            for word, items in named
            for step in _steps(subject, _SHORT[word][0], items, {**_SHORT[word][1], **rest})
        ]
    if action in ("set_value", "add_item", "update_item", "remove_item") and "item" in rest:
        service = action if action != "set_value" else _meant(rest)
        return _steps(subject, service, rest.pop("item"), rest)
    return None


def _meant(given: dict[str, object]) -> str:
    """Return what a bare `item` is about: to change it when its new state or name is told, else to add it."""
    return "update_item" if {"status", "rename"} & set(given) else "add_item"


def _steps(subject: Subject, service: str, items: object, data: dict[str, object]) -> list[Step]:
    action = next(action for action in (_ADD, _UPDATE, _REMOVE) if action.service == service)
    if not action.possible(subject):
        raise ToolRefusal(f"{subject.state.entity_id} does not support {service}.")
    named: list[Any] = items if isinstance(items, list) else [items]
    if not 0 < len(named) <= MAX_ITEMS:
        raise ToolRefusal(f"Name 1 to {MAX_ITEMS} items.")
    return [Step(service, _read(subject, action, {"item": item, **data})) for item in named]


def _read(subject: Subject, action: Action, given: dict[str, object]) -> dict[str, JsonValueType]:
    fields = action.open_fields(subject)
    if unknown := sorted(set(given) - set(fields)):
        raise ToolRefusal(
            f"{action.service} of {subject.state.entity_id} does not know {', '.join(unknown)}. Allowed: {', '.join(fields)}."
        )
    return {name: action.fields[name].read(value, subject) for name, value in given.items()}


TODO = Domain(
    actions=(
        _ADD,
        _UPDATE,
        _REMOVE,
        Action(service="remove_completed_items", feature=TodoListEntityFeature.DELETE_TODO_ITEM),
    ),
    values=("add_item", "update_item", "remove_item"),
    value="item",
    aliases={
        "name": "item",
        "summary": "item",
        "due": "due_date",
        "delete": "remove",
        "add_items": "add",
        "items": "item",
    },
    words={"clear_completed": "remove_completed_items", "delete_item": "remove_item"},
    build=_edit,
)
