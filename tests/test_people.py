"""Which people an agent is for: it refuses all others, at each door."""

from collections.abc import Sequence
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.intent.const import TIMER_DATA
from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import llm
import pytest
from pytest_homeassistant_custom_component.common import MockUser, async_fire_time_changed

from custom_components.home_agent.settings.profile import NO_USER
from custom_components.home_agent.support.const import DOMAIN
from tests.flows.forms import change, fields, resend, send
from tests.house import act, agent, person, say, set_up, speech, state_of, subentry
from tests.llm_server import LLMServer, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")

LIGHT = "light.bed_light"
ON = "turn on the bed light"
REFUSED = "Home Agent is not set up for you."
UNKNOWN = "Home Agent only answers certain people"


def only(*people: str | Context, **settings: Any) -> dict[str, Any]:
    """Return the settings of an agent that is for these people."""
    return {"people": [str(one.user_id) if isinstance(one, Context) else one for one in people], **settings}


def again(context: Context) -> Context:
    """Return a new context of the same user, as each message has."""
    return Context(user_id=context.user_id)


async def _was_done(hass: HomeAssistant, said: str = ON, **fields: Any) -> tuple[bool, str]:
    """Say something; return whether the light went on, and the answer."""
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
    answer = speech(await say(hass, said, **fields))
    return state_of(hass, LIGHT) == "on", answer


async def test_it_answers_those_that_are_chosen(hass: HomeAssistant) -> None:
    alice, bob = person(hass, "Alice"), person(hass, "Bob")
    await set_up(hass, profile=only(alice))
    assert (await _was_done(hass, context=alice))[0]
    done, answer = await _was_done(hass, context=bob)
    assert not done
    assert answer.startswith(REFUSED)


async def test_with_nothing_chosen_it_answers_everyone(hass: HomeAssistant) -> None:
    await set_up(hass, profile=only())
    for context in (person(hass), Context(), Context(user_id=MockUser(is_owner=True).add_to_hass(hass).id)):
        assert (await _was_done(hass, context=context))[0]


async def test_an_administrator_is_no_exception(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass, profile=only(person(hass)))
    assert not (await _was_done(hass, context=Context(user_id=hass_admin_user.id)))[0]


@pytest.mark.parametrize(("chosen", "done"), [((), False), ((NO_USER,), True)])
@pytest.mark.parametrize("fields", [{}, {"device_id": "satellite"}, {"satellite_id": "assist_satellite.hall"}])
async def test_who_speaks_without_a_user_has_a_choice_of_its_own(
    hass: HomeAssistant, chosen: Sequence[str], done: bool, fields: dict[str, Any]
) -> None:
    await set_up(hass, profile=only(person(hass), *chosen))
    was_done, answer = await _was_done(hass, **fields)
    assert was_done is done
    assert answer.startswith(UNKNOWN) is not done


async def test_only_voice_devices(hass: HomeAssistant) -> None:
    await set_up(hass, profile=only(NO_USER))
    assert (await _was_done(hass, device_id="satellite"))[0]
    assert not (await _was_done(hass, context=person(hass)))[0]


@pytest.mark.parametrize("user_id", ["0" * 32, NO_USER])
async def test_a_user_that_is_gone_is_no_voice_device(hass: HomeAssistant, user_id: str) -> None:
    await set_up(hass, profile=only(person(hass), "1" * 32))
    assert not (await _was_done(hass, context=Context(user_id=user_id)))[0]


async def test_the_model_hears_nothing_of_who_is_refused(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server, profile=only(person(hass)))
    assert speech(await say(hass, "What do you know of Alice?", context=person(hass, "Bob"))).startswith(REFUSED)
    assert not llm_server.requests


async def test_it_is_said_in_the_language_of_who_is_refused(hass: HomeAssistant) -> None:
    await set_up(hass, profile=only(person(hass)))
    answer = speech(await say(hass, "Schalte Bed Light ein", context=person(hass, "Bob"), language="de"))
    assert answer.startswith("Home Agent ist nicht für dich eingerichtet.")


