"""Whether something is a command, by Home Assistant's own sentences, and whether it is fulfilled."""

from collections.abc import Callable

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.languages.claims import parts_of
from custom_components.home_agent.local.commands import async_command
from custom_components.home_agent.turn.turn import Turn

pytestmark = pytest.mark.usefixtures("demo_house")

type MakeTurn = Callable[..., Turn]


@pytest.mark.parametrize(("language", "text", "fulfilled"), [
    ("en", "turn on the bed light", False), ("en", "turn off the bed light", True),
    ("en", "great, turn on the bed light", False), ("en", "turn on the bed light and tell me a joke", False),
    ("en", "turn off the bed light, turn on the bed light", False), ("de", "toll, schalte Bed Light ein", False),
    ("cs", "zapni Bed Light", False), ("fi", "sytytä Bed Light", False), ("hu", "kapcsold be a Bed Light", False),
    ("en", "is the bed light on?", None), ("en", "thanks", None), ("en", "", None),
])  # fmt: skip
async def test_commands(
    hass: HomeAssistant, make_turn: MakeTurn, language: str, text: str, fulfilled: bool | None
) -> None:
    turn = make_turn(text, language=language)
    command = await async_command(hass, turn, parts_of(text, language))
    assert (command.fulfilled if command else None) is fulfilled
    assert hass.states.get("light.bed_light").state == "off"  # type: ignore[union-attr]
