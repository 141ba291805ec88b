"""To-do and shopping lists."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from homeassistant.components.todo.const import DATA_COMPONENT, TodoListEntityFeature
from homeassistant.core import HomeAssistant, State
from homeassistant.util.json import JsonValueType

from ...support.errors import ToolRefusal
from ..domain import Action, Details, Domain, Field, Logged, ServiceStep, Subject
from ..parameters import date, date_time, one_of, text
from ..records import has

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

_ACTIONS = {
    "add_item": Action("add_item", TodoListEntityFeature.CREATE_TODO_ITEM, {**_ITEM, **_DETAILS}, ("item",)),
    "update_item": Action(
        "update_item",
        TodoListEntityFeature.UPDATE_TODO_ITEM,
        {**_ITEM, "rename": Field(text), "status": Field(one_of("needs_action", "completed")), **_DETAILS},
        ("item",),
    ),
    "remove_item": Action("remove_item", TodoListEntityFeature.DELETE_TODO_ITEM, _ITEM, ("item",)),
    "remove_completed_items": Action("remove_completed_items", TodoListEntityFeature.DELETE_TODO_ITEM),
}


def _edit(subject: Subject, action: str, given: dict[str, object]) -> Sequence[ServiceStep] | None:
    """Plan `{"add": ["milk", "eggs"]}`, `{"complete": "milk"}` and `{"item": "milk"}`: one step per item."""
    rest = dict(given)
    if action in _SHORT and "item" in rest:  # the action itself was "complete"
        rest[action] = rest.pop("item")
    if named := [(word, rest.pop(word)) for word in _SHORT if word in rest]:
        return [
            step
            for word, items in named
            for step in _steps(subject, _SHORT[word][0], items, {**_SHORT[word][1], **rest})
        ]
    if action == "set_value":  # changed when its new state or name is told, else added
        action = "update_item" if {"status", "rename"} & set(rest) else "add_item"
    if action in ("add_item", "update_item", "remove_item") and "item" in rest:
        return _steps(subject, action, rest.pop("item"), rest)
    return None


def _steps(subject: Subject, service: str, items: object, data: dict[str, object]) -> list[ServiceStep]:
    action = _ACTIONS[service]
    if subject.features & action.feature != action.feature:
        raise ToolRefusal(f"{subject.state.entity_id} does not support {service}.")
    named: list[Any] = items if isinstance(items, list) else [items]
    if not 0 < len(named) <= MAX_ITEMS:
        raise ToolRefusal(f"Name 1 to {MAX_ITEMS} items.")
    return [ServiceStep(service, _read(subject, action, {"item": item, **data})) for item in named]


def _read(subject: Subject, action: Action, given: dict[str, object]) -> dict[str, JsonValueType]:
    fields = action.open_fields(subject)
    if unknown := sorted(set(given) - set(fields)):
        raise ToolRefusal(
            f"{action.service} of {subject.state.entity_id} does not know {', '.join(unknown)}. Allowed: {', '.join(fields)}."
        )
    return {name: action.fields[name].read(value, subject) for name, value in given.items()}


def _items(_state: State, attributes: Collection[str]) -> dict[str, Any]:
    return {"status": ["needs_action", "completed"] if "completed" in attributes else ["needs_action"]}


def listed(hass: HomeAssistant, entity_id: str, item: str) -> str | None:
    """Return an item as it is written on a list, found in any case; None if it is not on the list.

    A list that is not loaded, or does not tell its items, may have any: then it is what was asked for.
    """
    component = hass.data.get(DATA_COMPONENT)
    entity = component.get_entity(entity_id) if component is not None else None
    if entity is None or entity.todo_items is None:
        return item
    wanted = item.strip().casefold()
    for found in entity.todo_items:
        if item == found.uid or wanted == (found.summary or "").casefold():
            return found.summary or item
    return None


def _is_done(hass: HomeAssistant, state: State, service: str, data: Mapping[str, Any]) -> bool:
    """Return whether what is to be removed is not on the list."""
    return service == "remove_item" and listed(hass, state.entity_id, str(data.get("item", ""))) is None


DOMAINS = {
    "todo": Domain(
        actions=_ACTIONS,
        values=("add_item", "update_item", "remove_item"),
        value="item",
        aliases={
            "name": "item", "summary": "item", "due": "due_date", "delete": "remove", "add_items": "add", "items": "item",
        },
        words={"clear_completed": "remove_completed_items", "delete_item": "remove_item"},
        build=_edit,
        details=Details("get_items", "items", _items),
        is_done=_is_done,
        rank=13,
        holds_text=True,
        others_write=True,
        logged=Logged.BY_USER,
        state_is_told=False,
    )
}  # fmt: skip