async def test_the_action_process_is_refused_as_well(hass: HomeAssistant) -> None:
    alice, bob = person(hass, "Alice"), person(hass, "Bob")
    await set_up(hass, profile=only(alice))
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
    for context, refused in ((bob, REFUSED), (Context(), UNKNOWN)):
        for named in ({}, {"profile": "Home Agent"}):
            answer = await act(hass, "process", again(context), text=ON, **named)
            assert str(answer["answer"]).startswith(refused)
    assert state_of(hass, LIGHT) == "off"
    await act(hass, "process", alice, text=ON)
    assert state_of(hass, LIGHT) == "on"


async def test_the_action_execute_tool_is_refused_as_well(hass: HomeAssistant, hass_admin_user: MockUser) -> None:
    await set_up(hass, profile=only(person(hass)))
    call = {"tool_name": "ha_control", "parameters": {"action": "turn_on", "entity_id": LIGHT}}
    for context in (Context(user_id=hass_admin_user.id), Context()):
        with pytest.raises(ServiceValidationError):
            await act(hass, "execute_tool", context, **call)


KIDS = {"slash_commands": ["kids"], "description": "Short answers."}


@pytest.mark.parametrize(("first", "second"), [
    ("bob", "alice"),  # the agent of the command is for others
    ("alice", "bob"),  # the agent that hears the command is
])  # fmt: skip
async def test_no_command_leads_around_it(hass: HomeAssistant, first: str, second: str) -> None:
    people = {"alice": person(hass, "Alice"), "bob": person(hass, "Bob")}
    kids = agent(2, "Kids", **only(people[second], **KIDS))
    await set_up(hass, profile=only(people[first]), more=[kids])
    done, answer = await _was_done(hass, f"/kids {ON}", context=people["bob"])
    assert not done
    assert "is not set up for you." in answer


async def test_a_rule_of_the_home_leads_to_an_agent_that_is_for_the_user(hass: HomeAssistant) -> None:
    alice, bob = person(hass, "Alice"), person(hass, "Bob")
    rule = {"agent": "kids", "users": [str(bob.user_id)]}
    await set_up(
        hass,
        profile=only(alice),
        more=[agent(2, "Kids", local_first=True, **only(bob))],
        options={"agent_rules": [rule], "choose_in_conversations": True},
    )
    assert (await _was_done(hass, context=bob))[0]
    assert not (await _was_done(hass, context=person(hass, "Eve")))[0]


async def test_help_lists_the_commands_that_the_user_may_use(hass: HomeAssistant) -> None:
    alice = person(hass, "Alice")
    await set_up(hass, more=[agent(2, "Kids", **only(alice, **KIDS))])
    assert "/kids" in speech(await say(hass, "/help", context=alice))
    assert "/kids" not in speech(await say(hass, "/help", context=person(hass, "Bob")))


def _expert(*people: str | Context) -> ConfigSubentryDataWithId:
    return subentry(
        "profile", "Expert", "profile-2", only(*people, delegation_level="unrestricted", description="Doors.")
    )


async def test_no_other_agent_hands_on_to_it(hass: HomeAssistant, llm_server: LLMServer) -> None:
    alice, bob = person(hass, "Alice"), person(hass, "Bob")
    await set_up(hass, llm_server, profile={"delegate_to": ["profile-2"]}, more=[_expert(alice)])
    ask = tool_call("delegate_to_service", {"target_service_id": "expert", "user_request": ON})
    for context, expected in ((bob, "off"), (alice, "on")):
        await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
        llm_server.plan(ask, text("So be it."))
        await say(hass, "let the expert turn on the bed light", context=context)
        assert state_of(hass, LIGHT) == expected


async def test_a_yes_of_who_may_no_longer_use_it_does_nothing(hass: HomeAssistant) -> None:
    alice = person(hass, "Alice")
    entry = await set_up(hass, profile=only(alice))
    asked = await say(hass, "unlock the front door", context=alice)
    assert asked.continue_conversation
    [question] = entry.runtime_data.policy.confirmations.open()
    hass.config_entries.async_update_subentry(entry, entry.subentries["profile-1"], data=only(person(hass, "Bob")))
    await hass.async_block_till_done()
    assert speech(await say(hass, "yes", asked.conversation_id, context=again(alice))).startswith(REFUSED)
    answer = await act(hass, "confirm", again(alice), request_id=question.id)
    assert not answer["success"]
    assert state_of(hass, "lock.front_door") == "locked"


