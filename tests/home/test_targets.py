"""Which entities a model means."""

import asyncio
from collections.abc import Callable
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er, floor_registry as fr
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.home.targets import Targets
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.support.errors import ToolRefusal

type Find = Callable[..., Any]


@pytest.fixture
def add(hass: HomeAssistant) -> Callable[..., str]:
    """Return a function that registers an entity."""

    def add(
        entity_id: str, name: str, area: str | None = None, *, aliases: tuple[str, ...] = (), exposed: bool = True
    ) -> str:
        domain, object_id = entity_id.split(".")
        registry = er.async_get(hass)
        registry.async_get_or_create(domain, "test", object_id, suggested_object_id=object_id, original_name=name)
        changes: dict[str, Any] = {"aliases": [er.COMPUTED_NAME, *aliases]}
        if area:
            changes["area_id"] = ar.async_get(hass).async_get_or_create(area).id
        registry.async_update_entity(entity_id, **changes)
        async_expose_entity(hass, ASSISTANT, entity_id, exposed)
        hass.states.async_set(entity_id, "on", {"friendly_name": name})
        return entity_id

    return add


@pytest.fixture
def house(hass: HomeAssistant, house: None, add: Callable[..., str]) -> None:
    """A few rooms."""
    add("light.kitchen_ceiling", "Kitchen Ceiling", "Kitchen", aliases=("big lamp", "Große Leuchte"))
    add("light.kitchen_table", "Table", "Kitchen")
    add("light.office_table", "Table", "Office")
    add("switch.kitchen_kettle", "Kettle", "Kitchen")
    add("lock.kitchen_door", "Back door", "Kitchen")
    add("cover.kitchen_blind", "Blind", "Kitchen")
    add("sensor.kitchen_temperature", "Kettle", "Kitchen")
    add("light.kitchen_secret", "Secret lamp", "Kitchen", exposed=False)
    floor = fr.async_get(hass).async_create("Ground floor", aliases={"downstairs"})
    areas = ar.async_get(hass)
    kitchen = areas.async_get_area_by_name("Kitchen")
    assert kitchen is not None
    areas.async_update(kitchen.id, floor_id=floor.floor_id, aliases={"cooking place"})
    fr.async_get(hass).async_create("Attic")


KITCHEN_READ = {
    "light.kitchen_ceiling", "light.kitchen_table", "switch.kitchen_kettle", "lock.kitchen_door", "cover.kitchen_blind",
    "sensor.kitchen_temperature",
}  # fmt: skip
KITCHEN_PLAIN = {"light.kitchen_ceiling", "light.kitchen_table", "switch.kitchen_kettle"}


@pytest.fixture
def read(hass: HomeAssistant, home: Home) -> Find:
    """Return a function that finds for reading."""

    async def find(text: str, **fields: Any) -> set[str]:
        return set((await Targets(hass=hass, home=home, area_id=None, **fields).async_find(text)).entity_ids)

    return find


@pytest.fixture
def steer(hass: HomeAssistant, home: Home) -> Find:
    """Return a function that finds for control; everything but sensors can do it."""

    async def find(text: str, area_id: str | None = None, **fields: Any) -> set[str]:
        def able(entity_id: str) -> bool:
            return not entity_id.startswith("sensor.")

        return set(
            (await Targets(hass=hass, home=home, area_id=area_id, able=able, **fields).async_find(text)).entity_ids
        )

    return find


@pytest.mark.parametrize(("text", "expected"), [
    ("light.kitchen_ceiling", {"light.kitchen_ceiling"}), (" Light.Kitchen_Ceiling ", {"light.kitchen_ceiling"}),
    ("kitchen ceiling", {"light.kitchen_ceiling"}), ("BIG  lamp", {"light.kitchen_ceiling"}),
    ("GROSSE leuchte", {"light.kitchen_ceiling"}), ("Table", {"light.kitchen_table", "light.office_table"}),
    ("light.*", {"light.kitchen_ceiling", "light.kitchen_table", "light.office_table"}),
    ("*.kitchen_t*", {"light.kitchen_table", "sensor.kitchen_temperature"}), ("*kettle*", {"switch.kitchen_kettle"}),
    ("light.kitchen_?able", {"light.kitchen_table"}),
    ("light", {"light.kitchen_ceiling", "light.kitchen_table", "light.office_table"}), ("Kitchen", KITCHEN_READ),
    ("cooking place", KITCHEN_READ), ("ground_floor", KITCHEN_READ), ("Downstairs", KITCHEN_READ),
    ("light.kitchen", {"light.kitchen_ceiling", "light.kitchen_table"}), ("lock.back_door", {"lock.kitchen_door"}),
    ("*", KITCHEN_READ | {"light.office_table"}), ("all", KITCHEN_READ | {"light.office_table"}),
])  # fmt: skip
async def test_found_for_reading(read: Find, text: str, expected: set[str]) -> None:
    assert await read(text) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("kettle", {"switch.kitchen_kettle"}),
    ("light.*", {"light.kitchen_ceiling", "light.kitchen_table", "light.office_table"}),
    ("lock.*", {"lock.kitchen_door"}), ("*.kitchen*", KITCHEN_PLAIN), ("*kitchen*", KITCHEN_PLAIN),
    ("kitchen", KITCHEN_PLAIN), ("downstairs", KITCHEN_PLAIN), ("cover.kitchen", {"cover.kitchen_blind"}),
])  # fmt: skip
async def test_found_for_control(steer: Find, text: str, expected: set[str]) -> None:
    assert await steer(text) == expected


async def test_setting_a_value_in_an_area_reaches_every_domain(steer: Find) -> None:
    assert "cover.kitchen_blind" in await steer("kitchen", plain_only=False)


