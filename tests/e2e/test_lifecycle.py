"""An endpoint that is away, a key that is refused, a restart, and the end."""

import json

from tests.llm_server import LLMServer, text, tool_call, unauthorized

from .api import Answer
from .harness import DOMAIN, Hass
from .house import add_home_agent, fill_endpoint

KEY = "sk-e2e-secret"


async def test_unreachable_endpoint_is_said_and_recovers(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    port = own_server.port
    await own_server.stop()
    own_hass.allow_log("scripted (127.0.0.1)")  # says once that it is away, and once that it is back

    answer = await own_hass.say("hello", agent=agent)
    assert answer.kind == "error"
    assert "can't reach" in answer.speech

    await own_server.start(port)
    own_server.plan(text("Hello again."))
    answer = await own_hass.say("hello", agent=agent, conversation_id=answer.conversation_id)
    assert answer.speech == "Hello again."


async def test_endpoint_form_tells_what_is_wrong(own_hass: Hass, own_server: LLMServer) -> None:
    flow = await (await own_hass.config_flow()).submit(preset="custom")
    await flow.submit(base_url="http://127.0.0.1:9/v1")
    assert flow.step["errors"] == {"base": "cannot_connect"}
    models, own_server.models = own_server.models, unauthorized()
    await flow.submit(base_url=own_server.base_url, api_key="wrong")
    assert flow.step["errors"] == {"base": "invalid_auth"}
    own_server.models = models
    await fill_endpoint(flow, url=own_server.base_url, model="scripted", key=KEY)
    assert flow.kind == "create_entry"
    assert own_server.model_requests[-1].headers["Authorization"] == f"Bearer {KEY}"


async def test_refused_key_is_repaired_by_reauthentication(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted", key="old")
    own_hass.allow_log("scripted (127.0.0.1)")
    own_server.plan(unauthorized())
    answer = await own_hass.say("hello", agent=agent)
    assert "key" in answer.speech

    [flow] = await own_hass.flows_in_progress()
    assert flow.step["step_id"] == "reauth_confirm"
    await flow.submit(api_key=KEY)
    assert flow.step["reason"] == "reauth_successful"

    own_server.plan(text("Hello."))
    assert (await own_hass.say("hello", agent=agent)).speech == "Hello."
    assert own_server.request.headers["Authorization"] == f"Bearer {KEY}"


async def test_endpoint_and_assistant_are_reconfigured(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted", key=KEY)
    entry_id = await own_hass.entry_id()
    own_server.models = ["scripted", "larger"]

    [endpoint] = await own_hass.subentries("llm")
    flow = await own_hass.subentry_flow(entry_id, "llm", subentry_id=endpoint["subentry_id"])
    await fill_endpoint(flow, url=own_server.base_url, model="larger")
    assert flow.step["reason"] == "reconfigure_successful"

    [profile] = await own_hass.subentries("profile")
    flow = await own_hass.subentry_flow(entry_id, "profile", subentry_id=profile["subentry_id"])
    await flow.submit(name="Butler", prompt_additions="Speak like a butler.")
    assert flow.step["reason"] == "reconfigure_successful"

    own_server.plan(text("Very well."))
    assert (await own_hass.say("hello", agent=agent)).speech == "Very well."
    assert own_server.request.body["model"] == "larger"
    assert "Speak like a butler." in own_server.request.body["messages"][0]["content"]
    assert own_server.request.headers["Authorization"] == f"Bearer {KEY}"


async def test_house_options_are_stored(own_hass: Hass) -> None:
    await add_home_agent(own_hass)
    entry_id = await own_hass.entry_id()
    flow = await own_hass.options_flow(entry_id)
    for topic in ("assistant", "history", "tools", "privacy", "safety"):
        await flow.choose(topic)
        assert flow.kind == "form", topic
        await flow.submit()
        assert flow.kind == "menu", topic
    await flow.choose("advanced")
    for topic in ("prompt", "context", "tool_limits", "limits", "debug"):
        await flow.choose(topic)
        await flow.submit()
        assert flow.kind == "menu", topic
    await (await flow.choose("init")).choose("done")
    assert flow.kind == "create_entry"


async def test_restart_keeps_everything(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted")
    own_server.plan(
        text("Before."), tool_call("ha_control", {"action": "turn_on", "entity_id": "light.kitchen_lights"})
    )
    own_server.plan(text("After."))
    assert (await own_hass.say("hello", agent=agent)).speech == "Before."
    await own_hass.restart()
    await own_hass.call("light.turn_off", "light.kitchen_lights")
    assert (await own_hass.say("kitchen lights on", agent=agent)).speech == "After."
    assert await own_hass.state("light.kitchen_lights") == "on"


async def test_diagnostics_have_no_secrets(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted", key=KEY)
    own_server.plan(text("A private answer."))
    await own_hass.say("a private question", agent=agent)
    entry_id = await own_hass.entry_id()
    found = json.dumps((await own_hass.get(f"/api/diagnostics/config_entry/{entry_id}"))["data"])
    assert "scripted" in found
    for secret in (KEY, "private"):
        assert secret not in found
        assert secret not in own_hass.process.log


async def test_removed_without_a_trace(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted", key=KEY)
    own_server.plan(text("Hello."))
    await own_hass.say("hello", agent=agent)
    entry_id = await own_hass.entry_id()
    await own_hass.remove_entry(entry_id)
    assert await own_hass.agents() == []
    assert await own_hass.stop() == 0  # everything is written
    try:
        assert own_hass.stored(KEY) == []
        # Home Assistant remembers deleted devices and entities for a while, by the ids that we gave them
        assert {*own_hass.stored(entry_id)} <= {"core.device_registry", "core.entity_registry"}
        assert not list((own_hass.process.folder / ".storage").glob(f"{DOMAIN}*"))
    finally:
        await own_hass.start()


async def issues(hass: Hass) -> list[str]:
    """Return the translation keys of our issues in Repairs."""
    listed = (await hass.command("repairs/list_issues"))["issues"]
    return [issue["translation_key"] for issue in listed if issue["domain"] == DOMAIN]


async def test_evening_goes_on_when_the_model_server_is_killed(own_hass: Hass, own_server: LLMServer) -> None:
    agent = await add_home_agent(own_hass, url=own_server.base_url, model="scripted", model_first=False)
    before = await issues(own_hass)
    own_server.plan(text("Good evening."))
    talk = await own_hass.say("Good evening, how are you?", agent=agent)
    assert talk.speech == "Good evening."

    async def say(words: str, language: str = "en") -> Answer:
        return await own_hass.say(words, agent=agent, conversation_id=talk.conversation_id, language=language)

    port = own_server.port
    await own_server.stop()
    own_hass.allow_log("scripted (127.0.0.1)")
    logged = len(own_hass.process.log)
    assert (await say("Turn on the kitchen lights")).kind == "action_done"
    assert await own_hass.state("light.kitchen_lights") == "on"
    assert (await say("Is the bed light on?")).speech == "Yes"  # left to the model while there is one
    assert (await say("Ist Bed Light an?", language="de")).speech == "Ja"
    assert (await say("the bed light off would you kindly")).kind == "action_done"  # no sentence of Home Assistant's
    assert await own_hass.state("light.bed_light") == "off"
    question = await say("Unlock the front door")
    assert question.speech.endswith("?")
    await say("yes")
    await own_hass.wait_for("lock.front_door", "unlocked")
    stories = [await say("Tell me a story") for _ in range(3)]
    assert {(story.kind, story.speech.count("can't reach scripted (127.0.0.1)")) for story in stories} == {("error", 1)}
    assert "Ich erreiche scripted (127.0.0.1) nicht." in (await say("Erzähl mir eine Geschichte", language="de")).speech
    assert sorted(await issues(own_hass)) == sorted([*before, "endpoint_unreachable"])
    log = own_hass.process.log[logged:]
    assert log.count("scripted (127.0.0.1) is unavailable") == 1

    await own_server.start(port)
    own_server.plan(text("Once upon a time."))
    assert (await say("Tell me a story")).speech == "Once upon a time."
    assert await issues(own_hass) == before
    assert (await say("Turn off the kitchen lights")).kind == "action_done"
    assert await own_hass.state("light.kitchen_lights") == "off"
    own_server.assert_done()
