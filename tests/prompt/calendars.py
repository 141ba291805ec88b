"""Calendars and to-do lists of Home Assistant's own kind, with what a test puts into them."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

from homeassistant.components import calendar
from homeassistant.components.calendar import CalendarEntity, CalendarEvent
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.components.todo import TodoItem, TodoItemStatus, TodoListEntity
from homeassistant.components.todo.const import DATA_COMPONENT as TODO_COMPONENT
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.setup import async_setup_component

from custom_components.home_agent.prompt.providers import CalendarContext, ContextRequest
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.turn import Turn

NOW = datetime(2026, 11, 21, 14, 30, tzinfo=UTC)


class Calendar(CalendarEntity):
    def __init__(self, name: str, *events: CalendarEvent, fails: bool = False, slow: bool = False) -> None:
        self._attr_name = name
        self._events = events
        self._fails, self._slow = fails, slow

    @property
    def event(self) -> CalendarEvent | None:
        """Return nothing: the state does not matter here."""
        return None

    async def async_get_events(
        self, hass: HomeAssistant, start_date: datetime, end_date: datetime
    ) -> list[CalendarEvent]:
        """Return what overlaps the period."""
        if self._fails:
            raise HomeAssistantError("no")
        if self._slow:
            await asyncio.sleep(60)
        return [
            item
            for item in self._events
            if item.end_datetime_local > start_date and item.start_datetime_local < end_date
        ]


class ToDo(TodoListEntity):
    def __init__(self, name: str, *items: TodoItem) -> None:
        self._attr_name = name
        self._attr_todo_items = list(items)


def event(summary: str, days: float = -1.0, **fields: Any) -> CalendarEvent:
    """Return an event of an hour, so many days from now."""
    start = NOW + timedelta(days=days)
    return CalendarEvent(start=start, end=start + timedelta(hours=1), summary=summary, **fields)


def task(summary: str, **fields: Any) -> TodoItem:
    return TodoItem(summary=summary, uid=summary, **{"status": TodoItemStatus.NEEDS_ACTION} | fields)


async def add(hass: HomeAssistant, *entities: Calendar | ToDo, hidden: tuple[str, ...] = ()) -> None:
    assert await async_setup_component(hass, "calendar", {})
    assert await async_setup_component(hass, "todo", {})
    await hass.data[calendar.DATA_COMPONENT].async_add_entities(
        [item for item in entities if isinstance(item, Calendar)]
    )
    await hass.data[TODO_COMPONENT].async_add_entities([item for item in entities if isinstance(item, ToDo)])
    await hass.async_block_till_done()
    for entity_id in hass.states.async_entity_ids(("calendar", "todo")):
        async_expose_entity(hass, ASSISTANT, entity_id, entity_id not in hidden)


async def told(hass: HomeAssistant, turn: Turn) -> tuple[str, list[Any]] | None:
    """Return heading and lines of what a turn is told."""
    asked = ContextRequest(turn=turn, query=Query(text=turn.text, language=turn.language), tokens=1000)
    block = await CalendarContext(hass).async_block(asked)
    return (block.heading, [item.data for item in block.items]) if block else None
