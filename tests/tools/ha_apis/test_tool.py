"""One foreign tool: its class, its arguments, its result, its name."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent, issue_registry as ir, llm
from homeassistant.helpers.intent import IntentResponse
from homeassistant.util import dt as dt_util
import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import ToolError, ToolRefusal
from custom_components.home_agent.tools import ha_apis
from custom_components.home_agent.tools.ha_apis import ApiIntent, ApiRemoteTool, ApiScript, ApiTool, ApiTools, wrapped
from custom_components.home_agent.tools.sanitize import MAX_RESULT, plain_result
from custom_components.home_agent.turn.plan import ActionClass
from custom_components.home_agent.turn.turn import Turn
from tests.tools.ha_apis.conftest import Made, MadeAPI, Register

type MakeTurn = Callable[..., Turn]

CONTEXT = llm.LLMContext(platform="test", context=None, language="en", assistant="conversation", device_id=None)


def instance_of(hass: HomeAssistant, *tools: llm.Tool, api_id: str = "made", **fields: Any) -> llm.APIInstance:
    api = MadeAPI(hass=hass, id=api_id, name="Made", **fields)
    return llm.APIInstance(api=api, api_prompt="", llm_context=CONTEXT, tools=[*tools])


def tool_of(hass: HomeAssistant, tool: llm.Tool) -> Any:
    (made,) = wrapped([instance_of(hass, tool)])
    return made


def names(*instances: llm.APIInstance) -> list[str]:
    return [tool.name for tool in wrapped(instances)]


@pytest.mark.parametrize(("annotations", "action", "outside"), [
    pytest.param({}, ActionClass.SENSITIVE, True, id="says nothing"),
    pytest.param({"read_only": True}, ActionClass.READ, True, id="reads, from anywhere"),
    pytest.param({"read_only": True, "open_world": False}, ActionClass.READ, False, id="reads the house"),
    pytest.param({"destructive": False, "open_world": False}, ActionClass.WRITE, False, id="adds something"),
    pytest.param({"destructive": True, "open_world": False}, ActionClass.SENSITIVE, False, id="may harm"),
])  # fmt: skip
async def test_a_tool_is_judged_by_what_it_says_of_itself(
    hass: HomeAssistant, make_turn: MakeTurn, annotations: dict[str, bool], action: ActionClass, outside: bool
) -> None:
    made = Made("weather", {}, **annotations)
    made.title = "Weather"
    plan = await tool_of(hass, made).plan(hass, {}, make_turn())
    assert (plan.action, plan.outside, plan.subject) == (action, outside, "Weather")
    assert plan.reasons == (("destructive",) if action is ActionClass.SENSITIVE else ())


@pytest.mark.parametrize(("integration", "name", "action", "outside"), [
    pytest.param("calendar", "calendar__look", ActionClass.READ, True, id="what others wrote"),
    pytest.param("light", "light__look", ActionClass.READ, False, id="the house"),
])  # fmt: skip
async def test_entries_that_others_wrote_taint(
    hass: HomeAssistant, make_turn: MakeTurn, integration: str, name: str, action: ActionClass, outside: bool
) -> None:
    made = Made(name, {}, read_only=True, open_world=False)
    made.integration = integration
    plan = await tool_of(hass, made).plan(hass, {}, make_turn())
    assert (plan.action, plan.outside) == (action, outside)


async def test_reloading_an_integration_stops_a_part_of_the_house(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    made = Made("config__reload_config_entry", {}, destructive=False, open_world=False)
    plan = await tool_of(hass, made).plan(hass, {}, make_turn())
    assert (plan.action, next(iter(plan.reasons), None)) == (ActionClass.SENSITIVE, "restart")


async def test_entities_in_the_arguments_are_targets(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    schema = {probatio.Optional("where"): object}
    tool = tool_of(hass, Made("x", {}, schema, read_only=True))
    args = {"where": {"Light.A": [" lock.b,cover.c", 5, "no id", "http.example"], "more": ("switch.d",)}}
    plan = await tool.plan(hass, args, make_turn())
    assert plan.targets == ("light.a", "lock.b", "cover.c", "switch.d")


async def test_arguments_pass_the_tool_s_own_schema(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    tool = tool_of(hass, Made("x", {}, {probatio.Required("city"): str}))
    with pytest.raises(probatio.Invalid):
        await tool.plan(hass, {"town": "Rome"}, make_turn())


async def test_the_tool_is_called_as_whoever_asks_now(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    made = Made("x", {"temperature": 3}, {probatio.Required("city"): str}, read_only=True)
    tool = tool_of(hass, made)
    args = {"city": "Rome"}
    turn = make_turn(context=Context(user_id="anna"), language="it", device_id="d")
    result = await tool.run(hass, args, await tool.plan(hass, args, turn), turn)
    assert result == {"temperature": 3}
    ((given, context),) = made.calls
    assert given == args
    assert given is not args
    assert (context.context, context.language, context.device_id) == (turn.context, "it", "d")


async def test_only_administrators_use_what_asks_for_them(
    hass: HomeAssistant, make_turn: MakeTurn, hass_admin_user: MockUser, hass_read_only_user: MockUser
) -> None:
    instance = instance_of(hass, Made("x", {}, read_only=True))
    assert isinstance(instance.api, MadeAPI)
    instance.api.ask_for_admin()
    (tool,) = wrapped([instance])
    for user in (None, hass_read_only_user):
        with pytest.raises(ToolError):
            await tool.plan(hass, {}, make_turn(user=user))
    assert await tool.plan(hass, {}, make_turn(user=hass_admin_user))


async def test_a_collection_for_administrators_is_not_offered_to_others(
    hass: HomeAssistant, register: Register, hass_admin_user: MockUser, hass_read_only_user: MockUser
) -> None:
    register(Made("x", {})).ask_for_admin()
    provider = ApiTools(hass)
    offered = []
    for user_id in (None, hass_read_only_user.id, hass_admin_user.id):
        context = llm.LLMContext("test", Context(user_id=user_id), "en", "conversation", None)
        offered.append(len(await provider.async_tools(Profile(llm_apis=("made",)), context)))
    assert offered == [0, 0, 1]


@pytest.mark.parametrize(
    "error", [HomeAssistantError("it sleeps"), ValueError("it sleeps"), None], ids=["", "odd", "silent"]
)
async def test_a_collection_that_fails_leaves_the_others(
    hass: HomeAssistant,
    register: Register,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception | None,
) -> None:
    monkeypatch.setattr(ha_apis, "TIMEOUT", 0.05)

    class Failing(MadeAPI):
        async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
            if error is None:
                await asyncio.Event().wait()
            raise error or AssertionError

    llm.async_register_api(hass, Failing(hass=hass, id="failing", name="Failing"))
    register(Made("x", {}))
    profile = Profile(llm_apis=("failing", "made"))
    provider = ApiTools(hass)
    for _ in range(2):
        assert [tool.name for tool in await provider.async_tools(profile, CONTEXT)] == ["x"]
    assert caplog.text.count("The tools of Failing") == 1  # an outage is logged once


async def test_our_own_tools_are_never_foreign(hass: HomeAssistant, register: Register) -> None:
    register(Made("x", {}), api_id="home_agent-profile-2")
    profile = Profile(subentry_id="profile-1", llm_apis=("home_agent-profile-2",))
    assert not await ApiTools(hass).async_tools(profile, CONTEXT)
    told = ir.async_get(hass).async_get_issue(DOMAIN, "llm_api_missing_profile-1")
    assert told is not None
    assert told.translation_placeholders == {"profile": "", "apis": "home_agent-profile-2"}


def test_names_are_what_models_take_and_unique(hass: HomeAssistant) -> None:
    assert names(instance_of(hass, Made("search.docs/now", {}))) == ["search_docs_now"]
    assert names(instance_of(hass, Made("x" * 100, {}))) == ["x" * 64]
    first = instance_of(hass, Made("search", {}), Made("a", {}), api_id="mcp-one")
    second = instance_of(hass, Made("search", {}), Made("b", {}), api_id="mcp-two")
    assert names(first, second) == ["mcp_one__search", "mcp_two__search", "a", "b"]
    assert names(instance_of(hass, Made("s d", {}), Made("s.d", {}))) == ["made__s_d", "made__s_d_2"]
    assert names(instance_of(hass, Made("查询", {}))) == ["cha_xun"]


def test_tools_that_are_the_same_are_offered_once(hass: HomeAssistant) -> None:
    made = Made("now", {})
    assert names(instance_of(hass, made), instance_of(hass, made, api_id="other")) == ["now"]


def test_a_tool_under_a_namespace_is_the_tool_itself(hass: HomeAssistant) -> None:
    made = Made("script__bell", {})
    made.integration = "script"
    tool = tool_of(hass, llm.NamespacedTool("assist", made))
    assert (tool.name, type(tool), tool.entity_id) == ("script__bell", ApiScript, "script.bell")


def remote(name: str, *, description: str = "Does something", **annotations: Any) -> Made:
    """Return a tool of Home Assistant's client of MCP servers, as such a server declares it."""
    made = Made(name, {"content": "x"}, **annotations)
    made.integration, made.description = "mcp", description
    return made


