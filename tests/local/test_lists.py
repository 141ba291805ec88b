"""Several items of one sentence, and what stands on a list, where there is no model."""

import asyncio
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.exceptions import HomeAssistantError
import pytest

from custom_components.home_agent.languages.enumerations import is_denied, items_in
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
    ("milk and bread", ["milk", "bread"]), ("milk, two litres", []), ("milk and turn on the bed light", []), ("milk", []), ("eggs, butter and turn on the bed light", []),
    (", ".join(map(str, range(30))) + " and more", []),
])  # fmt: skip
def test_an_enumeration_has_an_and(said: str, items: list[str]) -> None:
    assert items_in(said, "en") == items


@pytest.mark.parametrize(("language", "two"), [
    ("en", "milk and bread"), ("de", "Milch und Brot"), ("es", "leche y pan"), ("fr", "lait et pain"), ("it", "latte e pane"),
    ("nl", "melk en brood"), ("pl", "mleko i chleb"),
])  # fmt: skip
def test_two_things_are_two_items(language: str, two: str) -> None:
    first, _, last = two.split()
    assert items_in(two, language) == [first, last]


@pytest.mark.parametrize(("language", "said", "denied"), [
    ("en", "add no milk to the shopping list", True), ("en", "put everything but milk on the shopping list", True),
    ("en", "put nothing on the shopping list", True), ("en", "add no-sugar cola to the shopping list", False),
    ("en", "add milk to the list Not today", False), ("en", "add notebooks and buttons", False),
    ("de", "setz keine Milch auf die Einkaufsliste", True), ("de", "Milch muss nicht auf die Einkaufsliste", True),
    ("de", "setze Cola ohne Zucker auf die Einkaufsliste", False), ("es", "añade leche no a la lista de la compra", True),
    ("fr", "ajoute pas de lait", True), ("fr", "mets pas de lait sur la liste", True), ("it", "aggiungi niente latte", True),
    ("nl", "zet geen melk op de lijst", True), ("nl", "zet melk niet op de lijst", True), ("nl", "zet niets op de lijst", True),
    ("nl", "voeg geen melk toe", True), ("pl", "dodaj nie mleko do listy", True), ("pl", "dodaj mleko do listy", False),
])  # fmt: skip
def test_what_is_not_to_be_put_on_a_list(language: str, said: str, denied: bool) -> None:
    assert is_denied(said, language, ["Not today"]) is denied


@pytest.mark.usefixtures("shopping_list")
async def test_what_is_denied_is_not_added_and_two_things_are_two_items(hass: HomeAssistant) -> None:
    for said in (
        "add no eggs to the shopping list", "put not eggs on the shopping list", "put nothing on the shopping list",
        "put everything but eggs on the shopping list", "add no eggs and bread to the shopping list",
        "add eggs, bread and not butter to the shopping list",
    ):  # fmt: skip
        heard = speech(await say(hass, said))
        assert heard
        assert "Added" not in heard
        assert await _listed(hass) == ["milk"]
    assert speech(await say(hass, "add eggs and bread to the shopping list")) == "Added eggs. Added bread"
    assert await _listed(hass) == ["milk", "Eggs", "Bread"]


@pytest.mark.parametrize(("language", "said"), [
    ("de", "setz {} nicht auf {}"), ("de", "setz keine {} auf {}"), ("de", "{} muss nicht auf {}"), ("de", "setz nichts auf {}"),
    ("nl", "zet geen {} op {}"), ("nl", "zet {} niet op {}"), ("nl", "zet niets op {}"), ("fr", "ajoute pas de {} à {}"),
    ("fr", "mets pas de {} sur {}"), ("es", "añade {} no a {}"), ("it", "aggiungi niente {} a {}"), ("pl", "dodaj nie {} do {}"),
])  # fmt: skip
@pytest.mark.usefixtures("shopping_list")
async def test_what_is_denied_in_other_languages_is_not_added(hass: HomeAssistant, language: str, said: str) -> None:
    words = ("Kiwis", "Shopping list") if said.count("{}") > 1 else ("Shopping list",)
    assert speech(await say(hass, said.format(*words), language=language))
    assert await _listed(hass) == ["milk"]


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
