"""The check of the home: after set-up and from the menu; voice assistants, what is found, and a sentence."""

from typing import Any

from homeassistant.components.assist_pipeline import async_get_pipelines, async_update_pipeline
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import SOURCE_USER, FlowType
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers import entity_registry as er, issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.flows import check as check_page
from custom_components.home_agent.flows.check import MAX_NAMED, counted, findings_of
from custom_components.home_agent.home.snapshot import HomeEntity, HomeSnapshot
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from tests.flows.forms import Result, fields, options, page, shown
from tests.house import EXPOSED, set_up, state_of, subentry, voice
from tests.llm_server import LLMServer, text, unauthorized

OURS = "conversation.home_agent"


pytestmark = pytest.mark.usefixtures("demo_house")


async def send(hass: HomeAssistant, form: Result, **data: Any) -> Result:
    return await hass.config_entries.options.async_configure(form["flow_id"], data)


def agents(hass: HomeAssistant) -> dict[str, tuple[str, bool]]:
    """Return agent and preference of the voice assistants by name."""
    return {
        pipeline.name: (pipeline.conversation_engine, pipeline.prefer_local_intents)
        for pipeline in async_get_pipelines(hass)
    }


async def test_set_up_leads_to_a_voice_assistant_and_a_first_answer(hass: HomeAssistant) -> None:
    home = await voice(hass)
    await async_update_pipeline(hass, home, prefer_local_intents=True)
    form = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    created = await hass.config_entries.flow.async_configure(form["flow_id"], {"preset": "no_model"})
    kind, flow_id = created["next_flow"]
    assert (created["type"], kind) == (FlowResultType.CREATE_ENTRY, FlowType.OPTIONS_FLOW)
    assert created["title"] == f"Home Agent ({hass.config.location_name})"

    form = await hass.config_entries.options.async_configure(flow_id)
    assert (form["type"], form["step_id"]) == (FlowResultType.FORM, "check")
    assert shown(form) == {"voice_assistant": home.id, "sentence": "Which lights are on?"}
    assert agents(hass) == {home.name: ("conversation.home_assistant", True)}  # nothing happens before it is sent

    answer = await send(hass, form, **shown(form) | {"sentence": "turn on the bed light"})
    assert agents(hass) == {home.name: (OURS, False)}
    assert (answer["step_id"], answer["description_placeholders"]["agent"]) == ("answer", "Home Agent")
    assert "light" in answer["description_placeholders"]["answer"]
    assert float(answer["description_placeholders"]["seconds"]) < 10
    assert state_of(hass, "light.bed_light") == "on"

    again = await send(hass, answer, sentence="turn off the bed light")
    assert again["step_id"] == "answer"
    assert state_of(hass, "light.bed_light") == "off"
    done = await send(hass, again)
    assert done["type"] is FlowResultType.CREATE_ENTRY


async def test_the_frontend_begins_a_flow_of_its_own_and_goes_on_with_the_check(hass: HomeAssistant) -> None:
    form = await hass.config_entries.flow.async_init(DOMAIN, context={"source": SOURCE_USER})
    created = await hass.config_entries.flow.async_configure(form["flow_id"], {"preset": "no_model"})
    entry_id = created["result"].entry_id
    check_form = await hass.config_entries.options.async_init(entry_id)
    assert check_form["step_id"] == "check"
    assert [flow["flow_id"] for flow in hass.config_entries.options.async_progress()] == [check_form["flow_id"]]
    assert (await send(hass, check_form))["type"] is FlowResultType.CREATE_ENTRY
    assert (await hass.config_entries.options.async_init(entry_id))["type"] is FlowResultType.MENU


async def test_from_the_menu_it_leads_back_to_the_menu_and_changes_nothing(hass: HomeAssistant) -> None:
    home = await voice(hass)
    entry = await set_up(hass)
    await async_update_pipeline(hass, home, conversation_engine=OURS)
    form = await page(hass, entry, "check")
    assert shown(form)["voice_assistant"] == "keep"
    assert form["description_placeholders"]["assistants"] == f"1: {home.name}"
    menu = await send(hass, form, voice_assistant="keep")
    assert (menu["type"], menu["step_id"]) == (FlowResultType.MENU, "init")
    assert agents(hass) == {home.name: (OURS, False)}


async def test_a_new_voice_assistant_hears_and_speaks_like_the_preferred_one(hass: HomeAssistant) -> None:
    home = await voice(hass)
    await async_update_pipeline(hass, home, conversation_engine="conversation.other", prefer_local_intents=True)
    entry = await set_up(hass)
    form = await page(hass, entry, "check")
    assert shown(form)["voice_assistant"] == "new"  # another's agent is not replaced unasked
    assert options(form, "voice_assistant") == [home.id, "new", "keep"]
    await send(hass, form, voice_assistant="new")
    await send(hass, await page(hass, entry, "check"), voice_assistant="new")
    assert agents(hass) == {
        home.name: ("conversation.other", True),
        "Home Agent (voice assistant)": (OURS, False),
        "Home Agent (voice assistant) 2": (OURS, False),
    }
    first, second, _ = async_get_pipelines(hass)
    own = {"id", "name", "conversation_engine", "prefer_local_intents"}
    assert {key: value for key, value in first.to_json().items() if key not in own} == {
        key: value for key, value in second.to_json().items() if key not in own
    }


async def test_one_of_several_agents_is_chosen(hass: HomeAssistant) -> None:
    home = await voice(hass)
    entry = await set_up(hass, more=[subentry("profile", "Butler", "profile-2", {})])
    form = await page(hass, entry, "check")
    assert options(form, "agent") == ["profile-1", "profile-2"]
    answer = await send(hass, form, agent="profile-2", voice_assistant=home.id, sentence="turn on the kitchen lights")
    assert answer["description_placeholders"]["agent"] == "Butler"
    assert agents(hass)[home.name] == ("conversation.butler", False)


