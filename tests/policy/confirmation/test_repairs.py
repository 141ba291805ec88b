"""Answers in Repairs, which are for administrators."""

from datetime import timedelta
from http import HTTPStatus
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.home_agent.support.const import DOMAIN
from tests.house import set_up
from tests.llm_server import LLMServer

from .conftest import QUESTION, process, state_of


async def fix(client: Any, issue_id: str) -> tuple[int, dict[str, Any]]:
    answer = await client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": issue_id})
    return answer.status, await answer.json() if answer.status == HTTPStatus.OK else {}


async def go_on(client: Any, flow_id: str, **data: Any) -> dict[str, Any]:
    answer = await client.post(f"/api/repairs/issues/fix/{flow_id}", json=data)
    assert answer.status == HTTPStatus.OK, await answer.text()
    return dict(await answer.json())


async def ask_in_repairs(hass: HomeAssistant, server: LLMServer, context: Context | None = None) -> str:
    """Have a question put in Repairs; return its issue."""
    assert await async_setup_component(hass, "repairs", {})
    await process(hass, server, "repairs", context=context)
    [(_, issue_id)] = [key for key in ir.async_get(hass).issues if key[0] == DOMAIN]
    return issue_id


async def test_repairs_shows_the_question_to_administrators_and_runs_it(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    issue = ir.async_get(hass).async_get_issue(DOMAIN, issue_id)
    assert issue is not None
    assert "Front Door" not in str(issue)  # everybody may list issues
    client = await hass_client()
    _, form = await fix(client, issue_id)
    assert (form["type"], form["menu_options"]) == ("menu", ["confirm", "reject"])
    assert form["description_placeholders"] == {"question": QUESTION}
    assert state_of(hass) == "locked"
    done = await go_on(client, form["flow_id"], next_step_id="confirm")
    assert done["type"] == "create_entry"
    assert state_of(hass) == "unlocked"
    assert not ir.async_get(hass).async_get_issue(DOMAIN, issue_id)


@pytest.mark.usefixtures("socket_enabled")
async def test_repairs_rejects(hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    assert (await go_on(client, form["flow_id"], next_step_id="reject"))["type"] == "create_entry"
    assert state_of(hass) == "locked"
    assert not ir.async_get(hass).async_get_issue(DOMAIN, issue_id)


@pytest.mark.usefixtures("socket_enabled")
async def test_repairs_is_for_administrators(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, hass_read_only_access_token: str
) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    status, _ = await fix(await hass_client(hass_read_only_access_token), issue_id)
    assert status == HTTPStatus.UNAUTHORIZED


async def test_repairs_asks_for_the_pin(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    form = await go_on(client, form["flow_id"], next_step_id="confirm")
    assert (form["step_id"], form["errors"]) == ("confirm", {})
    for _ in range(2):
        form = await go_on(client, form["flow_id"], pin="1234")
        assert form["errors"] == {"pin": "pin_wrong"}
    assert (await go_on(client, form["flow_id"], pin="4711"))["type"] == "create_entry"
    assert state_of(hass) == "unlocked"


async def test_repairs_and_too_many_wrong_pins(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server, options={"pins": {"unlock": "4711"}})
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    form = await go_on(client, form["flow_id"], next_step_id="confirm")
    ends = [await go_on(client, form["flow_id"], pin="1234") for _ in range(3)]
    assert (ends[-1]["type"], ends[-1]["reason"]) == ("abort", "over")
    assert state_of(hass) == "locked"


@pytest.mark.parametrize("step", ["confirm", "reject", None])
async def test_repairs_of_what_is_over(
    hass: HomeAssistant,
    llm_server: LLMServer,
    hass_client: ClientSessionGenerator,
    socket_enabled: None,
    freezer: FrozenDateTimeFactory,
    step: str | None,
) -> None:
    entry = await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    if step is None:
        confirmations = entry.runtime_data.policy.confirmations
        confirmations.waiting.clear()
        _, end = await fix(client, issue_id)
    else:
        _, form = await fix(client, issue_id)
        freezer.tick(timedelta(seconds=121))
        async_fire_time_changed(hass)
        await hass.async_block_till_done()
        end = await go_on(client, form["flow_id"], next_step_id=step)
    assert (end["type"], end["reason"]) == ("abort", "over")
    assert state_of(hass) == "locked"


async def test_repairs_says_when_it_could_not_be_done(
    hass: HomeAssistant, llm_server: LLMServer, hass_client: ClientSessionGenerator, socket_enabled: None
) -> None:
    await set_up(hass, llm_server)
    issue_id = await ask_in_repairs(hass, llm_server)
    client = await hass_client()
    _, form = await fix(client, issue_id)
    hass.services.async_remove("lock", "unlock")
    end = await go_on(client, form["flow_id"], next_step_id="confirm")
    assert (end["type"], end["reason"]) == ("abort", "failed")
    assert state_of(hass) == "locked"
