"""What is indexed about an entity."""

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    floor_registry as fr,
    label_registry as lr,
)
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.search.entity_documents import EntityDocument, async_entity_documents
from custom_components.home_agent.support.const import ASSISTANT

LAMP = {"friendly_name": "Desk Lamp", "supported_color_modes": ["color_temp", "hs"]}


async def a_lamp(hass: HomeAssistant) -> str:
    """Register a dimmable lamp with everything that a registry can know."""
    assert await async_setup_component(hass, "homeassistant", {})
    entry = MockConfigEntry()
    entry.add_to_hass(hass)
    floor = fr.async_get(hass).async_create("First floor", aliases={"Upstairs"})
    area = ar.async_get(hass).async_create("Study", aliases={"Office"}, floor_id=floor.floor_id)
    label = lr.async_get(hass).async_create("Cosy")
    device = dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id, identifiers={("test", "1")}, name="Desk", manufacturer="Signify", model="Hue Go"
    )
    dr.async_get(hass).async_update_device(device.id, area_id=area.id)
    registry = er.async_get(hass)
    entity_id = registry.async_get_or_create(
        "light", "test", "1", suggested_object_id="desk_lamp", device_id=device.id, original_name="Desk Lamp"
    ).entity_id
    registry.async_update_entity(entity_id, aliases=[er.COMPUTED_NAME, "Reading light"], labels={label.label_id})
    hass.states.async_set(entity_id, "on", LAMP | {"brightness": 3})
    async_expose_entity(hass, ASSISTANT, entity_id, True)
    return entity_id


async def documents_of(hass: HomeAssistant) -> dict[str, EntityDocument]:
    """Return the documents of the exposed home as it is now."""
    entry = MockConfigEntry()
    entry.add_to_hass(hass)
    return await async_entity_documents(hass, await Home(hass, entry).async_get())


async def test_a_document_says_what_the_registries_know(hass: HomeAssistant) -> None:
    entity_id = await a_lamp(hass)
    document = (await documents_of(hass))[entity_id]
    assert {"Desk Lamp", "Reading light"} <= set(document.names)
    assert (document.area_names, document.floor_names) == (("Study", "Office"), ("First floor", "Upstairs"))
    assert (document.device_name, document.product, document.labels) == ("Desk", ("Signify", "Hue Go"), ("Cosy",))
    assert document.abilities == ("brightness", "color temperature", "color")
    assert document.is_primary


async def test_a_state_change_leaves_the_digest(hass: HomeAssistant) -> None:
    entity_id = await a_lamp(hass)
    before = (await documents_of(hass))[entity_id].document()
    hass.states.async_set(entity_id, "off", LAMP | {"brightness": None})
    assert (await documents_of(hass))[entity_id].document() == before


async def test_an_alias_changes_the_digest(hass: HomeAssistant) -> None:
    entity_id = await a_lamp(hass)
    before = (await documents_of(hass))[entity_id].document()
    er.async_get(hass).async_update_entity(entity_id, aliases=["Moon"])
    assert (await documents_of(hass))[entity_id].document().digest != before.digest
