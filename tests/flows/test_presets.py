"""Agents that are added from a preset, through the dialogs, and what their model is sent and may do."""

import json
from pathlib import Path
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import SOURCE_USER
from homeassistant.core import Context, HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.settings import portable
from custom_components.home_agent.settings.portable import PRESETS, async_preset
from custom_components.home_agent.settings.profile import SETTINGS, in_parts
from custom_components.home_agent.support.const import ASSISTANT, DOMAIN
from custom_components.home_agent.support.kept import kept_of
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.flows.forms import resend, shown
from tests.house import say, set_up, speech, state_of, subentry
from tests.llm_server import LLMServer, text, tool_call
from tests.memory.conftest import said

FILE = Path(portable.__file__).with_name("presets.json")
TEA = "Grandma Ilse drinks only peppermint tea"


pytestmark = pytest.mark.usefixtures("demo_house")


async def add(hass: HomeAssistant, entry: MockConfigEntry, key: str, **changes: Any) -> str:
    """Add an agent from a preset, changed in the form; return its conversation entity."""
    flows = hass.config_entries.subentries
    menu: Any = await flows.async_init((entry.entry_id, "profile"), context={"source": SOURCE_USER})
    assert (menu["type"], menu["step_id"]) == ("menu", "start")
    assert tuple(menu["menu_options"]) == ("blank", *PRESETS, "yaml")
    form: Any = await flows.async_configure(menu["flow_id"], {"next_step_id": key})
    values = shown(form) | changes
    created = await resend(hass, form, **changes)
    assert created["type"] == "create_entry", created
    await hass.async_block_till_done(wait_background_tasks=True)
    agents = [state.entity_id for state in hass.states.async_all("conversation") if state.name == values["name"]]
    assert len(agents) == 1
    return agents[0]


@pytest.fixture
async def entry(hass: HomeAssistant, llm_server: LLMServer) -> MockConfigEntry:
    """Set up an agent with everything that could leak into another one, as defaults of all."""
    llm_server.respond(lambda _body: text("Well."))
    defaults = {
        "local_first": False, "documentation_tool": True, "external_llm": "llm-1", "llm_apis": ["assist"],
        "delegate_to": ["profile-1"], "never_ask": ["lock"], "delegation_level": "unrestricted",
    }  # fmt: skip
    tool = {"name": "weather", "description": "Weather.", "handler": {"type": "template", "template": "Rain"}}
    weather = subentry("custom_tool", "weather", "tool-1", tool)
    options = {"default_profile_settings": in_parts(defaults)}
    entry = await set_up(hass, llm_server, options=options, more=[weather], model_first=False)
    await kept_of(hass, Memories).async_add([said(TEA)])
    return entry


def tools(server: LLMServer) -> set[str]:
    return {tool["function"]["name"] for tool in server.request.body.get("tools", ())}


async def does(hass: HomeAssistant, server: LLMServer, agent: str, who: MockUser, **arguments: Any) -> dict[str, Any]:
    """Have the model of an agent control something; return the result that it is sent, empty where the user is asked."""
    server.plan(tool_call("ha_control", arguments))
    result = await say(hass, "please", agent_id=agent, context=Context(user_id=who.id))
    last = server.request.body["messages"][-1]
    return dict(json.loads(last["content"])) if last["role"] == "tool" else {"asks": speech(result)}


@pytest.fixture
def anna(hass: HomeAssistant) -> MockUser:
    """Somebody who may do everything."""
    return MockUser(name="Anna", is_owner=True).add_to_hass(hass)


TOOLS_OF_AUTOMATIONS = (
    "list_automations", "get_automation", "automation_vocabulary", "query_recent_events", "download_state_history",
    "test_event_listener", "execute_script", "create_automation", "update_automation", "delete_automation",
    "enable_automation", "disable_automation", "get_automation_stats", "why_did_it_not_run", "send_message_to_user",
    "get_calendar_events",
)  # fmt: skip
OF_THE_HOME = {"ha_control", "ha_query", "ha_undo"}
FOR_LATER = {"make_wish", "change_wish"}