async def test_a_program_has_its_tools_only_for_those(hass: HomeAssistant) -> None:
    alice, bob = person(hass, "Alice"), person(hass, "Bob")
    await set_up(hass, profile=only(alice, offer_tools=True))
    [api] = [api for api in llm.async_get_apis(hass) if api.id.startswith(DOMAIN)]
    call = llm.ToolInput(tool_name="ha_control", tool_args={"action": "turn_on", "entity_id": LIGHT})
    for context, expected in ((bob, "off"), (None, "off"), (alice, "on")):
        await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
        caller = llm.LLMContext(
            platform="mcp", context=context, language="en", assistant="conversation", device_id=None
        )
        result = await (await api.async_get_api_instance(caller)).async_call_tool(call)
        assert state_of(hass, LIGHT) == expected
        assert result.error is (expected == "off")


async def test_what_was_left_for_later_is_done(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    alice = person(hass, "Alice")
    await set_up(hass, profile=only(alice))
    await hass.services.async_call("light", "turn_off", {"entity_id": LIGHT}, blocking=True)
    await say(hass, "turn on the bed light in 5 minutes", context=alice)
    freezer.tick(301)
    async_fire_time_changed(hass)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert state_of(hass, LIGHT) == "on"
    assert not (await _was_done(hass, "turn on the bed light please"))[0]


async def test_nothing_is_left_for_later_by_who_is_refused(hass: HomeAssistant) -> None:
    await set_up(hass, profile=only(person(hass)))
    await say(hass, "turn on the bed light in 5 minutes", context=person(hass, "Bob"))
    assert not hass.data[TIMER_DATA].timers


async def test_the_form_offers_the_people_of_the_home(hass: HomeAssistant) -> None:
    alice = person(hass, "Alice")
    entry = await set_up(hass, profile=only("1" * 32))
    form = await change(hass, entry)
    options = {item["value"]: item["label"] for item in fields(form)["people"]["selector"]["select"]["options"]}
    assert options[str(alice.user_id)] == "Alice"
    assert {NO_USER, "1" * 32} <= options.keys()
    assert "System" not in options.values()
    await resend(hass, form, people=[alice.user_id, NO_USER])
    assert entry.subentries["profile-1"].data["people"] == [alice.user_id, NO_USER]
    await resend(hass, await change(hass, entry), people=[])
    assert "people" not in entry.subentries["profile-1"].data


async def test_yaml_names_people(hass: HomeAssistant) -> None:
    alice, twin, other = person(hass, "Alice"), person(hass, "Kim"), person(hass, "kim")
    entry = await set_up(hass, profile=only(alice, twin, NO_USER, "1" * 32))
    form = await send(hass, await resend(hass, await change(hass, entry), more=True), next_step_id="yaml")
    written = form["data_schema"].schema
    told = next(key.description["suggested_value"] for key in written)
    assert "- Alice\n" in told
    assert f"- {twin.user_id}\n" in told
    assert f"- {NO_USER}\n" in told
    for name, expected in (("alice", [alice.user_id]), (other.user_id, [other.user_id]), (NO_USER, [NO_USER])):
        form = await send(hass, await resend(hass, await change(hass, entry), more=True), next_step_id="yaml")
        first = await send(hass, form, yaml=f"people: [{name}]")
        await resend(hass, first)
        assert entry.subentries["profile-1"].data["people"] == expected
    form = await send(hass, await resend(hass, await change(hass, entry), more=True), next_step_id="yaml")
    wrong = await send(hass, form, yaml="people: [Zoe]")
    assert wrong["errors"] == {"yaml": "yaml_problems"}
    assert "Zoe" in wrong["description_placeholders"]["problems"]
