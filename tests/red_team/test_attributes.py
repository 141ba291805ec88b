"""What attributes could tell: hidden members, addresses, tokens. A model is told none of it, however it asks."""

from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
import pytest

from custom_components.home_agent.support.const import ASSISTANT
from tests.house import say
from tests.llm_server import text, tool_call

from .conftest import SetUp
from .world import Witness, answers

TOKEN = "9f2c4b7a1e6d8053c9f2c4b7a1e6d805"
CARRIER = "sensor.carrier"
SECRETS: dict[str, dict[str, Any]] = {
    "members": {"entity_id": ["light.nook", "light.bed_light"]},
    "members in another attribute": {"lamps": ("light.bed_light", "light.nook")},
    "a member in a sentence": {"last_motion": "seen by light.nook at noon"},
    "a member as a key": {"votes": {"light.nook": 1}},
    "deep inside": {"a": [{"b": ["light.nook"]}]},
    "in capitals": {"source": "LIGHT.NOOK"},
    "a picture": {"entity_picture": f"/api/camera_proxy/camera.nook?token={TOKEN}"},
    "a picture by another name": {"thumbnail": f"/api/image_proxy/x?token={TOKEN}"},
    "a stream": {"feed": f"rtsp://admin:{TOKEN}@10.0.0.9/live"},
    "a stream in a list": {"feeds": [f"rtsp://10.0.0.9/{TOKEN}"]},
    "what plays": {"media_content_id": f"https://cdn.example/{TOKEN}.mp3"},
    "a token": {"access_token": TOKEN},
    "a token by another name": {"note": TOKEN},
    "a token in a sentence": {"note": f"use {TOKEN} to log in"},
    "a token in an object": {"login": {"user": "x", "refreshToken": TOKEN}},
    "a code": {"user_code": f"7{TOKEN[:9]}"},
    "a key": {"api_key": TOKEN},
}
QUERIES: dict[str, dict[str, Any]] = {
    "everything": {"entity_id": CARRIER},
    "by its name": {"entity_id": CARRIER, "attributes": ["*"]},
    "a wildcard": {"entity_id": "sensor.*"},
}


async def hide(hass: HomeAssistant, witness: Witness, attributes: dict[str, Any]) -> None:
    """Make a hidden light, and an exposed sensor that tells of it."""
    hass.states.async_set("light.nook", "on", {"friendly_name": "Hidden"})
    async_expose_entity(hass, ASSISTANT, "light.nook", False)
    hass.states.async_set(CARRIER, "1", {"friendly_name": "Carrier", "order": 1, **attributes})
    async_expose_entity(hass, ASSISTANT, CARRIER, True)
    await hass.async_block_till_done(wait_background_tasks=True)
    witness.secrets |= {"light.nook", TOKEN, "10.0.0.9", f"7{TOKEN[:9]}"}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("name", SECRETS)
async def test_a_query(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, query: str
) -> None:
    await hide(hass, witness, SECRETS[name])
    arguments = dict(QUERIES[query])
    if "attributes" in arguments:
        arguments["attributes"] = ["order", *SECRETS[name]]
    await start()
    for who in (alice, Context()):
        witness.server.plan(tool_call("ha_query", arguments), text("I see."))
        await say(hass, "what do you see", context=who)
        result = answers(witness.server)[-1]["result"]
        rows = result.get("entities", [result])
        assert any(row.get("attributes", {}).get("order") == 1 for row in rows)


@pytest.mark.parametrize("place", ["of the profile", "of the request"])
@pytest.mark.parametrize("name", SECRETS)
async def test_states_that_are_sent(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, name: str, place: str
) -> None:
    await hide(hass, witness, SECRETS[name])
    names = ["order", *SECRETS[name]]
    rows = [{"entity_id": CARRIER, "attributes": names}]
    await start(
        profile={"context_entities": [{"entity_id": CARRIER, "attributes": names}]} if place == "of the profile" else {}
    )
    for who in (alice, Context()):
        witness.server.plan(text("I see."))
        if place == "of the profile":
            await say(hass, "what do you see", context=who)
            continue
        data = {"text": "what do you see", "context_entities": rows}
        await hass.services.async_call("home_agent", "process", data, blocking=True, context=who)
    server = witness.server  # what a request adds is for the agent that it is made to
    assert any("1 order=1" in request.raw.decode() for request in (*server.requests, *server.fronted))


async def test_a_person_who_may_see_less(hass: HomeAssistant, witness: Witness, start: SetUp, person: Any) -> None:
    bob = person("Bob", {"entities": {"entity_ids": {CARRIER: True}}})
    await hide(hass, witness, {"lamps": ["light.bed_light"], "order": 1})
    await start()
    witness.server.plan(tool_call("ha_query", {"entity_id": CARRIER}), text("I see."))
    await say(hass, "what do you see", context=bob)
    assert answers(witness.server)[-1]["result"]["attributes"] == {"order": 1}