@pytest.mark.parametrize("key", ["guest", "kids", "security"])
async def test_it_has_the_tools_of_the_home_and_no_others(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser, key: str
) -> None:
    agent = await add(hass, entry, key)
    await say(hass, "Which tea does grandma drink?", agent_id=agent, context=Context(user_id=anna.id))
    assert tools(llm_server) <= OF_THE_HOME | (FOR_LATER if key in ("guest", "kids") else set())
    assert {"ha_control", "ha_query"} <= tools(llm_server)
    assert "peppermint" not in llm_server.request.raw.decode()
    assert "light.bed_light" in llm_server.request.raw.decode()
    llm_server.plan(tool_call("weather", {}), tool_call("query_external_llm", {"prompt": "x"}))
    await say(hass, "And the weather?", agent_id=agent, context=Context(user_id=anna.id))
    results = [json.loads(item["content"]) for item in llm_server.request.body["messages"] if item["role"] == "tool"]
    assert [result["success"] for result in results] == [False, False]


@pytest.mark.parametrize(("key", "refused"), [
    ("guest", ["lock.front_door", "cover.kitchen_window", "switch.decorative_lights"]),
    ("kids", ["lock.front_door", "cover.kitchen_window", "switch.decorative_lights", "climate.hall"]),
])  # fmt: skip
async def test_it_changes_what_is_ordinary_and_nothing_else(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser, key: str, refused: list[str]
) -> None:
    """By its tool, by a group, and where the home itself understands the sentence; code refuses, whatever the model says."""
    hass.states.async_set(
        "climate.hall", "heat", {"friendly_name": "Hall", "hvac_modes": ["heat", "off"], "supported_features": 384}
    )
    members = ["light.bed_light", "switch.decorative_lights"]
    hass.states.async_set("group.mixed", "off", {"friendly_name": "Mixed", "entity_id": members})
    for entity_id in ("climate.hall", "group.mixed"):
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    agent = await add(hass, entry, key, local_first=True)
    before = {item: state_of(hass, item) for item in refused}
    for item in (*refused, "group.mixed"):
        for action in ("turn_on", "turn_off", "toggle"):
            result = await does(hass, llm_server, agent, anna, action=action, entity_id=item)
            assert result.get("success") is False, (item, action, result)
    for words in ("unlock the front door", "open the kitchen window", "turn on the decorative lights"):
        await say(hass, words, agent_id=agent, context=Context(user_id=anna.id))
    await hass.async_block_till_done()
    assert {item: state_of(hass, item) for item in refused} == before
    lamp = "off" if state_of(hass, "light.bed_light") == "on" else "on"
    done = await does(hass, llm_server, agent, anna, action=f"turn_{lamp}", entity_id="light.bed_light")
    assert (done["success"], state_of(hass, "light.bed_light")) == (True, lamp)
    llm_server.plan(tool_call("ha_query", {"entity_id": "lock.front_door"}))
    await say(hass, "is it locked?", agent_id=agent, context=Context(user_id=anna.id))
    assert json.loads(llm_server.request.body["messages"][-1]["content"])["success"] is True


@pytest.mark.parametrize("key", ["guest", "kids"])
async def test_what_it_may_change_it_may_change_later_and_it_reminds(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser, key: str
) -> None:
    agent = await add(hass, entry, key)
    lamp, lock = (
        {"actions": [{"action": f"turn_{to}", "entity_id": item}], "at": "in 10 min"}
        for to, item in (("off", "light.ceiling_lights"), ("on", "switch.decorative_lights"))
    )
    made: list[dict[str, Any]] = [lamp, {"say": "put the teddy to bed", "at": "in 10 min"}, lock]
    for arguments in made:
        llm_server.plan(tool_call("make_wish", arguments))
        await say(hass, "In ten minutes, please", agent_id=agent, context=Context(user_id=anna.id))
    kinds = [(wish.kind.value, wish.targets) for wish in wishes_of(hass).all()]
    assert kinds == [("action", ("light.ceiling_lights",)), ("reminder", ())]


