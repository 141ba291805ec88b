"""Tokens and latency of an endpoint, as the house shows them."""

from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.home_agent.client.messages import ModelReply
from custom_components.home_agent.turn import events
from custom_components.home_agent.turn.turn import Usage
from tests.house import say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call

pytestmark = pytest.mark.usefixtures("demo_house")


async def test_tokens_add_up_and_latency_is_the_newest(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    llm_server.plan(
        *(text("ok", usage={"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}) for _ in "ab")
    )
    await say(hass, "hello")
    await say(hass, "hello")
    values = {
        entry.unique_id.removeprefix("llm-1_"): hass.states.get(entry.entity_id)
        for entry in er.async_get(hass).entities.values()
        if entry.platform == "home_agent" and entry.domain == "sensor"
    }
    assert values["input_tokens"].state == "200"  # type: ignore[union-attr]
    assert values["output_tokens"].state == "14"  # type: ignore[union-attr]
    assert values["cached_tokens"] is None  # disabled until somebody wants it
    assert float(values["first_token_latency"].state) <= float(values["request_duration"].state)  # type: ignore[union-attr]
    assert values["input_tokens"].name.startswith("Scripted ")  # type: ignore[union-attr]


def state(hass: HomeAssistant, key: str) -> State:
    entity_id = er.async_get(hass).async_get_entity_id("sensor", "home_agent", f"llm-1_{key}")
    found = hass.states.get(str(entity_id))
    assert found is not None
    return found


async def test_cached_share_and_time_until_the_first_token(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await set_up(hass, llm_server)
    assert state(hass, "cached_share").state == "unknown"
    turn_on = {"action": "turn_on", "entity_id": "light.bed_light"}
    first, second = ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": cached}} for cached in (20, 90))
    llm_server.plan(tool_call("ha_control", turn_on, delay=0.3, usage=first), text("On.", usage=second))
    await say(hass, "hello")
    share = state(hass, "cached_share")
    assert share.state == "55"
    attributes = {"unit_of_measurement": "%", "state_class": "measurement"}
    assert {key: share.attributes.get(key) for key in (*attributes, "device_class")} == attributes | {
        "device_class": None
    }
    assert float(state(hass, "first_token_latency").state) >= 0.3
    llm_server.plan(text("ok", usage={"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 100}}))
    await say(hass, "hello")
    assert state(hass, "cached_share").state == "100"
    assert float(state(hass, "first_token_latency").state) < 0.3
    llm_server.plan(text("ok", usage={"prompt_tokens": 100}))
    await say(hass, "hello")
    assert state(hass, "cached_share").state == "unknown"


async def test_what_nobody_waited_for_counts_only_its_tokens(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)
    endpoint = entry.runtime_data.endpoints["llm-1"]
    llm_server.plan(text("ok", usage={"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 50}}))
    await say(hass, "hello")
    before = {key: state(hass, key).state for key in ("cached_share", "first_token_latency", "request_duration")}
    endpoint.async_succeeded(ModelReply(usage=Usage(50, 1, 0, 50), first_delta_ms=99_000), 99_000)
    endpoint.async_publish()
    assert {key: state(hass, key).state for key in before} == before
    assert state(hass, "input_tokens").state == "150"


@pytest.mark.parametrize("number", [1e308, 10**18, -5, "many", True, None, [3]])
async def test_absurd_numbers_cost_nothing(hass: HomeAssistant, llm_server: LLMServer, number: object) -> None:
    entry = await set_up(hass, llm_server)
    usage = {"prompt_tokens": number, "completion_tokens": number, "total_tokens": number}
    llm_server.plan(*(text("ok", usage=usage) for _ in "ab"), text("ok", usage={"prompt_tokens": 9}))
    for _ in "abc":
        assert speech(await say(hass, "hello")) == "ok"
    total = entry.runtime_data.endpoints["llm-1"].stats.usage.input_tokens
    assert total in (9, 9 + 2 * (number is True))
    sensor = er.async_get(hass).async_get_entity_id("sensor", "home_agent", "llm-1_input_tokens")
    assert sensor is not None
    assert hass.states.get(sensor).state == str(total)  # type: ignore[union-attr]


async def test_sensor_that_fails_costs_no_turn(hass: HomeAssistant, llm_server: LLMServer) -> None:
    entry = await set_up(hass, llm_server)

    def fail() -> None:
        raise ValueError("no state")

    entry.runtime_data.endpoints["llm-1"].async_listen(fail)
    llm_server.plan(text("One."), text("Two."))
    assert speech(await say(hass, "hello")) == "One."
    assert speech(await say(hass, "hello")) == "Two."


async def test_what_follows_an_answer_costs_no_turn(
    hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OverflowError

    await set_up(hass, llm_server)
    monkeypatch.setattr(events, "async_history_saved", fail)
    llm_server.plan(text("One."), text("Two."))
    assert speech(await say(hass, "hello")) == "One."
    assert speech(await say(hass, "hello")) == "Two."


async def test_latencies_are_in_seconds_or_the_registered_unit(hass: HomeAssistant, llm_server: LLMServer) -> None:
    """What was registered in milliseconds by an earlier version stays so, with its entity id: its statistics go on."""
    registry = er.async_get(hass)
    registry.async_get_or_create(
        "sensor", "home_agent", "llm-1_first_token_latency", suggested_object_id="my_latency",
        unit_of_measurement="ms", original_device_class="duration",
    )  # fmt: skip
    await set_up(hass, llm_server)
    llm_server.plan(text("ok", delay=0.05))
    await say(hass, "hello")
    old, new = state(hass, "first_token_latency"), state(hass, "request_duration")
    assert (old.entity_id, old.attributes["unit_of_measurement"]) == ("sensor.my_latency", "ms")
    assert new.attributes["unit_of_measurement"] == "s"
    assert float(old.state) >= 50
    assert 0.05 <= float(new.state) < 50
