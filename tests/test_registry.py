"""Who answers where nobody names an agent: the rules of the owner, and the default agent."""

from datetime import datetime
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    issue_registry as ir,
)
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.agent.registry import Registry
from custom_components.home_agent.settings.profile import Profile
from tests.flows.forms import arranged, fields, shown
from tests.house import act, agent, say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call

MONDAY = datetime.fromisoformat("2026-03-02T12:00:00-08:00")


pytestmark = pytest.mark.usefixtures("demo_house")


async def start(hass: HomeAssistant, server: LLMServer, **options: Any) -> MockConfigEntry:
    server.respond(lambda _body: text("Hello."))
    more = [agent(2, "Guest"), agent(3, "Night")]
    return await set_up(hass, server, options=options, more=more, profile={"prompt_additions": "You are Home Agent."})


async def answers(hass: HomeAssistant, server: LLMServer, *, by: str = "action", **fields: Any) -> str:
    """Return which agent answers a text."""
    if by == "action":
        data = {"profile": fields.pop("profile")} if "profile" in fields else {}
        response = await act(hass, "process", fields.pop("context", None), text="Hello there", **data)
    else:
        await say(hass, "Hello there", **fields)
    system = str(server.request.body["messages"][0]["content"])
    found = next(name for name in ("Home Agent", "Guest", "Night") if f"You are {name}." in system)
    if by == "action":
        assert (response["profile"], response["profile_id"]) == (found, found.casefold().replace(" ", "_"))
    return found


