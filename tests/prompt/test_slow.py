"""A prompt that never ends: nobody waits for it, and Home Assistant does not stand still."""

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.flows.fields import async_check_settings, inherited
from custom_components.home_agent.prompt import template
from custom_components.home_agent.support.const import DOMAIN
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text

_LOOPS = "".join(f"{{% for {name} in range(99999) %}}" for name in "abc")
FOR_EVER = f"You are {{{{ user_name }}}}. {_LOOPS}{'{% endfor %}' * 3}"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up soon."""
    monkeypatch.setattr(template, "RENDER_TIMEOUT", 0.2)


@pytest.mark.parametrize("service", [True, False], ids=["placeholders", "plain"])
async def test_it_goes_out_as_it_was_written_and_is_tried_once(
    hass: HomeAssistant, house: None, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch, service: bool
) -> None:
    profile = {"use_default_prompt": False, "custom_prompt": FOR_EVER, "use_prompt_context_service": service}
    await set_up(hass, llm_server, profile=profile)
    llm_server.respond(lambda _body: text("Hello."))
    assert speech(await say(hass, "hello")) == "Hello."
    assert llm_server.request.body["messages"][0]["content"].startswith(FOR_EVER)
    assert ir.async_get(hass).async_get_issue(DOMAIN, "prompt_template_profile-1") is not None
    monkeypatch.setattr(template, "RENDER_TIMEOUT", 3600)
    assert speech(await say(hass, "hello")) == "Hello."


@pytest.mark.parametrize("key", ["custom_prompt", "prompt_additions"])
async def test_no_form_takes_it(hass: HomeAssistant, key: str) -> None:
    assert await async_check_settings(hass, inherited({key: FOR_EVER})) == (f"{key}_slow", {"seconds": "2"})
    assert (
        await async_check_settings(hass, inherited({key: "{% for a in range(9) %}{{ user_name }}{% endfor %}"})) is None
    )
