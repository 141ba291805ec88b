"""Added without a model, Home Agent answers what Home Assistant's own sentences can."""

import re

from .harness import Hass
from .house import add_home_agent
from .process import ROOT


async def test_house_without_a_model_does_and_answers_and_refuses(own_hass: Hass) -> None:
    agent = await add_home_agent(own_hass)

    await own_hass.say("turn on the kitchen lights", agent=agent)
    assert await own_hass.state("light.kitchen_lights") == "on"

    answer = await own_hass.say("Is the bed light on?", agent=agent)
    assert answer.kind == "query_answer"
    assert "yes" in answer.speech.lower()

    await own_hass.say("Schalte das Licht im Schlafzimmer aus", agent=agent, language="de")
    assert await own_hass.state("light.bed_light") == "off"
    await own_hass.say("Schalte das Licht in der Küche aus", agent=agent, language="de")
    assert await own_hass.state("light.kitchen_lights") == "off"

    answer = await own_hass.say("write me a poem", agent=agent)
    assert answer.kind == "error"
    assert "add a model" in answer.speech

    answer = await own_hass.say("write me a poem", agent=agent, language="de")
    assert "Modell" in answer.speech
    assert own_hass.process.log.count("write me a poem") == 0


async def test_sentences_of_the_readme_work_in_the_demo(own_hass: Hass) -> None:
    """What stands under "Without a model" is done, as it stands; "it" is what was named last."""
    agent = await add_home_agent(own_hass)
    listed = (
        (ROOT / "README.md").read_text(encoding="utf-8").partition("- **Without a model:**")[2].partition("- **With")[0]
    )
    sentences = re.findall("“([^”]+)”", listed)
    assert len(sentences) == 5
    conversation_id = None
    for sentence in sentences:
        answer = await own_hass.say(sentence, agent=agent, conversation_id=conversation_id)
        assert answer.kind in ("action_done", "query_answer"), (sentence, answer.speech)
        conversation_id = answer.conversation_id
    assert await own_hass.state("light.kitchen_lights") == "on"
    assert await own_hass.state("light.bed_light") == "off"
    assert (await own_hass.states())["todo.shopping_list"] == "1"
    hvac = await own_hass.get("/api/states/climate.hvac")
    assert hvac["attributes"]["temperature"] == 19

    first = await own_hass.say("Turn on the bed light", agent=agent)
    await own_hass.say("Turn it off again", agent=agent, conversation_id=first.conversation_id)
    assert await own_hass.state("light.bed_light") == "off"
    remark = await own_hass.say("It is dark in the kitchen.", agent=agent)
    assert remark.kind == "error"
    assert remark.speech.startswith("I didn't understand that.")
    assert (await own_hass.say("what is the weather", agent=agent)).speech == "Sorry, I am not aware of any weather"
    assert (
        await own_hass.say("wie ist das Wetter", agent=agent, language="de")
    ).speech == "Es wurde kein Wetter gefunden"


async def test_lock_opens_after_a_yes_in_the_same_conversation_alone(own_hass: Hass) -> None:
    agent = await add_home_agent(own_hass)
    question = await own_hass.say("unlock the front door", agent=agent)
    assert "Front Door" in question.speech
    assert question.speech.endswith("?")
    await own_hass.say("yes", agent=agent)
    assert await own_hass.state("lock.front_door") == "locked"

    await own_hass.say("yes", agent=agent, conversation_id=question.conversation_id)
    await own_hass.wait_for("lock.front_door", "unlocked")
    await own_hass.call("lock.lock", "lock.front_door")
    await own_hass.wait_for("lock.front_door", "locked")


async def test_hidden_entity_does_not_exist(own_hass: Hass) -> None:
    agent = await add_home_agent(own_hass)
    await own_hass.expose("light.kitchen_lights", exposed=False)
    hidden = await own_hass.say("turn on the kitchen lights", agent=agent)
    missing = await own_hass.say("turn on the cellar lights", agent=agent)
    assert await own_hass.state("light.kitchen_lights") == "off"
    assert hidden.kind == missing.kind == "error"


async def test_what_is_not_on_the_owners_list_does_not_exist(own_hass: Hass) -> None:
    agent = await add_home_agent(own_hass)
    entry_id = await own_hass.entry_id()
    flow = await (await own_hass.options_flow(entry_id)).choose("safety")
    await flow.submit_well(allowed_entities=["light.bed_light"])
    assert (await own_hass.say("turn on the kitchen lights", agent=agent)).kind == "error"
    await own_hass.say("turn on the bed light", agent=agent)
    assert await own_hass.state("light.kitchen_lights") == "off"
    assert await own_hass.state("light.bed_light") == "on"
    await own_hass.restart()
    assert (await own_hass.say("turn on the kitchen lights", agent=agent)).kind == "error"
    flow = await (await own_hass.options_flow(entry_id)).choose("safety")
    await flow.submit_well(allowed_entities=[])
    await own_hass.say("turn on the kitchen lights", agent=agent)
    assert await own_hass.state("light.kitchen_lights") == "on"


async def test_second_hub_is_refused(own_hass: Hass) -> None:
    await add_home_agent(own_hass)
    flow = await own_hass.config_flow()
    assert flow.step["reason"] == "single_instance_allowed"