@pytest.mark.parametrize(("declared", "action"), [
    pytest.param({"read_only": True, "open_world": False}, ActionClass.READ, id="reads"),
    pytest.param({"destructive": False, "open_world": False}, ActionClass.SENSITIVE, id="says it is harmless"),
    pytest.param(
        {"destructive": False, "open_world": False, "idempotent": True}, ActionClass.SENSITIVE, id="all of it",
    ),
    pytest.param({}, ActionClass.SENSITIVE, id="says nothing"),
])  # fmt: skip
async def test_what_a_server_declares_of_its_tools_is_its_word(
    hass: HomeAssistant, make_turn: MakeTurn, declared: dict[str, Any], action: ActionClass
) -> None:
    tool = tool_of(hass, remote("note", **declared))
    plan = await tool.plan(hass, {}, make_turn())
    assert (plan.action, plan.outside) == (action, True)
    assert tool.always_asks is (action is ActionClass.SENSITIVE)


async def test_a_yes_is_for_a_tool_as_its_server_describes_it(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    plans = [
        await tool_of(hass, made).plan(hass, {}, make_turn())
        for made in (
            remote("note"), remote("note"), remote("note", description="Burns it"), remote("note", read_only=True),
        )
    ]  # fmt: skip
    assert plans[0] == plans[1]
    assert len({plan.version for plan in plans}) == 3


async def test_a_yes_is_for_the_tool_that_was_asked_about(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    class Other(Made):
        """A tool of the same name that does something else."""

    described, other = Made("note", {}), Other("note", {})
    described.description = "Burns it"
    plans = [
        await tool_of(hass, made).plan(hass, {}, make_turn())
        for made in (Made("note", {}), Made("note", {}), described, other)
    ]
    assert plans[0] == plans[1]
    assert len({plan.version for plan in plans}) == 3


@pytest.mark.parametrize(("name", "known_as"), [
    ("note", "note"),
    ("script__bell", "script_bell"),
    ("homeassistant__call_action", "homeassistant_call_action"),
    ("calendar____get_events", "calendar_get_events"),
    ("__search", "search"),
    ("ha_control", "mcp_house_ha_control"),
    ("query_external_llm", "mcp_house_query_external_llm"),
    ("lock", "mcp_house_lock"),
    ("cover", "mcp_house_cover"),
    ("all", "mcp_house_all"),
])  # fmt: skip
def test_a_tool_of_a_server_bears_no_name_that_means_another(hass: HomeAssistant, name: str, known_as: str) -> None:
    (tool,) = wrapped([instance_of(hass, remote(name), api_id="mcp-house")])
    assert (tool.name, type(tool)) == (known_as, ApiRemoteTool)


@pytest.mark.parametrize("servers_come_first", [True, False])
def test_a_tool_of_a_server_changes_no_other_tool_s_name(hass: HomeAssistant, servers_come_first: bool) -> None:
    bell, found = Made("script__bell", {}), Made("web_search", {})
    bell.integration = "script"
    instances = [
        instance_of(hass, bell, found, api_id="assist"),
        instance_of(hass, remote("script__bell"), remote("web_search"), api_id="mcp-one"),
    ]
    tools = {tool.name: tool for tool in wrapped(reversed(instances) if servers_come_first else instances)}
    assert {name for name, tool in tools.items() if isinstance(tool, ApiRemoteTool)} == {
        "script_bell",
        "mcp_one_web_search",
    }
    assert {"script__bell", "web_search"} < set(tools)
    merged = instance_of(
        hass, llm.NamespacedTool("assist", bell), llm.NamespacedTool("mcp-one", remote("script__bell"))
    )
    assert names(merged) == ["script__bell", "script_bell"]  # as Home Assistant hands several collections to a task


def test_what_tells_of_everything_is_not_offered(hass: HomeAssistant) -> None:
    shown = [Made(name, {}) for name in ("homeassistant__render_template", "search__search", "homeassistant__x")]
    assert names(instance_of(hass, *shown)) == ["homeassistant__x"]


def test_a_schema_that_cannot_be_told_costs_one_tool(hass: HomeAssistant, caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Made):
        @property
        def parameters(self) -> Any:
            raise ValueError("odd")

        @parameters.setter
        def parameters(self, value: Any) -> None:
            pass

    assert names(instance_of(hass, Odd("odd", {}), Made("good", {}))) == ["good"]
    assert "odd" in caplog.text


def test_descriptions_are_bounded(hass: HomeAssistant) -> None:
    made = Made("x", {})
    made.description = "y" * 5000
    assert len(tool_of(hass, made).description) < 2100
    made.description = ""
    assert tool_of(hass, made).description is None


def test_special_types_are_told_in_the_words_of_the_api(hass: HomeAssistant) -> None:
    instance = instance_of(hass, Made("x", {}, {probatio.Required("when"): datetime}))
    instance.custom_serializer = lambda schema: {"type": "string"} if schema is datetime else probatio.UNSUPPORTED
    (tool,) = wrapped([instance])
    assert tool.wire_parameters["properties"] == {"when": {"type": "string"}}


@pytest.mark.parametrize(("result", "plain"), [
    pytest.param({"a": 1}, {"a": 1}, id="as older tools hand it back"),
    pytest.param(llm.ToolResult(data={"a": [1, None]}), {"a": [1, None]}, id="plain"),
    pytest.param({"at": dt_util.utc_from_timestamp(0)}, {"at": "1970-01-01T00:00:00+00:00"}, id="a date"),
    pytest.param({"a": {1}}, {"a": [1]}, id="a set"),
])  # fmt: skip
def test_results_are_plain(result: Any, plain: Any) -> None:
    assert plain_result(result) == plain


def test_a_long_result_is_cut_and_says_so() -> None:
    result = plain_result({"text": "x" * 50_000})
    assert isinstance(result, dict)
    assert len(str(result["text"])) == MAX_RESULT
    assert "16000 of 50011" in str(result["note"])


@pytest.mark.parametrize(
    ("data", "said"),
    [({"error": "no"}, "no"), ({"error": "X", "error_text": "no milk"}, "no milk"), ({"isError": True}, "isError")],
    ids=["error", "text", "anything"],
)
def test_an_error_of_a_tool_is_one_of_ours(data: Any, said: str) -> None:
    with pytest.raises(ToolRefusal, match=said):
        plain_result(llm.ToolResult(data=data, error=True))


def test_a_long_error_is_cut() -> None:
    with pytest.raises(ToolRefusal) as raised:
        plain_result(llm.ToolResult(data={"error": "x" * 9000}, error=True))
    assert len(str(raised.value)) < 1100


def test_an_intent_s_response_is_told_without_what_is_for_people() -> None:
    response = IntentResponse(language="en")
    response.async_set_speech("It is done.")
    result = plain_result(llm.ToolResult(data=llm.IntentResponseDict(response)))
    assert isinstance(result, dict)
    assert result["answer"] == "It is done."
    assert not {"speech", "card", "language"} & set(result)


def test_an_intent_s_error_is_one_of_ours() -> None:
    response = IntentResponse(language="en")
    response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, "The vacuum is stuck.")
    with pytest.raises(ToolRefusal, match="The vacuum is stuck"):
        plain_result(llm.ToolResult(data=llm.IntentResponseDict(response)))


class Handler(intent.IntentHandler):
    """An intent of another integration or of the owner."""

    intent_type = "OrderPizza"
    description = "Orders a pizza"
    slot_schema = {probatio.Optional("conversation_command"): str}  # noqa: RUF012

    async def async_handle(self, intent_obj: intent.Intent) -> IntentResponse:
        return intent_obj.create_response()


@pytest.mark.parametrize(("annotations", "args", "action", "reason"), [
    pytest.param({}, {}, ActionClass.SENSITIVE, "destructive", id="says nothing"),
    pytest.param({"read_only": True}, {}, ActionClass.READ, None, id="reads"),
    pytest.param({"open_world": False}, {}, ActionClass.SENSITIVE, "destructive", id="says that it stays in the home"),
    pytest.param(
        {"open_world": False}, {"conversation_command": "unlock the door"}, ActionClass.SENSITIVE, "delayed",
        id="happens later",
    ),
])  # fmt: skip
async def test_intents_by_what_is_known_of_them(
    hass: HomeAssistant,
    make_turn: MakeTurn,
    annotations: dict[str, bool],
    args: dict[str, Any],
    action: ActionClass,
    reason: str | None,
) -> None:
    handler = Handler()
    intent.async_register(hass, handler)
    made = llm.IntentTool("x__OrderPizza", handler, integration="x", annotations=llm.ToolAnnotations(**annotations))
    tool = tool_of(hass, made)
    assert isinstance(tool, ApiIntent)
    plan = await tool.plan(hass, args, make_turn())
    assert (plan.action, next(iter(plan.reasons), None)) == (action, reason)
    assert await tool.run(hass, args, plan, make_turn()) == {
        "response_type": "action_done",
        "data": {"success": [], "failed": []},
    }


def test_a_tool_of_unknown_kind_is_a_plain_one(hass: HomeAssistant) -> None:
    assert type(tool_of(hass, Made("x", {}))) is ApiTool
