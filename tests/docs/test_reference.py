"""The reference names every tool, action, event and sentence as the code has it."""

import json
import re
from typing import Any

from homeassistant.components.conversation import ConversationInput
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.translation import async_get_translations
from homeassistant.util import dt as dt_util
from homeassistant.util.yaml import parse_yaml
from pytest_homeassistant_custom_component.common import MockUser, async_capture_events

from custom_components.home_agent.home.domains import DOMAINS
from custom_components.home_agent.home.taught_names import taught_names_of
from custom_components.home_agent.memory.extraction import Figures
from custom_components.home_agent.policy import confirmation, policy
from custom_components.home_agent.policy.write import WriteRecord
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support import errors
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.turn import events
from custom_components.home_agent.turn.plan import ActionClass, Plan
from custom_components.home_agent.turn.proposal import ProposalStatus
from custom_components.home_agent.turn.turn import ToolCallRecord, Turn, current_turn
from tests.house import build_house, set_up
from tests.llm_server import LLMServer, text, tool_call
from tests.wish_rows import wish_of

from .pages import CODE, FENCE, ROOT, names, read, rows, section

CONTROLLABLE = {name for name, record in DOMAINS.items() if record.actions}


def test_changelog_counts_the_domains() -> None:
    assert f"{len(CONTROLLABLE)} domains" in read(ROOT / "CHANGELOG.md")


async def test_every_field_of_every_action(hass: HomeAssistant) -> None:
    await set_up(hass)
    described = parse_yaml(read(ROOT / "custom_components/home_agent/services.yaml"))
    assert isinstance(described, dict)
    assert set(described) == set(hass.services.async_services_for_domain(DOMAIN))
    for action, description in described.items():
        fields = list(rows(section("reference/actions.md", f"{DOMAIN}.{action}"), columns=4))
        required = {CODE.findall(name)[0]: bool(mark) for name, mark, *_ in fields}
        wanted = (description or {}).get("fields", {})
        assert required == {name: bool(field.get("required")) for name, field in wanted.items()}, action