@pytest.mark.parametrize("text", ["all", "*", "*.*"])
async def test_everything_cannot_be_controlled_at_once(steer: Find, text: str) -> None:
    with pytest.raises(ToolRefusal, match="a domain"):
        await steer(text)


async def test_a_domain_alone_is_not_a_target_of_control(steer: Find) -> None:
    with pytest.raises(ToolRefusal, match="No exposed entity matches 'light'"):
        await steer("light")


async def test_of_two_the_one_in_the_area_of_the_device_is_meant(hass: HomeAssistant, steer: Find) -> None:
    assert await steer("table", area_id="office") == {"light.office_table"}
    with pytest.raises(ToolRefusal, match=r"light\.kitchen_table, light\.office_table"):
        await steer("table", area_id="bathroom")
    with pytest.raises(ToolRefusal, match="Several entities are called 'table'"):
        await steer("table")


@pytest.mark.parametrize("text", ["light.kitchen_secret", "Secret lamp", "light.kitchen_secre*", "light.secret_lamp"])
async def test_unexposed_and_unknown_get_the_same_answer(hass: HomeAssistant, read: Find, text: str) -> None:
    with pytest.raises(ToolRefusal) as unexposed:
        await read(text)
    er.async_get(hass).async_remove("light.kitchen_secret")
    hass.states.async_remove("light.kitchen_secret")
    await hass.async_block_till_done()
    with pytest.raises(ToolRefusal) as unknown:
        await read(text)
    assert str(unexposed.value) == str(unknown.value)
    assert "kitchen_secret (" not in str(unexposed.value)


async def test_near_names_are_offered(read: Find) -> None:
    with pytest.raises(
        ToolRefusal, match=r"'light\.kitchen_cieling'\. Did you mean Kitchen Ceiling \(light\.kitchen_ceil"
    ):
        await read("light.kitchen_cieling")
    with pytest.raises(ToolRefusal, match=r"Did you mean Back door \(lock\.kitchen_door\)"):
        await read("back dor")


@pytest.mark.parametrize("text", ["Attic", "zzz", "light.", "...", "weather.*"])
async def test_nothing_there(read: Find, text: str) -> None:
    with pytest.raises(ToolRefusal, match="No exposed entity matches"):
        await read(text)


async def test_exposure_that_was_taken_back_counts_at_once(hass: HomeAssistant, home: Home, read: Find) -> None:
    await home.async_get()
    registry = er.async_get(hass)
    # behind the listener's back, as it is while a new snapshot is still being read
    registry.async_update_entity_options("light.kitchen_table", ASSISTANT, {"should_expose": False})
    assert await read("light.*") == {"light.kitchen_ceiling", "light.office_table"}
    assert await read("table") == {"light.office_table"}
    assert "light.kitchen_table" not in await read("kitchen")
    with pytest.raises(ToolRefusal) as refused:
        await read("light.kitchen_table")
    assert "(light.kitchen_table)" not in str(refused.value)


async def test_who_may_not_read_it_is_neither_given_nor_told_of_it(hass: HomeAssistant, read: Find) -> None:
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.kitchen_table": True, "sensor.kitchen_temperature": True}}})
    for text in ("light.*", "table"):
        assert await read(text, user=user) == {"light.kitchen_table"}
    assert await read("kitchen", user=user) == {"light.kitchen_table", "sensor.kitchen_temperature"}
    assert await read("*", user=user) == {"light.kitchen_table", "sensor.kitchen_temperature"}
    for text in ("baack door", "lock.*"):
        with pytest.raises(ToolRefusal, match="No exposed entity matches") as refused:
            await read(text, user=user)
        assert "kitchen_door" not in str(refused.value)


async def test_what_was_named_and_may_be_read_stays_for_the_policy_to_refuse(hass: HomeAssistant, read: Find) -> None:
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"all": {"read": True}}})
    assert await read("back door", user=user) == await read("lock.kitchen_door", user=user) == {"lock.kitchen_door"}


async def test_what_was_named_and_may_not_be_known_is_an_unknown_name(hass: HomeAssistant, read: Find) -> None:
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.kitchen_table": True}}})
    for text in ("back door", "lock.kitchen_door"):
        with pytest.raises(ToolRefusal) as refused:
            await read(text, user=user)
        assert str(refused.value).startswith(f"No exposed entity matches '{text}'.")


async def test_of_two_with_one_name_the_one_that_may_be_told(hass: HomeAssistant, home: Home) -> None:
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.office_table": True}}})
    targets = Targets(hass=hass, home=home, area_id=None, able=lambda _: True, user=user)
    assert (await targets.async_find("Table")).entity_ids == ("light.office_table",)


async def test_long_work_lets_the_event_loop_run(hass: HomeAssistant, home: Home, read: Find) -> None:
    assert await async_setup_component(hass, "homeassistant", {})
    for number in range(5000):
        async_expose_entity(hass, ASSISTANT, f"sensor.value_{number}", True)
        hass.states.async_set(f"sensor.value_{number}", "1", {"friendly_name": f"Value number {number}"})
    turns_of_the_loop = 0

    async def count() -> None:
        nonlocal turns_of_the_loop
        while True:
            await asyncio.sleep(0)
            turns_of_the_loop += 1

    counter = asyncio.create_task(count())
    await home.async_get()
    assert await read("value number 4711") == {"sensor.value_4711"}
    assert len(await read("sensor.value*")) == 5000
    with pytest.raises(ToolRefusal, match="Value number"):
        await read("walue nummber 4711")
    counter.cancel()
    assert turns_of_the_loop > 5  # work in one piece would leave it one or two


async def test_a_wildcard_longer_than_any_id_is_unknown(read: Find) -> None:
    with pytest.raises(ToolRefusal):
        await read("light." + "([{<" * 25_000)
