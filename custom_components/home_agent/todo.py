"""The to-do list of what waits for later: each wish is an item, with its time as the due date."""

from datetime import date, datetime
from typing import override

from homeassistant.components.todo import TodoItem, TodoItemStatus, TodoListEntity, TodoListEntityFeature
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.util import dt as dt_util

from .agent.runtime import HomeAgentConfigEntry
from .agent.wishes_by_hand import (
    PlannedWish,
    async_cancel,
    async_listen_planned,
    async_move,
    async_remind,
    async_turn_by_hand,
    known_wish,
    planned,
)
from .entity import home_device
from .support.const import DOMAIN
from .support.errors import ToolError

PARALLEL_UPDATES = 0


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the list of the home."""
    async_add_entities([PlannedList(entry)])


class PlannedList(TodoListEntity):
    """The wishes of all users. Disabled by default: who may see the list sees what others planned.

    Each change is made in the name of the user who makes it, who may change their own wishes; administrators also those that
    were said without a user.
    """

    _attr_has_entity_name = True
    _attr_should_poll = False
    _attr_entity_registry_enabled_default = False
    _attr_translation_key = "planned"
    _attr_supported_features = (
        TodoListEntityFeature.CREATE_TODO_ITEM
        | TodoListEntityFeature.DELETE_TODO_ITEM
        | TodoListEntityFeature.UPDATE_TODO_ITEM
        | TodoListEntityFeature.SET_DUE_DATETIME_ON_ITEM
        | TodoListEntityFeature.SET_DESCRIPTION_ON_ITEM
    )

    def __init__(self, entry: HomeAgentConfigEntry) -> None:
        """Initialize the list of an entry."""
        self._runtime = entry.runtime_data
        self._attr_unique_id = f"{entry.entry_id}_planned"
        self.entity_id = f"todo.{DOMAIN}_planned"  # the same in every home: examples name it
        self._attr_device_info = home_device(entry)

    @override
    async def async_added_to_hass(self) -> None:
        self._read()
        self.async_on_remove(async_listen_planned(self.hass, self._changed))

    @callback
    def _changed(self) -> None:
        self._read()
        self.async_write_ha_state()

    @callback
    def _read(self) -> None:
        """Make the items, the next one first; those that wait for an event are last."""
        self._attr_todo_items = [_item(wish) for wish in planned(self.hass)]

    @override
    async def async_create_todo_item(self, item: TodoItem) -> None:
        turn = await async_turn_by_hand(self.hass, self._runtime, self._context or Context())
        if (at := _due(item)) is None:
            raise ToolError("wish_no_time")
        await async_remind(self.hass, self._runtime, turn, item.summary or "", at)

    @override
    async def async_update_todo_item(self, item: TodoItem) -> None:
        """Cancel the wish of an item that is ticked off, or give it another time; its words stay."""
        turn = await async_turn_by_hand(self.hass, self._runtime, self._context or Context())
        wish = known_wish(self.hass, turn, item.uid or "")
        before = _item(wish)
        if item.status == TodoItemStatus.COMPLETED:
            await async_cancel(self._runtime, turn, [wish])
            return
        if item.summary != before.summary or item.description != before.description:
            raise ToolError("wish_words_stay")
        if (at := _due(item)) is None:
            if before.due is None:
                return
            raise ToolError("wish_no_time")
        if at != before.due:
            await async_move(self.hass, self._runtime, turn, wish, at)

    @override
    async def async_delete_todo_items(self, uids: list[str]) -> None:
        turn = await async_turn_by_hand(self.hass, self._runtime, self._context or Context())
        await async_cancel(self._runtime, turn, [known_wish(self.hass, turn, uid) for uid in uids])


def _item(wish: PlannedWish) -> TodoItem:
    """Return a wish as an item; what it waits for is its description."""
    at = wish.when.at
    waits = wish.when.event is not None or bool(wish.when.conditions)
    return TodoItem(
        uid=wish.id,
        summary=wish.words,
        status=TodoItemStatus.NEEDS_ACTION,
        due=dt_util.as_local(at) if at is not None else None,
        description=wish.when.said if waits else None,
    )


def _due(item: TodoItem) -> datetime | None:
    """Return when an item is due; a day alone is no time. Raises `ToolError`."""
    due: date | None = item.due
    if due is None or isinstance(due, datetime):
        return due
    raise ToolError("wish_no_time")