async def test_a_guest_that_asks_for_the_lock_by_way_of_another_agent(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser
) -> None:
    """What the guest's agent may not change, no agent changes for it."""
    agent = await add(hass, entry, "guest", allowed_tools=["all"], delegate_to=["profile-1"])
    unlock = tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
    ask = {"target_service_id": "home_agent", "user_request": "Unlock the front door."}
    llm_server.plan(tool_call("delegate_to_service", ask), unlock)
    said_to_guest = await say(hass, "let me in", agent_id=agent, context=Context(user_id=anna.id))
    assert any("Unlock the front door." in request.last_user for request in llm_server.requests), (
        "nothing was handed on"
    )
    await say(hass, "yes", said_to_guest.conversation_id, agent_id=agent, context=Context(user_id=anna.id))
    await hass.async_block_till_done()
    assert state_of(hass, "lock.front_door") == "locked"


@pytest.mark.parametrize("key", ["security", "technician"])
async def test_it_asks_before_each_change(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser, key: str
) -> None:
    agent = await add(hass, entry, key, local_first=True)
    hass.states.async_set("switch.decorative_lights", "off")
    for action, item in (
        ("turn_on", "light.ceiling_lights"), ("turn_on", "switch.decorative_lights"), ("unlock", "lock.front_door"),
    ):  # fmt: skip
        await hass.services.async_call(
            "homeassistant", "turn_off", {"entity_id": "light.ceiling_lights"}, blocking=True
        )
        result = await does(hass, llm_server, agent, anna, action=action, entity_id=item)
        assert str(result.get("asks")).endswith("?"), (item, result)
    answer = speech(await say(hass, "turn on the ceiling lights", agent_id=agent, context=Context(user_id=anna.id)))
    assert answer.endswith("?")
    assert [state_of(hass, item) for item in ("light.ceiling_lights", "lock.front_door")] == ["off", "locked"]
    llm_server.plan(tool_call("ha_query", {"entity_id": "light.*"}), text("Two are on."))
    assert speech(await say(hass, "what is on?", agent_id=agent, context=Context(user_id=anna.id))) == "Two are on."


async def test_a_technician(hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser) -> None:
    agent = await add(hass, entry, "technician")
    look = tool_call("ha_query", {"entity_id": "light.bed_light"})
    llm_server.plan(*[look] * 12, text("The lamp was switched off at noon."))
    assert "at noon" in speech(await say(hass, "why is it dark?", agent_id=agent, context=Context(user_id=anna.id)))
    assert {"get_user_documentation_content", "ha_query", "ha_control"} <= tools(llm_server)


async def test_a_storyteller_has_no_tools_and_knows_nothing_of_the_home(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser
) -> None:
    agent = await add(hass, entry, "storyteller")
    await say(hass, "Tell me of grandma's tea and the bed light", agent_id=agent, context=Context(user_id=anna.id))
    sent = llm_server.request.body
    assert not sent.get("tools")
    assert "You tell stories." in sent["messages"][0]["content"]
    assert not any(word in llm_server.request.raw.decode() for word in ("light.bed_light", "peppermint", "Kitchen"))


@pytest.mark.parametrize("key", ["guest", "kids"])
@pytest.mark.usefixtures("llm_server")
async def test_nothing_that_was_said_to_it_is_kept_on_the_disk(
    hass: HomeAssistant, hass_storage: dict[str, Any], entry: MockConfigEntry, anna: MockUser, key: str
) -> None:
    agent = await add(hass, entry, key)
    await say(hass, "my secret is marzipan", agent_id=agent, context=Context(user_id=anna.id))
    await say(hass, "I like liquorice", agent_id="conversation.home_agent", context=Context(user_id=anna.id))
    await hass.config_entries.async_unload(entry.entry_id)
    kept = str(hass_storage[f"{DOMAIN}.conversations.{entry.entry_id}"])
    assert "liquorice" in kept
    assert "marzipan" not in kept


async def test_an_assistant(hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser) -> None:
    agent = await add(hass, entry, "home_assistant")
    await say(hass, "hello", agent_id=agent, context=Context(user_id=anna.id))
    assert OF_THE_HOME | {"weather", "query_external_llm"} <= tools(llm_server)
    done = await does(hass, llm_server, agent, anna, action="turn_on", entity_id="switch.decorative_lights")
    assert done["success"] is True


