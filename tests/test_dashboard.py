"""A dashboard shows open questions and last actions, and answers and undoes, with what Home Assistant has."""

from pathlib import Path
import re
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.template import Template
from homeassistant.setup import async_setup_component
from homeassistant.util.yaml import parse_yaml
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from tests.house import build_house, say, set_up, state_of

PAGE = (Path(__file__).parents[1] / "docs" / "EXAMPLES.md").read_text(encoding="utf-8")
SENSORS = {"open_questions": "sensor.home_agent_open_questions", "last_action": "sensor.home_agent_last_action"}


def card() -> list[dict[str, Any]]:
    """Return the cards of the example."""
    section = PAGE.partition("## Questions and actions on a dashboard\n")[2]
    found = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert found is not None
    stack: Any = parse_yaml(found[1])
    assert stack["type"] == "vertical-stack"
    cards: list[dict[str, Any]] = stack["cards"]
    return cards


@pytest.fixture
async def entry(hass: HomeAssistant, house: None) -> MockConfigEntry:
    await build_house(hass)
    entry = await set_up(hass)
    registry = er.async_get(hass)
    for key, entity_id in SENSORS.items():
        found = registry.async_get_entity_id("sensor", "home_agent", f"{entry.entry_id}_{key}")
        assert found == entity_id
        assert registry.async_get(found).disabled_by is er.RegistryEntryDisabler.INTEGRATION  # type: ignore[union-attr]
        registry.async_update_entity(found, disabled_by=None)
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    return entry


def shown(hass: HomeAssistant) -> tuple[str, str]:
    """Return what the two texts of the card show."""
    first, _, last = card()
    return tuple(str(Template(item["content"], hass).async_render(parse_result=False)) for item in (first, last))  # type: ignore[return-value]


async def tap(hass: HomeAssistant, name: str, context: Context) -> None:
    [button] = [item for item in card()[1]["cards"] if item["name"] == name]
    domain, _, action = button["tap_action"]["perform_action"].partition(".")
    data = button["tap_action"].get("data", {})
    await hass.services.async_call(domain, action, data, blocking=True, context=context)
    await hass.async_block_till_done()


@pytest.mark.usefixtures("entry")
async def test_the_card_answers_and_undoes(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    alice = Context(user_id=hass_admin_user.id)
    assert shown(hass) == ("–", "")
    await say(hass, "unlock the front door", context=alice)
    await hass.async_block_till_done()
    assert state_of(hass, SENSORS["open_questions"]) == "1"
    assert shown(hass)[0] == "**Home Agent:** Front Door is locked. Unlock it?"
    await tap(hass, "No", alice)
    assert state_of(hass, SENSORS["open_questions"]) == "0"
    assert state_of(hass, "lock.front_door") == "locked"

    await say(hass, "unlock the front door", context=alice)
    await tap(hass, "Yes", alice)
    assert state_of(hass, "lock.front_door") == "unlocked"
    assert shown(hass)[0] == "–"
    assert "Home Agent, lock.unlock, Front Door" in shown(hass)[1]

    await hass.services.async_call("light", "turn_off", {"entity_id": "light.bed_light"}, blocking=True)
    await say(hass, "turn on the bed light", context=Context(user_id=hass_admin_user.id))
    await hass.async_block_till_done()
    assert state_of(hass, "light.bed_light") == "on"
    await tap(hass, "Undo", Context(user_id=hass_admin_user.id))
    assert state_of(hass, "light.bed_light") == "off"
    assert "Bed Light ↶" in shown(hass)[1]


@pytest.mark.usefixtures("entry")
async def test_the_card_names_what_home_assistant_handled_itself(hass: HomeAssistant) -> None:
    trigger = {"trigger": "conversation", "command": "ring the bell"}
    config = {"alias": "Ring", "trigger": trigger, "action": [{"set_conversation_response": "Ding."}]}
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    await say(hass, "ring the bell")
    await hass.async_block_till_done()
    assert shown(hass)[1].endswith(": Home Agent, trigger_sentence")


@pytest.mark.usefixtures("entry")
async def test_a_tap_answers_only_what_is_meant(
    hass: HomeAssistant, hass_admin_user: MockUser, hass_read_only_user: MockUser
) -> None:
    alice = Context(user_id=hass_admin_user.id)
    with pytest.raises(ServiceValidationError, match="There is nothing to confirm"):
        await tap(hass, "Yes", alice)
    await say(hass, "unlock the front door", context=alice)
    with pytest.raises(ServiceValidationError, match="There is nothing to confirm"):
        await tap(hass, "Yes", Context(user_id=hass_read_only_user.id))
    await say(hass, "unlock the front door", context=alice)  # in another conversation
    with pytest.raises(ServiceValidationError, match="More than one question is open"):
        await tap(hass, "Yes", alice)
    assert state_of(hass, "lock.front_door") == "locked"
