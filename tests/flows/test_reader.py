"""What the server puts into a form is in the language of the person who has it open."""

from homeassistant.components.frontend.storage import async_user_store
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from tests.house import set_up

pytestmark = pytest.mark.usefixtures("demo_house")


async def _origin(
    hass: HomeAssistant, client: ClientSessionGenerator, heard: str | None, *, language: object = None, user: MockUser
) -> str:
    """Open an agent's form as a browser does; return what it says of where the value of a field comes from."""
    assert await async_setup_component(hass, "config", {})
    entry = await set_up(hass)
    if language is not None:
        await (await async_user_store(hass, user.id)).async_set_item("language", language)
    headers = {} if heard is None else {"Accept-Language": heard}
    form = {"handler": [entry.entry_id, "profile"], "subentry_id": "profile-1"}
    response = await (await client()).post("/api/config/config_entries/subentries/flow", json=form, headers=headers)
    shown = await response.json()
    return str(shown["description_placeholders"]["speech_from"])


@pytest.mark.parametrize(("heard", "language", "told"), [
    ("en-US", {"language": "de", "number_format": "language"}, "Eingebaut"),
    ("de-DE,de;q=0.9,en;q=0.8", None, "Eingebaut"),
    ("de-DE", {"language": "en"}, "Built in"),
    ("de", {"number_format": "comma"}, "Eingebaut"),
    ("xx", {"language": "tlh"}, "Built in"),
    ("*", ["de"], "Built in"),
    ("", {"language": 7}, "Built in"),
    (None, None, "Built in"),
])  # fmt: skip
async def test_it_is_that_of_the_profile_then_of_the_browser_then_of_the_home(
    hass: HomeAssistant,
    hass_client: ClientSessionGenerator,
    hass_admin_user: MockUser,
    heard: str | None,
    language: object,
    told: str,
) -> None:
    assert await _origin(hass, hass_client, heard, language=language, user=hass_admin_user) == told


async def test_the_home_has_the_last_word(
    hass: HomeAssistant, hass_client: ClientSessionGenerator, hass_admin_user: MockUser
) -> None:
    hass.config.language = "de"
    assert await _origin(hass, hass_client, "xx", user=hass_admin_user) == "Eingebaut"
    hass.config.language = "en"
