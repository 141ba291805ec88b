"""Allow, ask or refuse: the order of the owner's lists, of what is sensitive, and of text from outside."""

from collections.abc import Callable
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonValueType
import pytest

from custom_components.home_agent.policy.policy import Decision, Rules, Verdict, rules_from_options
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.turn.plan import ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Turn

type MakeTurn = Callable[..., Turn]

READ = Plan(action=ActionClass.READ, targets=("lock.door",))
LIGHT = Plan(
    action=ActionClass.WRITE,
    targets=("light.bed",),
    effects=(ServiceCall(domain="light", service="turn_on", entity_ids=("light.bed",)),),
)
UNLOCK = Plan(
    action=ActionClass.SENSITIVE,
    targets=("lock.door", "light.bed"),
    effects=(
        ServiceCall(domain="lock", service="unlock", entity_ids=("lock.door",)),
        ServiceCall(domain="light", service="turn_off", entity_ids=("light.bed",)),
    ),
    reasons=("unlock",),
    sensitive=("lock.door",),
)
RESTART = Plan(
    action=ActionClass.SENSITIVE,
    effects=(ServiceCall(domain="homeassistant", service="restart", entity_ids=()),),
    reasons=("restart",),
)
REMOTE = Plan(action=ActionClass.SENSITIVE, subject="Shop", outside=True)


class Named(HomeAgentTool):
    annotations = llm.ToolAnnotations()

    def __init__(self, name: str) -> None:
        self.name = name

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        return READ

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        return None


TOOL = Named("ha_control")
ALLOW = Decision(Verdict.ALLOW)


def ask(*why: str) -> Decision:
    return Decision(Verdict.ASK, why)


def refuse(subject: str) -> Decision:
    return Decision(Verdict.REFUSE, subject=subject)


def lists(**named: str) -> dict[str, tuple[str, ...]]:
    return {key: tuple(value.split()) for key, value in named.items()}


@pytest.mark.parametrize(("plan", "listed", "decision"), [
    pytest.param(READ, {}, ALLOW, id="reading"),
    pytest.param(LIGHT, {}, ALLOW, id="a light"),
    pytest.param(UNLOCK, {}, ask("unlock"), id="a lock"),
    pytest.param(REMOTE, {}, ask("destructive"), id="a tool that calls itself destructive"),
    pytest.param(LIGHT, lists(always_ask="light.bed"), ask("always_ask"), id="always ask: entity"),
    pytest.param(LIGHT, lists(always_ask="light"), ask("always_ask"), id="always ask: domain"),
    pytest.param(LIGHT, lists(always_ask="light.turn_on"), ask("always_ask"), id="always ask: service"),
    pytest.param(LIGHT, lists(always_ask="ha_control"), ask("always_ask"), id="always ask: tool"),
    pytest.param(UNLOCK, lists(always_ask="lock"), ask("unlock", "always_ask"), id="always ask: both reasons"),
    pytest.param(READ, lists(always_ask="lock"), ALLOW, id="always ask: not for reading"),
    pytest.param(READ, lists(always_ask="ha_control"), ask("always_ask"), id="always ask: a tool that reads"),
    pytest.param(UNLOCK, lists(never_ask="lock.door"), ALLOW, id="never ask: the sensitive part is named"),
    pytest.param(UNLOCK, lists(never_ask="light"), ask("unlock"), id="never ask: another part is named"),
    pytest.param(UNLOCK, lists(never_ask="ha_control"), ALLOW, id="never ask: tool"),
    pytest.param(RESTART, lists(never_ask="homeassistant.restart"), ALLOW, id="never ask: service"),
    pytest.param(RESTART, lists(never_ask="homeassistant.reload*"), ask("restart"), id="never ask: other service"),
    pytest.param(REMOTE, lists(never_ask="light lock"), ask("destructive"), id="never ask: nothing of it is named"),
    pytest.param(
        UNLOCK, lists(never_ask="lock", always_ask="lock.door"), ask("unlock", "always_ask"), id="always beats never",
    ),
    pytest.param(LIGHT, lists(never_offer="light.bed"), refuse("light.bed"), id="never: entity"),
    pytest.param(UNLOCK, lists(never_offer="lock.unlock"), refuse("lock.unlock"), id="never: service"),
    pytest.param(READ, lists(never_offer="ha_control"), refuse("ha_control"), id="never: tool"),
    pytest.param(READ, lists(never_offer="lock"), ALLOW, id="never: reading is a matter of exposure"),
    pytest.param(UNLOCK, lists(never_offer="lock", never_ask="lock"), refuse("lock.door"), id="never beats everything"),
])  # fmt: skip
@pytest.mark.parametrize("owner", ["house", "profile"])
def test_order_of_the_rules(
    make_turn: MakeTurn, plan: Plan, listed: dict[str, tuple[str, ...]], decision: Decision, owner: str
) -> None:
    rules = Rules(**listed) if owner == "house" else Rules()
    turn = make_turn(profile=Profile(**listed if owner == "profile" else {}))  # type: ignore[arg-type]
    assert rules.decide(turn, TOOL, plan) == decision