async def test_the_response_of_process(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await build_house(hass)
    await set_up(hass, llm_server)
    llm_server.plan(tool_call("ha_query", {"entity_id": "light.bed_light"}, usage=True), text("On.", usage=True))
    response: Any = await hass.services.async_call(
        DOMAIN, "process", {"text": "is it on?"}, blocking=True, return_response=True
    )
    content = section("reference/responses.md", "home_agent.process")
    example = json.loads(next(match[2] for match in FENCE.finditer(content) if match[1] == "json"))
    documented = {CODE.findall(name)[0] for name, _ in rows(content, columns=2)}
    assert set(response) == set(example) == documented
    assert set(response["tool_calls"][0]) == set(example["tool_calls"][0])
    assert set(response["tokens"]) == set(example["tokens"])


def responded(action: str) -> set[str]:
    """Return what the table of responses names for an action."""
    content = section("reference/responses.md", "Other actions")
    [cell] = [cell for first, cell in rows(content, columns=2) if f"`{action}`" in first]
    return set(CODE.findall(cell))


async def test_the_responses_of_actions(hass: HomeAssistant) -> None:
    await build_house(hass)
    await set_up(hass)
    admin = Context(user_id=MockUser(is_owner=True).add_to_hass(hass).id)
    taught_names_of(hass).async_note("light.bed_light", "moon lamp", ProposalStatus.PROPOSED, None)

    async def act(action: str, **data: Any) -> Any:
        return await hass.services.async_call(DOMAIN, action, data, blocking=True, return_response=True, context=admin)

    turned_on = {"action": "turn_on", "entity_id": "light.bed_light"}
    assert set(await act("execute_tool", tool_name="ha_control", parameters=turned_on)) <= responded("execute_tool")
    [done] = (await act("list_actions"))["actions"]
    assert {"actions", *done, *done["calls"][0]} <= responded("list_actions")
    undone = await act("undo")
    assert {*undone, *undone["restored"][0]} <= responded("undo")
    memory = await act("add_memory", content="The spare key hangs behind the freezer")
    listed = await act("list_memories")
    row = listed["memories"][0]
    assert {*listed, *row} == responded("list_memories")
    assert {*memory} - {*row} == responded("add_memory") - {"added", "merged"}
    [found] = (await act("search_memories", query="spare key"))["memories"]
    assert {*found} - {*row} == responded("search_memories") - {"memories"}
    taught = await act("forget_taught_name", name="moon lamp")
    assert {*taught, *taught["forgotten"][0]} <= responded("forget_taught_name")
    for action, data in (
        ("clear_history", {}),
        ("get_profile", {}),
        ("reindex_entities", {}),
        ("delete_memory", {"memory_id": row["memory_id"]}),
        ("export_memories", {}),
        ("index_entity", {"entity_id": "light.bed_light"}),
        ("add_document", {"text": "# Boiler\nPress it twice."}),
    ):
        assert set(await act(action, **data)) == responded(action) - {"remove_document"}, action


def a_turn() -> Turn:
    request = ConversationInput(
        text="", context=Context(), conversation_id="1", device_id=None, satellite_id=None, language="en", agent_id="a"
    )
    return Turn(profile=Profile(), conversation_id="1", text="", language="en", context=request.context)


async def test_every_field_of_every_event(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    fired = [value for name, value in vars(events).items() if name.isupper() and str(value).startswith(f"{DOMAIN}.")]
    heard = {name: async_capture_events(hass, name) for name in fired}
    turn = a_turn()
    events.async_conversation_started(hass, turn)
    events.async_conversation_finished(hass, turn)
    events.async_tool_progress(hass, turn, "ha_query", "started")
    events.async_tool_executed(
        hass, turn, ToolCallRecord(tool_name="ha_query", parameters={}, success=True, duration_ms=1), None
    )
    events.async_context_injected(hass, turn, "direct", [], 0, {})
    events.async_context_optimized(
        hass,
        turn,
        events.Optimized(
            original_tokens=2,
            optimized_tokens=1,
            was_truncated=False,
            rounds_dropped=0,
            entities_left_out=0,
            attributes_left_out=False,
            home_map_reduced=True,
        ),
    )
    events.async_confirmation_requested(hass, turn, "1", ["ha_control"], dt_util.utcnow())
    events.async_confirmation_resolved(hass, turn, "1", "confirmed", None)
    written = WriteRecord(
        turn=turn, tool_name="ha_control", plan=Plan(action=ActionClass.WRITE), before={}, outcomes={}, success=True
    )
    entry.runtime_data.journal.async_add(written)
    events.async_action_undone(hass, turn, ["1"], ["light.kitchen"])
    events.async_history_saved(hass, turn, 2, 4, persists=True)
    events.IndexProgress(hass, "home_entities").async_advance(1, 1)
    token = current_turn.set(turn)
    events.async_vector_db_queried(hass, {"home_entities": 1}, ["light.kitchen"], 0.0)
    current_turn.reset(token)
    events.async_memory_extracted(hass, turn, Figures().as_event())
    events.async_streaming_error(hass, turn, HomeAssistantError())
    events.async_error(hass, turn, HomeAssistantError(), "conversation")
    wish = wish_of(None).as_event()
    for event in (events.WISH_CREATED, events.WISH_CHANGED, events.WISH_CANCELLED):
        events.async_wish(hass, event, wish, None)
    for event in (events.WISH_DONE, events.WISH_FAILED):
        events.async_wish(hass, event, wish | {"reason": "time"}, None)
    common = names(section("reference/events.md", "Events").partition("##")[0])
    for name, [one] in heard.items():
        always = set() if name == events.INDEX_PROGRESS or name.startswith(f"{DOMAIN}.wish.") else common
        assert set(one.data) == always | names(section("reference/events.md", name)), name


def test_every_class_of_error_is_named() -> None:
    documented = {
        name
        for first, _ in rows(section("reference/events.md", "What went wrong"), columns=2)
        for name in CODE.findall(first)
    }
    known = {name for room in (errors, policy, confirmation) for name in vars(room)} | {
        "TimeoutError",
        "ServiceValidationError",
    }
    assert documented <= known
    ours = {name for name, item in vars(errors).items() if isinstance(item, type) and issubclass(item, errors.LLMError)}
    ours |= {
        name for name, item in vars(policy).items() if isinstance(item, type) and issubclass(item, errors.ToolError)
    }
    assert ours - {"LLMError"} <= documented


async def test_messages_are_those_that_are_said(hass: HomeAssistant) -> None:
    said = {
        re.sub(r"{\w+}", "…", sentence)
        for category in ("exceptions", "config")
        for sentence in (await async_get_translations(hass, "en", category, [DOMAIN])).values()
    }
    for heading in ("What you hear", "Setting up a model fails"):
        for sentence, _ in rows(section("reference/messages.md", heading), columns=2):
            assert sentence in said


async def test_every_sensor_is_in_the_table(hass: HomeAssistant) -> None:
    texts = await async_get_translations(hass, "en", "entity", [DOMAIN])
    named = {
        name.strip()
        for cell, *_ in rows(section("reference/responses.md", "Entities"), columns=3)
        for name in cell.split(",")
    }
    assert {text for key, text in texts.items() if ".sensor." in key and key.endswith(".name")} <= named