async def test_a_home_without_voice_assistants_is_checked_as_well(hass: HomeAssistant) -> None:
    form = await page(hass, await set_up(hass), "check")
    assert fields(form).keys() == {"sentence"}
    assert form["description_placeholders"]["assistants"] == "0"


async def test_the_model_is_asked_and_a_failure_is_told(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    llm_server.plan(text("A poem about lamps."))
    answer = await send(hass, await page(hass, entry, "check"), sentence="write a poem about lamps")
    assert answer["description_placeholders"]["answer"] == "A poem about lamps."
    llm_server.plan(unauthorized())
    answer = await send(hass, answer, sentence="write another poem about lamps")
    assert "refused its API key" in answer["description_placeholders"]["answer"]


async def test_an_endless_model(hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_page, "MAX_WAIT", 1)
    entry = await set_up(hass, llm_server)
    llm_server.plan(text("One two three four. " * 50, pause=0.1))
    answer = await send(hass, await page(hass, entry, "check"), sentence="tell me a story about lamps")
    assert answer["description_placeholders"]["answer"].startswith("There was no answer after 1 seconds")


@pytest.mark.parametrize(("language", "sentence"), [("en", "Which lights are on?"), ("de", "Welche Lichter sind an?")])
async def test_the_suggested_sentence_works_without_a_model(hass: HomeAssistant, language: str, sentence: str) -> None:
    hass.config.language = language
    form = await page(hass, await set_up(hass), "check")
    assert shown(form) == {"sentence": sentence}
    answer = await send(hass, form, sentence=sentence)
    assert "Ceiling Lights" in answer["description_placeholders"]["answer"]


async def test_nothing_is_asked_of_an_agent_that_is_gone(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    form = await page(hass, entry, "check")
    assert await hass.config_entries.async_unload(entry.entry_id)
    gone = await send(hass, form, sentence="turn on the bed light")
    assert (gone["type"], gone["reason"]) == (FlowResultType.ABORT, "no_agent")
    assert state_of(hass, "light.bed_light") == "off"


async def test_what_is_found(hass: HomeAssistant) -> None:
    registry = er.async_get(hass)
    registry.async_update_entity("light.ceiling_lights", aliases=["BED LIGHT"])
    form = await page(hass, await set_up(hass), "check")
    told = form["description_placeholders"]
    assert not form["errors"]
    assert told["exposed"] == str(len(EXPOSED))
    assert told["twice"] in ("1: Bed Light", "1: BED LIGHT")
    assert told["without_area"] == "2: Decorative Lights, Front Door"


def home_of(*entities: HomeEntity) -> HomeSnapshot:
    """Return a home."""
    return HomeSnapshot(entities={entity.entity_id: entity for entity in entities})


def test_a_list_needs_no_area_and_an_entity_may_repeat_its_own_name() -> None:
    findings = findings_of(
        home_of(
            HomeEntity("todo.shopping", ("Shopping",), None),
            HomeEntity("light.lamp", ("Lamp", "lamp"), None),
            HomeEntity("light.bed", ("Bed",), "bedroom"),
        )
    )
    assert (findings.exposed, findings.without_area, findings.twice) == (3, ("Lamp",), ())


def test_only_a_few_names_are_listed() -> None:
    assert counted([]) == "0"
    assert counted([str(number) for number in range(MAX_NAMED)]) == "5: 0, 1, 2, 3, 4"
    assert counted([str(number) for number in range(MAX_NAMED + 2)]) == "7: 0, 1, 2, 3, 4, …"


def exposed_issue(hass: HomeAssistant) -> bool:
    """Return whether Repairs says that nothing is exposed."""
    return any(
        issue.translation_key == "nothing_exposed" for issue in ir.async_get(hass).issues.values() if issue.active
    )


async def show(hass: HomeAssistant, entry: MockConfigEntry, *, exposed: bool) -> None:
    for entity_id in EXPOSED:
        async_expose_entity(hass, ASSISTANT, entity_id, exposed)
    await entry.runtime_data.home.async_get()
    await hass.async_block_till_done()


async def test_a_home_of_which_nothing_is_exposed_stands_in_repairs(hass: HomeAssistant) -> None:
    entry = await set_up(hass)
    await show(hass, entry, exposed=False)
    assert exposed_issue(hass)
    assert (await page(hass, entry, "check"))["errors"] == {"base": "nothing_exposed"}
    await show(hass, entry, exposed=True)
    assert not exposed_issue(hass)
    await show(hass, entry, exposed=False)
    await hass.config_entries.async_unload(entry.entry_id)
    assert not exposed_issue(hass)


async def test_nothing_is_said_of_exposure_before_home_assistant_has_started(hass: HomeAssistant) -> None:
    hass.set_state(CoreState.starting)
    entry = await set_up(hass)
    await show(hass, entry, exposed=False)
    assert not exposed_issue(hass)
    hass.set_state(CoreState.running)
    hass.bus.async_fire("homeassistant_started")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert exposed_issue(hass)


async def test_a_home_without_anything_to_control_is_no_defect(hass: HomeAssistant) -> None:
    for entity_id in hass.states.async_entity_ids():
        hass.states.async_remove(entity_id)
    hass.states.async_set("sun.sun", "above_horizon")
    entry = await set_up(hass)
    assert not (await entry.runtime_data.home.async_get()).entities
    assert not exposed_issue(hass)