def test_a_profile_cannot_take_back_what_the_house_always_asks(make_turn: MakeTurn) -> None:
    turn = make_turn(profile=Profile(never_ask=("lock", "light")))
    rules = Rules(always_ask=("lock.door",), never_offer=("light",))
    assert rules.decide(turn, TOOL, UNLOCK).action is Verdict.REFUSE
    assert Rules(always_ask=("lock.door",)).decide(turn, TOOL, UNLOCK) == ask("unlock", "always_ask")


def test_text_from_outside_asks_for_what_is_sensitive_and_says_why(make_turn: MakeTurn) -> None:
    turn = make_turn(profile=Profile(never_ask=("lock",)))
    rules = Rules()
    assert rules.decide(turn, TOOL, UNLOCK) == ALLOW
    turn.record.taints.add("weather_service")
    assert rules.decide(turn, TOOL, UNLOCK) == ask("unlock", "tainted")
    assert rules.decide(turn, TOOL, LIGHT) == ALLOW
    assert rules.decide(turn, TOOL, READ) == ALLOW


def test_all_reasons_of_a_plan_are_told(make_turn: MakeTurn) -> None:
    plan = Plan(action=ActionClass.SENSITIVE, reasons=("unlock", "open_door"))
    assert Rules().decide(make_turn(), TOOL, plan) == ask("unlock", "open_door")


def test_sentences_of_the_house_have_no_tool(make_turn: MakeTurn) -> None:
    rules = Rules(never_ask=("lock",), always_ask=("light.turn_on",))
    assert rules.decide(make_turn(), None, UNLOCK) == ALLOW
    assert rules.decide(make_turn(), None, LIGHT) == ask("always_ask")


def test_tools_that_are_not_offered() -> None:
    rules = Rules(never_offer=("weather", "light"))
    profile = Profile(never_offer=("script__*",))
    offered = [name for name in ("ha_control", "weather", "script__bell") if rules.offers(profile, Named(name))]
    assert offered == ["ha_control"]


@pytest.mark.parametrize(("listed", "asks"), [
    ({}, {"script__bell"}), (lists(never_ask="script__bell"), set()), (lists(never_ask="script.bell"), set()),
    (lists(never_ask="script.siren"), {"script__bell"}),
    (lists(always_ask="ha_control"), {"script__bell", "ha_control"}),
], ids=["by itself", "spared by name", "spared by entity", "another is spared", "listed"])  # fmt: skip
def test_tools_whose_every_call_asks(listed: dict[str, tuple[str, ...]], asks: set[str]) -> None:
    script, control = Named("script__bell"), Named("ha_control")
    script.entity_id, control.judges_calls = "script.bell", True
    profile = Profile(**listed)  # type: ignore[arg-type]
    assert {tool.name for tool in (script, control) if Rules().asks_for(profile, tool)} == asks
    assert Rules().offers(Profile(never_offer=("script.bell",)), control)
    assert not Rules().offers(Profile(never_offer=("script.bell",)), script)


def test_rules_of_the_options() -> None:
    options: dict[str, object] = {"always_confirm": ["cover"], "never_confirm": ["lock.shed"], "never_offer": ["x"]}
    assert rules_from_options(options) == Rules(always_ask=("cover",), never_ask=("lock.shed",), never_offer=("x",))
    assert rules_from_options({"always_confirm": None}) == Rules()