async def test_the_first_agent_answers_where_nothing_is_set(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await start(hass, llm_server)
    assert await answers(hass, llm_server) == "Home Agent"


async def test_the_default_agent_answers_where_none_is_named(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await start(hass, llm_server, default_service_profile_id="guest")
    assert await answers(hass, llm_server) == "Guest"
    assert await answers(hass, llm_server, profile="night") == "Night"
    assert await answers(hass, llm_server, by="conversation") == "Home Agent"  # which somebody chose to talk to


async def test_a_default_agent_that_does_not_exist(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await start(
        hass, llm_server, default_service_profile_id="gone", agent_rules=[{"agent": "lost", "after": "00:00:00"}]
    )
    issues = ir.async_get(hass)
    raised = {issue.translation_key: issue for issue in issues.issues.values()}
    assert raised["default_profile_missing"].translation_placeholders == {"wanted": "gone", "profile": "Home Agent"}
    assert raised["rules_without_agent"].translation_placeholders == {"agents": "lost"}
    assert await answers(hass, llm_server) == "Home Agent"
    hass.config_entries.async_update_entry(entry, options={"default_service_profile_id": "night"})
    await hass.async_block_till_done()
    assert not {"default_profile_missing", "rules_without_agent"} & {
        item.translation_key for item in issues.issues.values()
    }
    assert await answers(hass, llm_server) == "Night"


async def test_the_first_rule_that_fits(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    anna = MockUser(name="Anna").add_to_hass(hass)
    rules = [{"agent": "night", "users": [anna.id]}, {"agent": "guest", "users": [anna.id, hass_admin_user.id]}]
    await start(hass, llm_server, agent_rules=rules)
    found = [await answers(hass, llm_server, context=Context(user_id=user.id)) for user in (anna, hass_admin_user)]
    assert [*found, await answers(hass, llm_server)] == ["Night", "Guest", "Home Agent"]
    named = await answers(hass, llm_server, profile="Home Agent", context=Context(user_id=anna.id))
    assert named == "Home Agent"


async def test_with_the_default_agent(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    kitchen = ar.async_get(hass).async_get_or_create("Kitchen")
    (demo,) = hass.config_entries.async_entries("demo")
    devices = dr.async_get(hass)
    made = [
        devices.async_get_or_create(config_entry_id=demo.entry_id, identifiers={("demo", name)}) for name in ("a", "b")
    ]
    devices.async_update_device(made[1].id, area_id=kitchen.id)
    rules = [{"agent": "night", "devices": [made[0].id]}, {"agent": "guest", "areas": [kitchen.id]}]
    entry = await start(hass, llm_server, agent_rules=rules)
    devices_heard = [made[0].id, made[1].id, None]

    async def heard(**fields: Any) -> list[str]:
        return [await answers(hass, llm_server, by="conversation", device_id=item, **fields) for item in devices_heard]

    assert await heard() == ["Home Agent"] * 3
    hass.config_entries.async_update_entry(entry, options={"agent_rules": rules, "choose_in_conversations": True})
    await hass.async_block_till_done()
    assert await heard() == ["Night", "Guest", "Home Agent"]
    assert await heard(agent_id="conversation.guest") == ["Guest"] * 3  # only those of the default agent
    assert await answers(hass, llm_server, profile="Home Agent") == "Home Agent"


async def test_own_histories(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    """In one conversation of a person, who answers changes, and nobody is sent what was said to another one."""
    anna = Context(user_id=hass_admin_user.id)
    rules = [{"agent": "night", "users": [hass_admin_user.id]}]
    await start(hass, llm_server, agent_rules=rules, choose_in_conversations=True)
    first = await say(hass, "My secret is plum.", context=anna)
    assert "You are Night." in str(llm_server.request.body["messages"][0])
    again = await say(hass, "And mine is pear.", first.conversation_id, context=anna)
    assert again.conversation_id == first.conversation_id
    assert [item["role"] for item in llm_server.request.body["messages"]] == ["system", "user", "assistant", "user"]
    await say(hass, "What was said?")  # nobody: the default agent answers
    assert "You are Home Agent." in str(llm_server.request.body["messages"][0])
    assert not any(word in llm_server.request.raw.decode() for word in ("plum", "pear"))
    await say(hass, "What was said?", agent_id="conversation.guest", context=anna)
    assert not any(word in llm_server.request.raw.decode() for word in ("plum", "pear"))


async def test_a_yes_goes_to_its_agent(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    """It is asked and confirmed under the rules of the agent that answers, not of the one that heard it."""
    anna = Context(user_id=hass_admin_user.id)
    rules = [{"agent": "guest", "users": [hass_admin_user.id]}]
    options = {"agent_rules": rules, "choose_in_conversations": True}
    llm_server.respond(lambda _body: text("Well."))
    await set_up(hass, llm_server, options=options, more=[agent(2, "Guest")], profile={"never_offer": ["lock"]})
    llm_server.plan(tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"}))
    asked = await say(hass, "open up", context=anna)
    assert speech(asked).endswith("?")
    await say(hass, "yes", asked.conversation_id, context=anna)
    await hass.async_block_till_done()
    assert state_of(hass, "lock.front_door") in ("unlocking", "unlocked")


AT = {
    "always": ({}, MONDAY, True),
    "in a window": ({"after": "11:00:00", "before": "13:00:00"}, MONDAY, True),
    "when it ends": ({"after": "11:00:00", "before": "12:00:00"}, MONDAY, False),
    "when it begins": ({"after": "12:00:00"}, MONDAY, True),
    "before it": ({"after": "12:00:01"}, MONDAY, False),
    "until": ({"before": "12:00:01"}, MONDAY, True),
    "over midnight, before": ({"after": "22:00:00", "before": "06:00:00"}, MONDAY.replace(hour=23), True),
    "over midnight, after": ({"after": "22:00:00", "before": "06:00:00"}, MONDAY.replace(hour=5), True),
    "over midnight, by day": ({"after": "22:00:00", "before": "06:00:00"}, MONDAY, False),
    "until midnight": ({"before": "00:00:00"}, MONDAY.replace(hour=23, minute=59), True),
    "until midnight, on a day": ({"before": "00:00:00", "weekdays": ["mon"]}, MONDAY, True),
    "until midnight, on another day": ({"before": "00:00:00", "weekdays": ["sun"]}, MONDAY, False),
    "an evening until midnight": ({"after": "22:00:00", "before": "00:00:00"}, MONDAY.replace(hour=23), True),
    "behind such an evening": ({"after": "22:00:00", "before": "00:00:00"}, MONDAY.replace(hour=0), False),
    "over midnight, when it begins": ({"after": "12:00:00", "before": "06:00:00"}, MONDAY, True),
    "over midnight, when it ends": ({"after": "22:00:00", "before": "12:00:00"}, MONDAY, False),
    "on a day": ({"weekdays": ["mon"]}, MONDAY, True),
    "on another day": ({"weekdays": ["tue", "sun"]}, MONDAY, False),
    "a night that began on Sunday": (
        {"after": "22:00:00", "before": "06:00:00", "weekdays": ["sun"]}, MONDAY.replace(hour=5), True,
    ),
    "a night that begins on Monday": (
        {"after": "22:00:00", "before": "06:00:00", "weekdays": ["mon"]}, MONDAY.replace(hour=5), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("when", "now", "fits"), AT.values(), ids=AT.keys())
async def test_rule_times(hass: HomeAssistant, freezer: Any, when: dict[str, Any], now: datetime, fits: bool) -> None:
    await hass.config.async_set_time_zone("US/Pacific")
    freezer.move_to(now)
    profiles = [Profile(subentry_id=id_, name=id_.title(), profile_id=id_) for id_ in ("day", "other")]
    registry = Registry(hass, profiles, {"agent_rules": [{"agent": "other", **when}]})
    assert registry.choose(None).name == ("Other" if fits else "Day")


async def test_where_a_satellite_is(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """In the area of its own, if it has one, else in that of its device, or it is the device."""
    areas = {name: ar.async_get(hass).async_get_or_create(name).id for name in ("Kitchen", "Bedroom", "Attic")}
    (demo,) = hass.config_entries.async_entries("demo")
    devices, entities = dr.async_get(hass), er.async_get(hass)
    device = devices.async_get_or_create(config_entry_id=demo.entry_id, identifiers={("demo", "speaker")})
    devices.async_update_device(device.id, area_id=areas["Kitchen"])
    satellite = entities.async_get_or_create("assist_satellite", "demo", "1", device_id=device.id)

    async def chosen(*, known: bool = True, **rule: Any) -> str:
        options = {"agent_rules": [{"agent": "night", **rule}], "choose_in_conversations": True}
        hass.config_entries.async_update_entry(entry, options=options)
        await hass.async_block_till_done()
        where = {"device_id": device.id if known else None, "satellite_id": satellite.entity_id}
        return await answers(hass, llm_server, by="conversation", **where)

    entry = await start(hass, llm_server)
    assert await chosen(areas=[areas["Kitchen"]]) == "Night"
    assert await chosen(areas=[areas["Kitchen"]], known=False) == "Night"
    assert await chosen(devices=[device.id]) == "Night"
    entities.async_update_entity(satellite.entity_id, name="Microphone", area_id=areas["Bedroom"])
    assert await chosen(areas=[areas["Kitchen"]]) == "Home Agent"
    assert await chosen(areas=[areas["Bedroom"]]) == "Night"
    assert await chosen(areas=[areas["Attic"]], devices=[device.id]) == "Night"
    assert await chosen(areas=[areas["Attic"]]) == "Home Agent"


async def test_all_conditions_of_a_rule_have_to_hold(hass: HomeAssistant) -> None:
    profiles = [Profile(subentry_id=id_, name=id_.title(), profile_id=id_) for id_ in ("day", "other")]
    row = {"agent": "other", "users": ["anna"], "devices": ["d"], "areas": ["kitchen"]}
    registry = Registry(hass, profiles, {"agent_rules": [row]})
    asked = {("anna", "d"): "Other", ("bob", "d"): "Day", ("anna", "e"): "Day", ("anna", None): "Day"}
    assert {who: registry.choose(*who).name for who in asked} == asked


async def test_the_form(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    entry = await start(hass, llm_server)
    flows = hass.config_entries.options

    async def page() -> Any:
        menu = await flows.async_init(entry.entry_id)
        return await flows.async_configure(menu["flow_id"], {"next_step_id": "agents"})

    form = await page()
    assert shown(form)["default_service_profile_id"] == "home_agent"
    row = {"agent": "night", "users": [hass_admin_user.id], "after": "22:00:00", "before": "06:00:00", "areas": []}
    wrong = {
        "rule_agent": {"agent": "gone", "users": [hass_admin_user.id]},
        "rule_empty": {"agent": "night", "users": []},
        "rule_times": {"agent": "night", "after": "06:00:00", "before": "06:00:00"},
    }
    for error, item in wrong.items():
        values: dict[str, Any] = {"default_service_profile_id": "guest", "agent_rules": [row, item]}
        form = await flows.async_configure(form["flow_id"], arranged(form, values))
        assert (form["errors"], form["description_placeholders"]) == ({"base": error}, {"number": "2"})
        assert set(fields(form)) == {"default_service_profile_id", "agent_rules", "choose_in_conversations"}
    values |= {"agent_rules": [row], "choose_in_conversations": True}
    await flows.async_configure(form["flow_id"], arranged(form, values))
    await hass.async_block_till_done()
    stored = {key: value for key, value in row.items() if value}
    assert entry.options == {
        "default_service_profile_id": "guest", "agent_rules": [stored], "choose_in_conversations": True
    }  # fmt: skip
    assert shown(await page())["agent_rules"] == [stored]


async def test_removed_things_in_a_form(hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser) -> None:
    """What names nothing any more is not suggested; a rule that could never fit is not one for everybody."""
    kitchen = ar.async_get(hass).async_get_or_create("Kitchen").id
    away = MockUser(name="Away", is_active=False).add_to_hass(hass)
    rules = [
        {"agent": "night", "users": ["gone", hass_admin_user.id]},
        {"agent": "night", "users": ["gone"], "weekdays": ["mon"]},
        {"agent": "guest", "devices": ["gone"], "areas": ["gone", kitchen]},
        {"agent": "guest", "devices": ["gone"], "areas": ["gone"], "after": "22:00:00"},
        {"agent": "guest", "users": [away.id]},
        {"agent": "guest", "after": "22:00:00"},
    ]
    entry = await start(hass, llm_server, default_service_profile_id="gone", agent_rules=rules)
    flows = hass.config_entries.options
    menu = await flows.async_init(entry.entry_id)
    form: Any = await flows.async_configure(menu["flow_id"], {"next_step_id": "agents"})
    left = [
        {"agent": "night", "users": [hass_admin_user.id]}, {"agent": "guest", "areas": [kitchen]},
        {"agent": "guest", "users": [away.id]}, {"agent": "guest", "after": "22:00:00"},
    ]  # fmt: skip
    assert (shown(form)["default_service_profile_id"], shown(form)["agent_rules"]) == ("home_agent", left)
    done = await flows.async_configure(form["flow_id"], arranged(form, shown(form)))
    await hass.async_block_till_done()
    assert done["type"] == "menu"
    assert (entry.options["default_service_profile_id"], entry.options["agent_rules"]) == ("home_agent", left)
