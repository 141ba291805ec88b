"""What a model is sent of the documents, to the letter, and who is told."""

from pathlib import Path

from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.docs.pages import FENCE, section
from tests.house import say, set_up
from tests.llm_server import LLMServer, text

MANUAL = "# Dishwasher\n\n## Salt\n\nSalt goes in when the lamp S is on.\n"


async def test_a_passage_is_as_shown(hass: HomeAssistant, llm_server: LLMServer, house: None, folder: Path) -> None:
    Path(hass.config.path("configuration.yaml")).touch()
    (folder / "kitchen" / "dishwasher.md").write_text(MANUAL)
    await set_up(hass, llm_server)
    await hass.services.async_call("home_agent", "reload", blocking=True)
    llm_server.plan(text("When the lamp S is on."))
    await say(hass, "When does salt go into the dishwasher?")
    [shown] = [match[2].strip() for match in FENCE.finditer(section("KNOWLEDGE.md", "What the model receives"))]
    assert f"{shown}</house>" in llm_server.request.last_user


@pytest.mark.parametrize(("documents_for", "who"), [
    ("everyone", {"administrator", "user", "limited", "device", "nobody"}), ("household", {"administrator", "user"}),
    ("admins", {"administrator"}), ("nobody", set()),
])  # fmt: skip
async def test_documents_are_told_to_whom_the_owner_says(
    hass: HomeAssistant, llm_server: LLMServer, house: None, folder: Path, documents_for: str, who: set[str]
) -> None:
    Path(hass.config.path("configuration.yaml")).touch()
    await set_up(
        hass, llm_server, options={"default_profile_settings": {"processing_config": {"documents_for": documents_for}}}
    )
    await hass.services.async_call("home_agent", "reload", blocking=True)
    llm_server.respond(lambda body: text("It is on the fridge."))
    told: set[str] = set()
    for name, policy in (("administrator", None), ("user", {"entities": True}), ("limited", {}), *NOBODIES):
        user = MockUser(name=name, is_owner=name == "administrator").add_to_hass(hass)
        if policy is not None:
            user.mock_policy(policy)
        known = (name, policy) not in NOBODIES
        device = "a device" if name == "device" else None
        await say(
            hass, "What is the password of the guest network?",
            context=Context(user_id=user.id if known else None), device_id=device,
        )  # fmt: skip
        if "sunflower-seven" in llm_server.request.raw.decode():
            told.add(name)
    assert told == who


NOBODIES = (("device", None), ("nobody", None))
