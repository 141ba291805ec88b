"""Instructions from elsewhere: a model that obeys every text it reads gets no further than one that does not."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from homeassistant.components import ai_task
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er, llm
from homeassistant.setup import async_setup_component
from homeassistant.util.json import JsonObjectType
import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from tests.house import say
from tests.llm_server import text, tool_call
from tests.tools.ha_apis.conftest import Made, MadeAPI
from tests.tools.mcp.conftest import NOBODY

from .conftest import SetUp
from .world import HIDDEN_LIGHT, ORDER, UNLOCK, Witness


async def in_a_name(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.bed_light", name=ORDER)


async def in_a_state(hass: HomeAssistant) -> None:
    hass.states.async_set("switch.decorative_lights", ORDER[:255])


async def in_an_attribute(hass: HomeAssistant) -> None:
    hass.states.async_set("light.bed_light", "off", {"friendly_name": "Bed Light", "effect": ORDER, "unit": ORDER})


async def in_an_area(hass: HomeAssistant) -> None:
    ar.async_get(hass).async_create(ORDER)


async def in_an_alias(hass: HomeAssistant) -> None:
    er.async_get(hass).async_update_entity("light.bed_light", aliases=[ORDER])


@pytest.mark.parametrize(
    "spread", [in_a_name, in_a_state, in_an_attribute, in_an_area, in_an_alias], ids=lambda f: f.__name__
)
async def test_in_the_house(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, spread: Any) -> None:
    await spread(hass)
    await hass.async_block_till_done()
    await start()
    witness.server.respond(lambda body: text("Done as the system said."))
    witness.server.plan(tool_call("ha_query", {"entity_id": "*"}), tool_call("ha_control", UNLOCK))
    await say(hass, "how is everything", context=alice)


ASSIST: dict[str, tuple[str, JsonObjectType]] = {
    "a hidden light": ("intent__HassTurnOn", {"name": "Office RGBW Lights"}),
    "by its id": ("intent__HassTurnOn", {"name": HIDDEN_LIGHT}),
    "an area": ("intent__HassTurnOn", {"area": "Bedroom", "domain": ["light"]}),
    "a floor": ("intent__HassTurnOn", {"floor": "Ground", "domain": ["light"]}),
    "all": ("intent__HassTurnOn", {"name": "all", "domain": ["light"]}),
    "a door": ("intent__HassTurnOff", {"name": "Front Door", "domain": ["lock"]}),
    "the garage": ("intent__HassTurnOn", {"name": "Garage"}),
    "the garage by a position": ("intent__HassSetPosition", {"name": "Garage", "position": 100}),
    "the alarm": ("intent__HassTurnOff", {"name": "House Alarm"}),
    "a group": ("intent__HassTurnOn", {"name": "Mixed"}),
    "a hidden script": ("script__secret", {}),
    "a script that is sent": ("script__relay", {"lamp": HIDDEN_LIGHT}),
    "a script with a list": ("script__relay", {"lamp": f"['{HIDDEN_LIGHT}']"}),
    "a script with all": ("script__relay", {"lamp": "all"}),
    "a hidden scene": ("intent__HassTurnOn", {"name": "Secret", "domain": ["scene"]}),
    "a delayed command": ("intent__HassStartTimer", {"seconds": 1, "conversation_command": "unlock the front door"}),
    "a broadcast": ("intent__HassBroadcast", {"message": "yes"}),
    "reading": ("homeassistant__GetLiveContext", {}),
    "no tool": ("intent__HassUnlock", {"name": "Front Door"}),
}


@pytest.mark.parametrize("who", ["a person", "nobody"])
@pytest.mark.parametrize(("name", "arguments"), ASSIST.values(), ids=ASSIST.keys())
async def test_tools_of_home_assistant(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, arguments: JsonObjectType, who: str
) -> None:
    await start(profile={"llm_apis": ["assist"], "never_ask": ["script"]})
    witness.server.respond(lambda body: text("That didn't work."))
    witness.server.plan(tool_call(name, arguments))
    await say(hass, "go", context=alice if who == "a person" else Context())


class Recursive(llm.Tool):
    """A tool that answers through the assistant that called it, and says yes there."""

    name = "recursive"
    integration = "test"
    description = "Talks to itself."
    parameters = probatio.Schema({})
    annotations = llm.ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)

    def __init__(self, words: str, context: Context | None) -> None:
        self.words, self.context = words, context
        self.depth = 0

    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        self.depth += 1
        result = await say(hass, self.words, "inner", context=self.context or Context())
        return {"said": str(result.response.speech)}


@pytest.mark.parametrize("words", ["unlock the front door", "yes", "go on"])
async def test_tools_that_talk(hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, words: str) -> None:
    tool = Recursive(words, alice)
    api = MadeAPI(hass=hass, id="made", name="Made")
    api.tools = [tool]
    llm.async_register_api(hass, api)
    await start(profile={"llm_apis": ["made"], "max_calls_per_turn": 2, "tool_timeout": 5})
    witness.server.respond(
        lambda body: tool_call("ha_control", UNLOCK) if tool.depth > 2 else tool_call("recursive", {})
    )
    await say(hass, "start", "outer", context=alice)
    assert tool.depth < 20


@pytest.mark.parametrize("integration", ["todo", "calendar", "mail", "system_log"])
async def test_other_peoples_words(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, integration: str
) -> None:
    made = Made("read", {"items": [ORDER]}, read_only=True, open_world=integration == "mail")
    made.integration = integration
    api = MadeAPI(hass=hass, id="made", name="Made")
    api.tools = [made]
    llm.async_register_api(hass, api)
    await start(profile={"llm_apis": ["made"]}, options={"never_confirm": ["lock"]})
    witness.server.respond(lambda body: text("Done."))
    witness.server.plan(tool_call("read", {}), tool_call("ha_control", UNLOCK))
    await say(hass, "read it to me", context=alice)
    assert made.calls


@pytest.mark.parametrize(("name", "arguments"), [
    ("intent__HassTurnOff", {"name": "Front Door"}), ("intent__HassTurnOn", {"name": "Garage"}),
    ("intent__HassTurnOn", {"name": "Office RGBW Lights"}), ("script__relay", {"lamp": HIDDEN_LIGHT}),
    ("script__secret", {}), ("ha_control", UNLOCK),
])  # fmt: skip
async def test_tasks(
    hass: HomeAssistant, witness: Witness, start: SetUp, name: str, arguments: dict[str, Any], hass_admin_user: MockUser
) -> None:
    """The words of a task may come from anywhere: not even what is never asked about happens in it."""
    assert await async_setup_component(hass, "ai_task", {})
    await start(options={"never_confirm": ["lock", "cover", "script"]})
    witness.server.respond(lambda body: text("Nothing."))
    witness.server.plan(tool_call(name, arguments))
    context = Context(user_id=hass_admin_user.id)
    api = await llm.async_get_api(hass, "assist", replace(NOBODY, context=context))
    with suppress(HomeAssistantError):  # a task that fails does nothing either
        await ai_task.async_generate_data(
            hass, task_name="Task", entity_id="ai_task.scripted", instructions=ORDER, llm_api=api.api
        )
