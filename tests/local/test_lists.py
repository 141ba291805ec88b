"""Several items of one sentence, and what stands on a list, where there is no model."""

import asyncio
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.exceptions import HomeAssistantError
import pytest

from custom_components.home_agent.local.lists import items_in
from custom_components.home_agent.support.const import ASSISTANT
from tests.house import add_shopping_list, say, set_up, speech
from tests.local.conftest import MakeContext

SHOPPING = "todo.shopping_list"


@pytest.fixture
async def shopping_list(hass: HomeAssistant, home_agent: None) -> None:
    await add_shopping_list(hass, "milk")
    await hass.async_block_till_done()


async def _call(hass: HomeAssistant, service: str, **data: str) -> None:
    await hass.services.async_call("todo", service, {"entity_id": SHOPPING, **data}, blocking=True)


async def _listed(hass: HomeAssistant) -> list[str]:
    data = {"entity_id": SHOPPING}
    found: Any = await hass.services.async_call("todo", "get_items", data, blocking=True, return_response=True)
    return [row["summary"] for row in found[SHOPPING]["items"]]


@pytest.mark.parametrize(("said", "items"), [
    ("Eggs, oat milk and Bread", ["Eggs", "oat milk", "Bread"]),
    ("eggs, butter, and bread", ["eggs", "butter", "bread"]), ("eggs, eggs and butter", ["eggs", "butter"]),
    ("mac and cheese", []), ("milk, two litres", []), ("milk", []), ("eggs, butter and turn on the bed light", []),
    (", ".join(map(str, range(30))) + " and more", []),
])  # fmt: skip
def test_an_enumeration_has_commas_and_an_and(said: str, items: list[str]) -> None:
    assert items_in(said, "en") == items


@pytest.mark.usefixtures("shopping_list")
async def test_items_are_added_one_by_one_in_one_answer(hass: HomeAssistant) -> None:
    said = await say(hass, "add Eggs, oat milk and bread to the shopping list")
    assert speech(said) == "Added Eggs. Added oat milk. Added bread"
    assert await _listed(hass) == ["milk", "Eggs", "Oat milk", "Bread"]
    await say(hass, "add cheese, ham and unlock the front door to the shopping list")
    assert len(await _listed(hass)) == 4


@pytest.mark.usefixtures("shopping_list")
async def test_what_stands_on_a_list_is_read_and_what_is_done_is_not(hass: HomeAssistant) -> None:
    await _call(hass, "add_item", item="bread")
    for said in ("what's on my shopping list?", "please read out the shopping list", "Shopping list: what is on it"):
        heard = speech(await say(hass, said))
        assert (heard == "On the list Shopping list: milk, bread.") is ("what is on it" not in said)
    await _call(hass, "update_item", item="milk", status="completed")
    assert speech(await say(hass, "what is on the shopping list")) == "On the list Shopping list: bread."
    await _call(hass, "remove_item", item="bread")
    assert speech(await say(hass, "what is on the shopping list")) == "There is nothing on the list Shopping list."
    for said in (
        "what was on the shopping list", "what is on my grocery list", "what is on the shopping list tomorrow",
    ):  # fmt: skip
        assert "On the list" not in speech(await say(hass, said))


@pytest.mark.usefixtures("shopping_list")
async def test_a_list_is_read_to_who_may_know_it(hass: HomeAssistant, limited: MakeContext) -> None:
    said = "what's on my shopping list?"
    assert "milk" in speech(await say(hass, said, context=limited(SHOPPING)))
    assert "milk" not in speech(await say(hass, said, context=limited("light.bed_light")))
    async_expose_entity(hass, ASSISTANT, SHOPPING, False)
    await hass.async_block_till_done()
    assert "milk" not in speech(await say(hass, said))


@pytest.mark.usefixtures("demo_house")
@pytest.mark.parametrize("is_silent", [True, False])
async def test_a_list_that_cannot_be_read_is_told_and_not_waited_for(hass: HomeAssistant, is_silent: bool) -> None:
    await set_up(hass, profile={"tool_timeout": 1})
    await add_shopping_list(hass, "milk")

    async def fail(_call: ServiceCall) -> ServiceResponse:
        if is_silent:
            await asyncio.Event().wait()
        raise HomeAssistantError("milk is out")

    hass.services.async_register("todo", "get_items", fail, supports_response=SupportsResponse.ONLY)
    async with asyncio.timeout(10):
        answer = speech(await say(hass, "what's on my shopping list?"))
    assert answer == "That didn't work with Shopping list: Home Assistant reported an error."
