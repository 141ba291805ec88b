"""A kind of proposal that only this file defines: told in Repairs, approved and declined there, and limited."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator, WebSocketGenerator

from custom_components.home_agent.policy.proposals import MAX_WAITING, MAX_WAITING_OF_USER, ProposalKind, has_room
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.kept import kept_of, kept_things
from custom_components.home_agent.turn.proposal import Proposal, ProposalStatus, Proposed
from tests.house import set_up

ISSUE = "plants_proposed_home"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant(Proposal):
    """Something to be planted."""

    status: ProposalStatus = ProposalStatus.PROPOSED
    user_id: str | None = None


class Garden(Proposed[Plant]):
    """What is planted, proposed and declined."""

    file = "garden"
    row = Plant


class Repairs:
    """The page of Repairs of an administrator."""

    def __init__(self, client: Any, socket: Any) -> None:
        self._client, self._socket = client, socket

    async def issues(self) -> list[dict[str, Any]]:
        """Return the issues about plants."""
        await self._socket.send_json_auto_id({"type": "repairs/list_issues"})
        listed = (await self._socket.receive_json())["result"]["issues"]
        return [issue for issue in listed if issue["issue_id"] == ISSUE]

    async def open(self) -> dict[str, Any]:
        answer = await self._client.post("/api/repairs/issues/fix", json={"handler": DOMAIN, "issue_id": ISSUE})
        assert answer.status == HTTPStatus.OK
        return dict(await answer.json())

    async def send(self, form: Mapping[str, Any], **data: Any) -> dict[str, Any]:
        return dict(await (await self._client.post(f"/api/repairs/issues/fix/{form['flow_id']}", json=data)).json())


@pytest.fixture
async def entry(hass: HomeAssistant, house: None, socket_enabled: None) -> MockConfigEntry:
    """Return a loaded entry that asks administrators what to plant; a cactus cannot be."""
    kept_things(hass).async_register(Garden)
    entry = await set_up(hass)
    garden = kept_of(hass, Garden)

    async def async_text(plant: Plant) -> str:
        return f"Plant *{plant.id}*?"

    async def async_approve(plants: Sequence[Plant]) -> str | None:
        good = [plant for plant in plants if plant.id != "cactus"]
        garden.put(*(replace(plant, status=ProposalStatus.APPROVED) for plant in good))
        return None if good == [*plants] else "No cactus."

    def decline(plants: Sequence[Plant]) -> None:
        garden.put(*(replace(plant, status=ProposalStatus.DECLINED) for plant in plants))

    kind = ProposalKind(key="plants_proposed", kept=garden, text=async_text, approve=async_approve, decline=decline)
    entry.async_on_unload(entry.runtime_data.proposals.async_add(kind))
    return entry


@pytest.fixture
async def repairs(
    hass: HomeAssistant, entry: MockConfigEntry, hass_client: ClientSessionGenerator, hass_ws_client: WebSocketGenerator
) -> Repairs:
    for component in ("repairs", "websocket_api"):
        assert await async_setup_component(hass, component, {})
    return Repairs(await hass_client(), await hass_ws_client(hass))


def propose(hass: HomeAssistant, *names: str) -> None:
    kept_of(hass, Garden).put(*(Plant(id=name) for name in names))


def statuses(hass: HomeAssistant) -> dict[str, str]:
    return {plant.id: plant.status.value for plant in kept_of(hass, Garden).rows()}


async def test_without_proposals_there_is_no_issue(entry: MockConfigEntry, repairs: Repairs) -> None:
    assert await repairs.issues() == []


async def test_one_issue_tells_how_many_wait_and_not_what(hass: HomeAssistant, repairs: Repairs) -> None:
    propose(hass, "rose", "tulip")
    [issue] = await repairs.issues()
    assert issue["translation_placeholders"] == {"count": "2"}
    assert "rose" not in str(issue)


async def test_all_are_approved(hass: HomeAssistant, repairs: Repairs) -> None:
    propose(hass, "rose", "tulip")
    menu = await repairs.open()
    assert menu["menu_options"] == ["approve_all", "choose", "reject_all"]
    shown = menu["description_placeholders"]
    assert (shown["count"], shown["proposals"]) == ("2", "- Plant \\*rose\\*?\n- Plant \\*tulip\\*?")
    ended = await repairs.send(menu, next_step_id="approve_all")
    assert ended["type"] == "create_entry"
    assert statuses(hass) == {"rose": "approved", "tulip": "approved"}
    assert await repairs.issues() == []


async def test_all_are_declined(hass: HomeAssistant, repairs: Repairs) -> None:
    propose(hass, "rose", "tulip")
    ended = await repairs.send(await repairs.open(), next_step_id="reject_all")
    assert ended["type"] == "create_entry"
    assert statuses(hass) == {"rose": "declined", "tulip": "declined"}
    assert await repairs.issues() == []


@pytest.mark.parametrize("choice", ["approve_all", "reject_all"])
async def test_what_is_proposed_while_the_dialog_is_open_waits(
    hass: HomeAssistant, repairs: Repairs, choice: str
) -> None:
    propose(hass, "rose")
    menu = await repairs.open()
    propose(hass, "tulip")
    await repairs.send(menu, next_step_id=choice)
    assert statuses(hass)["tulip"] == "proposed"
    assert statuses(hass)["rose"] != "proposed"


async def test_some_are_decided_on_and_the_others_wait(hass: HomeAssistant, repairs: Repairs) -> None:
    propose(hass, "rose", "tulip", "lily")
    form = await repairs.send(await repairs.open(), next_step_id="choose")
    ended = await repairs.send(form, approve=["rose"], reject=["tulip"])
    assert (ended["type"], ended["reason"], ended["description_placeholders"]) == ("abort", "left", {"count": "1"})
    assert statuses(hass) == {"rose": "approved", "tulip": "declined", "lily": "proposed"}
    assert [issue["translation_placeholders"] for issue in await repairs.issues()] == [{"count": "1"}]


async def test_the_same_is_not_approved_and_declined(hass: HomeAssistant, repairs: Repairs) -> None:
    propose(hass, "rose")
    form = await repairs.send(await repairs.open(), next_step_id="choose")
    form = await repairs.send(form, approve=["rose"], reject=["rose"])
    assert form["errors"] == {"reject": "both"}
    assert statuses(hass) == {"rose": "proposed"}


async def test_what_cannot_be_approved_says_why_and_waits(hass: HomeAssistant, repairs: Repairs) -> None:
    propose(hass, "rose", "cactus")
    ended = await repairs.send(await repairs.open(), next_step_id="approve_all")
    assert (ended["type"], ended["reason"]) == ("abort", "failed")
    assert ended["description_placeholders"]["answer"].startswith("No cactus")
    assert statuses(hass) == {"rose": "approved", "cactus": "proposed"}
    assert len(await repairs.issues()) == 1


async def test_what_was_decided_meanwhile_is_over(hass: HomeAssistant, repairs: Repairs) -> None:
    propose(hass, "rose")
    menu = await repairs.open()
    kept_of(hass, Garden).clear()
    form = await repairs.send(menu, next_step_id="choose")
    assert (form["type"], form["reason"]) == ("abort", "over")


@pytest.mark.parametrize("choice", ["approve_all", "choose"])
async def test_what_says_something_else_by_now_is_not_decided(
    hass: HomeAssistant, repairs: Repairs, choice: str
) -> None:
    propose(hass, "rose")
    form = await repairs.send(await repairs.open(), next_step_id="choose") if choice == "choose" else None
    menu = form or await repairs.open()
    kept_of(hass, Garden).put(Plant(id="rose", user_id="anna"))
    ended = await repairs.send(menu, **({"approve": ["rose"]} if form else {"next_step_id": choice}))
    assert (ended["type"], ended["reason"], statuses(hass)) == ("abort", "over", {"rose": "proposed"})


async def test_one_administrator_decides_after_the_other(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    propose(hass, "rose", "tulip")
    rows, proposals = kept_of(hass, Garden).rows(), entry.runtime_data.proposals
    both = (proposals.async_decide("plants_proposed", *told) for told in ((rows, ()), ((), rows)))
    assert await asyncio.gather(*both) == [(2, None), (0, None)]
    assert statuses(hass) == {"rose": "approved", "tulip": "approved"}


async def test_they_outlive_a_restart_and_wait_again(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    propose(hass, "rose")
    await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()
    assert ir.async_get(hass).async_get_issue(DOMAIN, ISSUE) is None
    kept_things(hass).forget()
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert statuses(hass) == {"rose": "proposed"}


@pytest.mark.parametrize(
    ("users", "more"), [(["anna"], MAX_WAITING_OF_USER), (["anna", "ben", None, "leo"], MAX_WAITING)]
)
async def test_waiting_limit(hass: HomeAssistant, entry: MockConfigEntry, users: list[str | None], more: int) -> None:
    garden = kept_of(hass, Garden)
    for number in range(more):
        user_id = users[number % len(users)]
        assert has_room(garden, user_id)
        garden.put(Plant(id=str(number), user_id=user_id))
    assert not has_room(garden, "anna")
    assert has_room(garden, "maria") is (more < MAX_WAITING)


@pytest.mark.parametrize(("word", "status"), [
    ("taught", ProposalStatus.APPROVED), ("learned", ProposalStatus.APPROVED), ("rejected", ProposalStatus.DECLINED),
    ("declined", ProposalStatus.DECLINED), ("doubted", ProposalStatus.DOUBTED), ("seen", ProposalStatus.SEEN),
    ("proposed", ProposalStatus.PROPOSED),
])  # fmt: skip
def test_words_of_earlier_files_are_read(word: str, status: ProposalStatus) -> None:
    assert ProposalStatus(word) is status
