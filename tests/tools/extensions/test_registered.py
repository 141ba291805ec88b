"""Extensions of other integrations, and the Light Schema that is derived from them."""

from dataclasses import replace
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.util.json import JsonValueType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent import async_register_extension
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.tools.extensions.extension import ExtensionTool
from custom_components.home_agent.tools.extensions.extensions import NO_USER, Extensions
from tests.extensions import LIGHT_SCHEMA, GetWorkoutToday, Kitchen, chefbyte, coachbyte
from tests.house import set_up
from tests.policy.effects.notes import WriteNote
from tests.tools.custom.conftest import issues

NO_SHIPPED = Profile(subentry_id="profile-1", extensions=("ChefByte", "CoachByte"))


def extensions_of(entry: MockConfigEntry) -> Extensions:
    found: Extensions = entry.runtime_data.extensions
    return found


async def test_the_light_schema_byte_for_byte(hass: HomeAssistant) -> None:
    async_register_extension(hass, coachbyte())
    entry = await set_up(hass)
    async_register_extension(hass, chefbyte(Kitchen()))  # whether before or after
    extensions = extensions_of(entry)
    assert await extensions.async_light_schema(NO_SHIPPED, NO_USER) == LIGHT_SCHEMA
    [chef, coach] = await extensions.async_of(NO_SHIPPED, NO_USER)
    assert chef.summary == "Manage kitchen inventory and meal planning for the user."
    assert [tool.name for tool in chef.tools] == ["CHEFBYTE_UPDATE_ITEM", "CHEFBYTE_GET_INVENTORY"]
    update = chef.tools[0]
    assert (update.summary, update.example) == ("Updates a single item quantity and unit.", "Set milk to 1 gallon.")
    assert update.notes == "Idempotent; validates unit compatibility."
    assert update.description == f"{update.summary}\n{update.example}\n{update.notes}"
    assert coach.profile_id == ""


async def test_it_stays_while_the_entry_is_loaded_anew_until_it_is_taken_back(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    take_back = async_register_extension(hass, chefbyte(Kitchen()))
    async_register_extension(hass, coachbyte())
    await hass.config_entries.async_reload(entry.entry_id)
    await hass.async_block_till_done()
    assert await extensions_of(entry).async_light_schema(NO_SHIPPED, NO_USER) == LIGHT_SCHEMA
    take_back()
    take_back()
    left = await extensions_of(entry).async_light_schema(NO_SHIPPED, NO_USER)
    assert left == LIGHT_SCHEMA.partition("\n\n")[2]
    async_register_extension(hass, chefbyte(Kitchen()))  # what is offered next is not taken for what was taken back
    assert await extensions_of(entry).async_light_schema(NO_SHIPPED, NO_USER) == LIGHT_SCHEMA


TOOLS = chefbyte(Kitchen()).tools


class Odd(GetWorkoutToday):
    """Reads the plan, with words that are no text."""

    description: Any = 7


@pytest.mark.parametrize(("fields", "reason"), [
    (
        {"name": "Chef—Byte"},
        (
            "Chef—Byte is not a valid name of an extension. Use up to 40 letters, digits, spaces, dots, hyphens and underscores, "
            "starting with a letter or a digit."
        ),
    ),
    (
        {"prompt": " \n\t\n"},
        "The prompt of ChefByte is empty. Its first line has to say in one sentence what the extension is for.",
    ),
    (
        {"tools": coachbyte().tools},
        (
            "COACHBYTE_GET_WORKOUT_TODAY is not a valid name of a tool here. It has to be CHEFBYTE_GET_, CHEFBYTE_UPDATE_ "
            "or CHEFBYTE_ACTION_ and a name in capital letters, digits and _."
        ),
    ),
    ({"tools": ()}, "ChefByte has no tools."),
    ({"tools": (TOOLS[0], TOOLS[0])}, "There are two tools called CHEFBYTE_UPDATE_ITEM."),
    (
        {"prompt": None},
        (
            "ChefByte could not be read, because of an error in the integration that offers it: AttributeError. "
            "The log says where."
        ),
    ),
    (
        {"name": "CoachByte", "tools": (Odd(),)},
        (
            "CoachByte could not be read, because of an error in the integration that offers it: AttributeError. "
            "The log says where."
        ),
    ),
])  # fmt: skip
async def test_an_invalid_one_is_refused_alone(hass: HomeAssistant, fields: dict[str, Any], reason: str) -> None:
    """And says why, until it is taken back."""
    entry = await set_up(hass)
    wrong = replace(chefbyte(Kitchen()), **fields)
    take_back = async_register_extension(hass, wrong)
    other = coachbyte() if wrong.name != "CoachByte" else chefbyte(Kitchen())
    async_register_extension(hass, other)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert issues(hass)["extension_wrong"] == {"name": wrong.name, "reason": reason}
    assert [one.name for one in await extensions_of(entry).async_of(NO_SHIPPED, NO_USER)] == [other.name]
    take_back()
    await hass.async_block_till_done(wait_background_tasks=True)
    assert "extension_wrong" not in issues(hass)
    await hass.config_entries.async_unload(entry.entry_id)
    async_register_extension(hass, wrong)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert "extension_wrong" not in issues(hass)  # nobody looks at it


async def test_a_profile_routes_to_those_it_names(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    async_register_extension(hass, chefbyte(Kitchen()))
    async_register_extension(hass, coachbyte())

    async def names(**settings: Any) -> list[str]:
        profile = replace(NO_SHIPPED, **settings)
        return [extension.name for extension in await extensions_of(entry).async_of(profile, NO_USER)]

    assert await names(extensions=("coachbyte",)) == ["CoachByte"]
    assert await names(extensions=()) == []
    assert await names(never_offer=("chefbyte_update_*",)) == ["ChefByte", "CoachByte"]
    assert await names(never_offer=("CHEFBYTE_*",)) == ["CoachByte"]
    assert {"ChefByte", "CoachByte"} <= {*await names(extensions=("all",))}


class SaysMore(WriteNote):
    """Has words of its own for after a yes."""

    @override
    def answer(self, result: JsonValueType) -> str:
        return f"Well done: {result}"


def test_an_alias_says_after_a_yes_what_its_tool_says() -> None:
    alias = ExtensionTool(SaysMore(), name="COACH_TODAY", summary="Today.", example="Today?")
    assert alias.answer("push-ups") == "Well done: push-ups"
