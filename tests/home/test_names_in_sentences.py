"""Which entities a sentence names, in whatever form."""

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.home.mentions import async_mentioned
from custom_components.home_agent.home.snapshot import Home, HomeEntity, HomeSnapshot
from custom_components.home_agent.support.const import DOMAIN


def house(hass: HomeAssistant, names: list[str]) -> Home:
    """Return a home of these names."""
    home = Home(hass, MockConfigEntry(domain=DOMAIN))
    entities = {f"light.n{n}": HomeEntity(f"light.n{n}", (name,), None) for n, name in enumerate(names)}
    home._snapshot = HomeSnapshot(entities)
    return home


@pytest.mark.parametrize(
    ("names", "text", "found"),
    [
        (["Kitchen light", "Light"], "The kitchen light is on.", [0]),
        (["Kitchen light", "Bed light"], "Both the bed light and the kitchen light are on", [0, 1]),
        (["Front door"], "The door is locked", []),
        (["TV", "Tele"], "La tele y el TV", [0, 1]),
        (["Vchodové dveře"], "u vchodových dveří", [0]),
        (["Autotallin ovi"], "suljin autotallin oven", [0]),
        (["Etuovi"], "lukitsin etuoven", [0]),
        (["Garázskapu"], "becsuktam a garázskaput", [0]),
        (["Ön kapı"], "Ön kapıyı kilitledim", [0]),
        (["寝室のライト", "テレビ"], "テレビと寝室のライトを消しました", [0, 1]),
        (["前门"], "前门已锁上", [0]),
        (["Porte d'entrée"], "La porte d’entrée est fermée", [0]),
        (["Lamp", "Lamp"], "the lamp is on", [0, 1]),
        (["Lamp 1", "Lamp 2"], "lamp 2 is on", [1]),
        (["Lamp"], "", []),
    ],
)
async def test_names_in_a_sentence(hass: HomeAssistant, names: list[str], text: str, found: list[int]) -> None:
    assert sorted(await async_mentioned(house(hass, names), text)) == [f"light.n{n}" for n in found]
