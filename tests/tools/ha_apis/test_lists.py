"""Home Assistant's tools for calendars and to-do lists know of no more than whoever asks may know."""

import json
from typing import Any

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import build_house, say, set_up
from tests.llm_server import LLMServer, text, tool_call
from tests.prompt.calendars import Calendar, ToDo, add, event, task

ASSIST = {"llm_apis": ["assist"], "native_tools": False}
EVENTS = ("calendar__get_events", "calendar", {"range": "week"})
ITEMS: tuple[str, str, dict[str, Any]] = ("todo__get_items", "todo_list", {})
NAMES = {"calendar": ("Family", "Diary"), "todo_list": ("Shopping", "Wishes")}


@pytest.fixture(autouse=True)
async def lists(hass: HomeAssistant, house: None) -> None:
    await build_house(hass)
    await add(
        hass,
        Calendar("Family", event("Concert", days=1)),
        Calendar("Diary", event("Surprise party", days=1)),
        ToDo("Shopping", task("Milk")),
        ToDo("Wishes", task("A bicycle")),
    )


async def result_of(
    hass: HomeAssistant, llm_server: LLMServer, tool: tuple[str, str, dict[str, Any]], name: str, **fields: Any
) -> dict[str, Any]:
    """Have the model ask a tool for one name; return the envelope."""
    llm_server.plan(tool_call(tool[0], {tool[1]: name, **tool[2]}), text("I see."))
    await say(hass, "please", **fields)
    found: dict[str, Any] = json.loads(llm_server.request.body["messages"][-1]["content"])
    return found


@pytest.mark.parametrize("tool", [EVENTS, ITEMS], ids=["events", "items"])
async def test_what_is_shared_is_read(
    hass: HomeAssistant, llm_server: LLMServer, tool: tuple[str, str, dict[str, Any]]
) -> None:
    await set_up(hass, llm_server, profile=ASSIST)
    assert (await result_of(hass, llm_server, tool, NAMES[tool[1]][1]))["success"] is True


@pytest.mark.parametrize("tool", [EVENTS, ITEMS], ids=["events", "items"])
@pytest.mark.parametrize("limited_by", ["list", "user"])
async def test_what_is_not_to_be_known_is_like_what_is_not_there(
    hass: HomeAssistant, llm_server: LLMServer, tool: tuple[str, str, dict[str, Any]], limited_by: str
) -> None:
    known = ["calendar.family", "todo.shopping"]
    options = {"allowed_entities": known} if limited_by == "list" else {}
    await set_up(hass, llm_server, profile=ASSIST, options=options)
    user = MockUser().add_to_hass(hass)
    if limited_by == "user":
        user.mock_policy({"entities": {"entity_ids": dict.fromkeys(known, True)}})
    else:
        user.mock_policy({"entities": True})
    context = Context(user_id=user.id)
    shown, hidden = NAMES[tool[1]]
    assert (await result_of(hass, llm_server, tool, shown, context=context))["success"] is True
    refused = await result_of(hass, llm_server, tool, hidden, context=context)
    missing = await result_of(hass, llm_server, tool, "Opera", context=context)
    assert (refused["success"], missing["success"]) == (False, False)
    assert refused["error"].replace(hidden, "_") == missing["error"].replace("Opera", "_")
    for sent in llm_server.requests:
        tools = json.dumps(sent.body["tools"])
        assert not any(name in tools for name in ("Diary", "Wishes"))
        assert not any(secret in sent.raw.decode() for secret in ("Surprise", "bicycle"))