async def test_an_agent_for_automations(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser
) -> None:
    agent = await add(hass, entry, "automation_creation")
    await say(hass, "tell me when the garage door opens at night", agent_id=agent, context=Context(user_id=anna.id))
    assert {"query_recent_events", "download_state_history", "get_calendar_events", "send_message_to_user"} <= tools(
        llm_server
    )
    system = llm_server.request.body["messages"][0]["content"]
    assert "## Documentation: scripting.md\n\n# Writing automations" in system
    assert 'Say "created", "changed" or "deleted" only if the result says success.' in system
    profile = next(item for item in entry.runtime_data.profiles.values() if item.name == "Automations")
    assert (profile.max_iterations, profile.max_calls_per_turn, profile.tool_timeout) == (25, 25, 60)
    assert (profile.delegation_level, profile.slash_commands) == ("unrestricted", ("automate", "create-automation"))
    assert {"create_automation", "delete_automation"} <= {*profile.always_ask}


async def test_other_agents_have_nothing_of_automations(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser
) -> None:
    await add(hass, entry, "automation_creation")
    await say(hass, "hello", context=Context(user_id=anna.id))
    assert tools(llm_server).isdisjoint({"query_recent_events", "send_message_to_user"})
    assert "scripting.md" not in llm_server.request.raw.decode()


@pytest.mark.parametrize("command", ["automate", "create-automation"])
async def test_a_command_reaches_the_agent_for_automations(
    hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry, anna: MockUser, command: str
) -> None:
    await add(hass, entry, "automation_creation")
    await say(hass, f"/{command} the garage door at night", context=Context(user_id=anna.id))
    assert "query_recent_events" in tools(llm_server)
    assert "the garage door at night" in llm_server.request.last_user


@pytest.mark.parametrize("language", ["en", "de"])
async def test_its_instructions_name_every_tool(hass: HomeAssistant, language: str) -> None:
    _, settings = await async_preset(hass, "automation_creation", language)
    text = settings["prompt_additions"]
    missing = [name for name in TOOLS_OF_AUTOMATIONS if name not in text]
    assert missing == []
    assert [line[:2] for line in text.splitlines() if line[:1].isdigit()] == [f"{step}." for step in range(1, 10)]
    assert "{" not in text  # it is a template


async def test_in_the_language_of_the_home(hass: HomeAssistant, llm_server: LLMServer, entry: MockConfigEntry) -> None:
    hass.config.language = "de"
    assert await add(hass, entry, "kids", max_answer_tokens=500) == "conversation.kinder"
    assert await add(hass, entry, "kids") == "conversation.kinder_2"  # under a name that nobody has
    stored, second = (item for item in entry.subentries.values() if item.title.startswith("Kinder"))
    assert stored.data["slash_commands"] == ["kinder"]
    assert "slash_commands" not in second.data  # the first one has the command
    assert stored.data["max_answer_tokens"] == 500
    assert stored.data["prompt_additions"].startswith("Du sprichst mit einem Kind.")
    flows, where = hass.config_entries.subentries, {"source": "reconfigure", "subentry_id": stored.subentry_id}
    form: Any = await flows.async_init((entry.entry_id, "profile"), context=where)  # type: ignore[arg-type]
    assert (form["step_id"], shown(form)["memory"]) == ("reconfigure", "off")


async def test_the_data_of_the_presets(hass: HomeAssistant) -> None:
    """Each sets what can be set, in English and German, and has its place in the menu."""
    data = json.loads(FILE.read_text(encoding="utf-8"))
    assert tuple(data) == PRESETS
    for key, preset in data.items():
        assert preset.keys() == {"settings", "texts"}
        assert preset["texts"].keys() == {"en", "de"}
        assert preset["texts"]["en"].keys() == preset["texts"]["de"].keys()
        for language in ("en", "de-AT", "pl"):
            made = await async_preset(hass, key, language)
            assert made[1].keys() <= SETTINGS.keys()
            assert made[0] == preset["texts"]["de" if language == "de-AT" else "en"]["name"]
    for language in ("en", "de"):
        file = FILE.parents[1] / "translations" / f"{language}.json"
        step = json.loads(file.read_text(encoding="utf-8"))["config_subentries"]["profile"]["step"]["start"]
        for texts in (step["menu_options"], step["menu_option_descriptions"]):
            assert texts.keys() == {"blank", *PRESETS, "yaml"}


async def test_blank_starts_with_nothing(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    await add(hass, entry, "blank", name="Plain")
    stored = next(item for item in entry.subentries.values() if item.title == "Plain")
    assert dict(stored.data) == {}
