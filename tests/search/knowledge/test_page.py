"""The page about documents shows what a model is sent, to the letter."""

from pathlib import Path

from homeassistant.core import HomeAssistant

from tests.docs.pages import FENCE, section
from tests.house import say, set_up
from tests.llm_server import LLMServer, text

MANUAL = "# Dishwasher\n\n## Salt\n\nSalt goes in when the lamp S is on.\n"


async def test_a_passage_is_told_as_the_page_shows_it(
    hass: HomeAssistant, llm_server: LLMServer, house: None, folder: Path
) -> None:
    Path(hass.config.path("configuration.yaml")).touch()
    (folder / "kitchen" / "dishwasher.md").write_text(MANUAL)
    await set_up(hass, llm_server)
    await hass.services.async_call("home_agent", "reload", blocking=True)
    llm_server.plan(text("When the lamp S is on."))
    await say(hass, "When does salt go into the dishwasher?")
    [shown] = [match[2].strip() for match in FENCE.finditer(section("KNOWLEDGE.md", "What the model receives"))]
    assert f"{shown}</house>" in llm_server.request.last_user
