"""Routes that are no intents: what runs without a model, what the model is offered, what is left to it."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
import time
from typing import Any, override

from homeassistant.components.conversation.trace import async_get_traces
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import ConfigSubentryDataWithId
from homeassistant.core import Context, HomeAssistant, ServiceCall
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_capture_events

from custom_components.home_agent.home.snapshot import HomeEntity, HomeSnapshot
from custom_components.home_agent.languages.vocabulary import language_of
from custom_components.home_agent.local.route_index import MAX_NEAR, Route, RouteIndex, Utterance
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.tools.extensions.extensions import async_register_extension
from custom_components.home_agent.turn import events
from custom_components.home_agent.wishes.wishes import wishes_of
from tests.embedding_server import EmbeddingServer
from tests.extensions import coachbyte
from tests.house import act, person, say, set_up, speech, subentry
from tests.llm_server import LLMServer, server_error, text, tool_call
from tests.routing import ITSELF, ROUTER, Parts, segments

ALL = [
    "change_wish",
    "ha_control",
    "ha_query",
    "ha_undo",
    "make_wish",
    "printer_status",
    "store_memory",
    "teach_name",
    "wipe_disk",
]
DEVICE = {"properties": {"device": {"type": "string", "enum": ["printer", "scanner"]}}, "required": ["device"]}
PRINTER = {
    "name": "printer_status", "description": "Tells what a printer or scanner is doing.", "parameters": DEVICE,
    "examples": ["How is the printer doing?", "Was macht der printer?"],
    "handler": {"type": "template", "template": "The {{ device }} is idle."},
}  # fmt: skip
WIPE = {
    "name": "wipe_disk", "title": "Wipe the disk", "description": "Erases the backup disk.",
    "examples": ["wipe the backup disk"], "destructive": True,
    "handler": {"type": "template", "template": "{'erased': 3, 'errors': []}"},
}  # fmt: skip
SCRIPTS = {
    "movie_night": {"alias": "Movie Night", "sequence": [{"event": "ran", "event_data": {"what": "movie"}}]},
    "bath": {
        "alias": "Fill the Tub",
        "fields": {"degrees": {"required": True, "selector": {"number": {"min": 20, "max": 45}}}},
        "sequence": [{"event": "ran", "event_data": {"what": "{{ degrees }}"}}],
    },
    "plants": {
        "alias": "Water Plants",
        "fields": {
            "minutes": {
                "name": "Minutes", "required": True,
                "selector": {"number": {"min": 1, "max": 30, "unit_of_measurement": "min"}},
            },
        },
        "sequence": [{"event": "ran", "event_data": {"what": "plants {{ minutes }}"}}],
    },
    "say": {
        "alias": "Say Something", "fields": {"message": {"required": True, "selector": {"text": None}}},
        "sequence": [{"event": "ran", "event_data": {"what": "{{ message }}"}}],
    },
    "feed": {
        "alias": "Feed Fish",
        "fields": {"minutes": {"name": "Minuten", "required": True, "selector": {"number": {"min": 1, "max": 30}}}},
        "sequence": [{"event": "ran", "event_data": {"what": "fish {{ minutes }}"}}],
    },
    "sauna": {
        "alias": "Warm Sauna",
        "fields": {"hours": {"required": True, "default": 2, "selector": {"number": {"min": 1, "max": 9}}}},
        "sequence": [{"event": "ran", "event_data": {"what": "sauna {{ hours }}"}}],
    },
    "fountain": {
        "alias": "Play Waters", "sequence": [{"wait_for_trigger": {"trigger": "event", "event_type": "never"}}],
    },
    "secret": {"alias": "Secret Party", "sequence": [{"event": "ran", "event_data": {"what": "secret"}}]},
}  # fmt: skip
NEVER = {"trigger": "event", "event_type": "never"}
AUTOMATIONS: list[dict[str, Any]] = [
    {"alias": "Holiday Mode", "initial_state": False, "triggers": NEVER, "actions": []},
    {"alias": "Garden", "triggers": NEVER, "actions": [{"event": "ran", "event_data": {"what": "garden"}}]},
    {
        "alias": "Fountain", "triggers": NEVER, "conditions": "{{ is_state('sun.frost', 'off') }}",
        "actions": [{"event": "ran", "event_data": {"what": "fountain"}}, {"wait_for_trigger": NEVER}],
    },
]  # fmt: skip


def tool(data: Mapping[str, Any]) -> ConfigSubentryDataWithId:
    return subentry("custom_tool", data["name"], f"tool-{data['name']}", data)


@pytest.fixture
async def home(hass: HomeAssistant) -> None:
    config: dict[str, Any] = {
        "homeassistant": {}, "conversation": {}, "script": SCRIPTS, "scene": [{"name": "Good Night", "entities": {}}],
        "automation": AUTOMATIONS,
    }  # fmt: skip
    for domain in config:  # the config of all of them: each takes its own
        assert await async_setup_component(hass, domain, config)
    await hass.async_block_till_done()
    for entity_id in hass.states.async_entity_ids():
        async_expose_entity(hass, ASSISTANT, entity_id, entity_id != "script.secret")


async def listen(
    hass: HomeAssistant, server: LLMServer | None, options: Mapping[str, Any] | None = None, **profile: Any
) -> MockConfigEntry:
    """Set up an agent that compares, without a model where there is no server."""
    settings = ({"routing": "semantic"} if server else {"llm": "none"}) | profile
    if server is not None:
        server.respond(lambda _body: text("I am the model."))
    more = [tool(PRINTER), tool(WIPE)]
    return await set_up(hass, server, profile=settings, options={"throttle_turns": 1000, **(options or {})}, more=more)


async def process(hass: HomeAssistant, sentence: str, **fields: Any) -> dict[str, Any]:
    """Say it by the action, and return the response."""
    return await act(hass, "process", fields.pop("context", Context()), text=sentence, **fields)


def route_of(response: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = response["understanding"]["route"]
    return found


def offered(server: LLMServer) -> list[str]:
    return [item["function"]["name"] for item in server.requests[-1].body.get("tools", ())]


RUNS = {
    "how is the printer doing": ("printer_status", "The printer is idle."),
    "How is the scanner doing?": ("printer_status", "The scanner is idle."),
    "run movie night": ("script.movie_night", "Done."),
    "would you start movie night please": ("script.movie_night", "Done."),
    "good night": ("scene.good_night", "Done."),
    "fill the tub with 38 degrees": ("script.bath", "Done."),
    "enable holiday mode": ("automation.holiday_mode", "Done."),
    "run holiday mode": ("automation.holiday_mode", "Done."),
    "start the garden automation": ("automation.garden", "Done."),
}
DECLINED = {
    "how about the printer": ("medium", "score"), "how is the printer in the office doing": ("medium", "words"),
    "is movie night on?": ("medium", "score"), "stop movie night": ("medium", "action"),
    "turn good night off": ("medium", "action"), "don't start movie night": ("medium", "altered"),
    "movie night tomorrow": ("medium", "altered"), "movie night if I am late": ("medium", "score"),
    "holiday mode": ("medium", "action"), "enable and run holiday mode": ("medium", "action"),
    "don't run the garden automation": ("medium", "score"), "run garden tomorrow": ("medium", "score"),
    "has garden run?": ("medium", "score"), "fill the tub": ("medium", "arguments"),
    "fill the tub with 90 degrees": ("medium", "score"), "start the secret party": ("medium", "score"),
    "turn the lamp on": ("medium", "score"), "tell me a joke about cats": ("low", "score"), "hello": ("low", "score"),
}  # fmt: skip


async def test_sure_routes_run_and_others_go_on(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server)
    ran = async_capture_events(hass, "ran")
    answers = {}
    for sentence in RUNS:
        response = await process(hass, sentence)
        assert response["answered_by"] == "local"
        route = route_of(response)
        assert (route["zone"], route["declined"]) == ("high", None)
        answers[sentence] = route["route"], response["answer"]
    assert answers == RUNS
    assert [event.data["what"] for event in ran] == ["movie", "movie", 38, "garden"]
    assert not llm_server.requests

    found = {}
    for sentence in DECLINED:
        route = route_of(response := await process(hass, sentence))
        assert response["answer"] == "I am the model."
        assert len(offered(llm_server)) == (2 if route["zone"] == "medium" else len(ALL)), sentence
        found[sentence] = route["zone"], route["declined"]
    assert found == DECLINED
    assert len(llm_server.requests) == len(DECLINED)
    assert len(ran) == 4


async def test_without_a_model_routes_answer_and_only_sure_things_run(hass: HomeAssistant, home: None) -> None:
    await listen(hass, None)
    ran = async_capture_events(hass, "ran")
    for sentence, (route, answer) in RUNS.items():
        response = await process(hass, sentence)
        assert response["answer"] == answer or route.startswith(("scene", "automation", "script")), sentence
    for sentence in ("how about the printer", "movie night tomorrow", "stop movie night", "start the secret party"):
        response = await process(hass, sentence)
        assert (response["understanding"] or {}).get("route") is None or route_of(response)["declined"], sentence
    assert [event.data["what"] for event in ran] == ["movie", "movie", 38, "garden"]
    answer = (await process(hass, "Was macht der Scanner?", language="de"))["answer"]
    assert answer == "The scanner is idle."


WITHOUT = "Water Plants cannot start without a value for: Minutes. Say it together with the name."


async def test_a_script_requires_its_fields(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    """Home Assistant's sentences, the brain, a route and the model alike; what has a default gets it."""
    entry = await listen(hass, None)
    ran = async_capture_events(hass, "ran")
    for sentence in ("water plants", "start water plants", "turn on water plants", "run the script water plants"):
        response = await process(hass, sentence)
        assert (response["answer"], response["success"]) == (WITHOUT, False), sentence
    assert not ran
    for sentence in ("turn on warm sauna", "warm sauna"):
        assert (await process(hass, sentence))["success"], sentence
    await process(hass, "turn off water plants")
    assert [event.data["what"] for event in ran] == ["sauna 2", "sauna 2"]
    later = {"water plants in 7 minutes": "en", "water plants in 1 hour": "en"}
    for sentence, language in later.items():  # refused at once, not when it is due
        response = await process(hass, sentence, language=language)
        assert (response["answer"].split()[:2], response["success"]) == (["Water", "Plants"], False), response
        assert "Minutes" in response["answer"]
    assert (await say(hass, "warm sauna in 5 minutes", context=person(hass))).response.error_code is None
    assert [wish.targets for wish in wishes_of(hass).all()] == [("script.sauna",)]
    await hass.config_entries.async_remove(entry.entry_id)

    await listen(hass, llm_server, routing="off", local_first=True)
    llm_server.plan(
        tool_call("ha_control", {"action": "turn_on", "entity_id": "script.plants"}),
        tool_call("ha_control", {"action": "turn_on", "entity_id": "script.plants", "parameters": {"minutes": 3}}),
        text("They get water."),
    )
    assert (await process(hass, "start water plants"))["answer"] == "They get water."
    llm_server.assert_done()
    llm_server.plan(text("For how long?"))
    assert (await process(hass, "water plants in 7 minutes"))["answer"] == "For how long?"
    assert "script.plants does not start without minutes" in llm_server.requests[1].body["messages"][-1]["content"]
    assert [event.data["what"] for event in ran][2:] == ["plants 3"]


async def test_units_labels_and_words_of_fields_are_understood(hass: HomeAssistant, home: None) -> None:
    """What a field is called, the unit it has, a span that it is, and the words of a text count for it, not against."""
    await listen(hass, None)
    ran = async_capture_events(hass, "ran")
    said = {
        "water plants 7": "plants 7", "water plants 8 minutes": "plants 8", "water plants for 9 minutes": "plants 9",
        "run water plants with 5 minutes": "plants 5", "water plants with minutes 6 please": "plants 6",
        "feed fish for 4 minutes": "fish 4", "say something hello world": "hello world",
        "start say something: Dinner is ready in the kitchen": "Dinner is ready in the kitchen",
    }  # fmt: skip
    for sentence in said:
        assert (await process(hass, sentence))["success"], sentence
    await process(hass, "Feed Fish 10 Minuten", language="de")
    assert [event.data["what"] for event in ran] == [*said.values(), "fish 10"]
    for sentence in (
        "water plants for 90 minutes", "water plants within 7 minutes", "water plants in 7 minutes tomorrow", "don't water plants for 7 minutes",
        "say something", "say something please", "don't say something loud", "water plants 5 or 7 minutes",
    ):  # fmt: skip
        response = await process(hass, sentence)
        assert not response["success"], (sentence, response)
    assert len(ran) == len(said) + 1


async def test_a_missing_value_may_follow(hass: HomeAssistant, home: None) -> None:
    await listen(hass, None)
    ran = async_capture_events(hass, "ran")
    for language, first, then, wanted in (
        ("en", "water plants", "7", "plants 7"), ("en", "start water plants", "for 8 minutes", "plants 8"),
        ("en", "water plants", "nine minutes", "plants 9"), ("en", "fill the tub", "38 degrees", 38),
        ("de", "starte Water Plants", "7 Minuten", "plants 7"), ("es", "inicia Water Plants", "siete minutos", "plants 7"),
    ):  # fmt: skip
        ran.clear()
        asked = await process(hass, first, language=language)
        assert not asked["success"]
        told = await process(hass, then, language=language, conversation_id=asked["conversation_id"])
        assert (told["success"], [event.data["what"] for event in ran]) == (True, [wanted]), (first, then)
    ran.clear()
    for first, then in (
        ("water plants", "90"), ("water plants", "never mind"), ("water plants", "7 tomorrow"), ("water plants", "in 7 minutes"),
        ("water plants", "not 7"), ("water plants", "hello there"), ("don't water plants", "7"), ("water plants tomorrow", "7"),
        ("movie night tomorrow", "7"), ("say something", "is it late"), ("water plants", "7?"),
    ):  # fmt: skip
        asked = await process(hass, first)
        await process(hass, then, conversation_id=asked["conversation_id"])
        assert not ran, (first, then)
    await process(hass, "water plants")
    await process(hass, "7")  # in another conversation
    asked = await process(hass, "water plants")
    for then in ("hello", "7"):  # not right behind
        await process(hass, then, conversation_id=asked["conversation_id"])
    assert not ran


async def test_a_script_that_runs_is_ended(hass: HomeAssistant, home: None) -> None:
    """By its name, and by "stop" right after it was started; when it is over, "stop" is about something else."""
    await listen(hass, None)
    ran = async_capture_events(hass, "ran")
    for language, start, stop in (
        ("en", "start play waters", "stop"), ("en", "play waters", "stop play waters"), ("en", "run play waters", "stop it please"),
        ("de", "starte Play Waters", "stopp"), ("de", "starte Play Waters", "beende Play Waters"),
        ("es", "inicia Play Waters", "detén Play Waters"), ("fr", "lance Play Waters", "arrête Play Waters"),
        ("it", "avvia Play Waters", "ferma Play Waters"), ("nl", "start Play Waters", "stop Play Waters"),
        ("pl", "uruchom Play Waters", "zatrzymaj Play Waters"),
    ):  # fmt: skip
        first = await process(hass, start, language=language)
        assert hass.states.is_state("script.fountain", "on"), start
        then = await process(hass, stop, language=language, conversation_id=first["conversation_id"])
        assert (then["success"], hass.states.is_state("script.fountain", "off")) == (True, True), stop
    called = async_capture_events(hass, "call_service")
    first = await process(hass, "run movie night")
    assert len(ran) == 1
    called.clear()
    await process(hass, "stop", conversation_id=first["conversation_id"])
    await process(hass, "start play waters")
    for sentence in ("don't stop play waters", "stop play waters in ten minutes", "stop play waters tomorrow", "stop"):
        await process(hass, sentence)
        assert hass.states.is_state("script.fountain", "on"), sentence
    assert not [event for event in called if event.data["service"] == "turn_off"]


async def test_spans_of_time_are_understood_in_other_languages(hass: HomeAssistant, home: None) -> None:
    await listen(hass, None)
    ran = async_capture_events(hass, "ran")
    said = {
        ("es", "inicia Water Plants durante siete minutos"): "plants 7",
        ("es", "Feed Fish durante un cuarto de hora"): "fish 15",
        ("fr", "lance Water Plants pendant sept minutes"): "plants 7",
        ("fr", "Feed Fish pendant vingt-huit minutes"): "fish 28",
        ("it", "avvia Water Plants per sette minuti"): "plants 7", ("it", "Feed Fish per mezz'ora"): "fish 30",
        ("nl", "start Water Plants voor zeven minuten"): "plants 7", ("nl", "Feed Fish een kwartier"): "fish 15",
        ("pl", "uruchom Water Plants przez siedem minut"): "plants 7",
        ("pl", "Feed Fish przez pół godziny"): "fish 30",
    }  # fmt: skip
    for language, sentence in said:
        assert (await process(hass, sentence, language=language))["success"], sentence
    assert [event.data["what"] for event in ran] == [*said.values()]
    for language, sentence in (
        ("es", "inicia Water Plants dentro de siete minutos"), ("es", "Water Plants durante 7 minutos mañana"),
        ("fr", "lance Water Plants dans sept minutes"), ("it", "avvia Water Plants tra sette minuti"),
        ("nl", "start Water Plants over zeven minuten"), ("pl", "uruchom Water Plants za siedem minut"),
        ("pl", "Water Plants 5 minut lub 7 minut"), ("nl", "Water Plants niet voor 7 minuten"),
    ):  # fmt: skip
        assert not (await process(hass, sentence, language=language))["success"], sentence
    assert len(ran) == len(said)


async def test_a_value_may_be_what_a_thing_is_called(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server)
    for name in ("Printer", "Scanner Room"):
        entity_id = f"switch.{name.lower().replace(' ', '_')}"
        hass.states.async_set(entity_id, "off", {"friendly_name": name})
        async_expose_entity(hass, ASSISTANT, entity_id, True)
    await hass.async_block_till_done()
    first = await process(hass, "how is the scanner doing")
    then = await process(hass, "and the printer?", conversation_id=first["conversation_id"])
    assert [one["answer"] for one in (first, then)] == ["The scanner is idle.", "The printer is idle."]
    assert (await process(hass, "how is the printer doing"))["answer"] == "The printer is idle."
    assert (await process(hass, "how is the scanner room doing"))["answer"] == "I am the model."


async def test_what_does_not_follow_is_not_said_done(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server, options={"verify_seconds": 0.2})

    async def nothing(_call: ServiceCall) -> None:
        """Do what a device does that hears nothing."""

    hass.services.async_register("automation", "turn_on", nothing)
    response = await process(hass, "enable holiday mode")
    assert response["answer"] == "I sent the command, but nothing has changed: Holiday Mode."
    assert not llm_server.requests


RUN = {
    "en": "run garden|trigger the garden automation|start garden up|could you launch garden|run the garden routine",
    "de": "starte Garden|führe Garden aus|löse Garden aus|führe bitte die Automation Garden aus|Garden ausführen|lass Garden laufen",
    "es": "pon en marcha Garden|ejecuta la automatización Garden|inicia Garden|pon en marcha la automatización Garden",
    "fr": "lance Garden|mets en route l'automatisation Garden|exécute Garden|démarre Garden",
    "it": "avvia Garden|esegui l'automazione Garden|fai partire Garden",
    "nl": "start Garden|voer Garden uit|voer de automatisering Garden uit",
    "pl": "uruchom Garden|uruchom automatyzację Garden|wykonaj Garden",
}
ENABLE = {
    "en": "enable garden|turn on garden|turn garden on|activate garden", "de": "schalte Garden ein|aktiviere Garden",
    "es": "activa Garden", "fr": "active Garden", "it": "attiva Garden", "nl": "zet Garden aan", "pl": "włącz Garden",
}  # fmt: skip


def test_an_automation_is_run_or_enabled_as_is_said_in_each_language() -> None:
    """What the words come to; that it is done so is seen above, in one language."""
    home = HomeSnapshot({"automation.garden": HomeEntity("automation.garden", ("Garden",), None)}, {})
    garden = "automation.garden"
    target = Route(id=garden, tool="ha_control", said=["Garden"], entity_id=garden, is_named=True, needs_verb=True)
    found: dict[str, str] = {}
    for code, run in RUN.items():
        index = RouteIndex([target], language_of(code, {}), home)
        for sentence in f"{run}|{ENABLE[code]}".split("|"):
            said = Utterance(text=sentence, home=home, now=dt_util.now(), state_of=lambda _: None)
            [fit] = index.by_words(said)
            assert fit.action >= 0.75, sentence
            assert not index.unexplained(fit, all_words=True), sentence
            found[sentence] = index.verb_of(fit)
    expected = {sentence: "trigger" for sentences in RUN.values() for sentence in sentences.split("|")}
    expected |= {sentence: "turn_on" for sentences in ENABLE.values() for sentence in sentences.split("|")}
    assert found == expected
    script = replace(target, id="script.garden", entity_id="script.garden", needs_verb=False)
    for one in (target, script):
        for code, sentence in (("nl", "zet Garden uit"), ("de", "schalte Garden aus"), ("en", "turn garden off")):
            said = Utterance(text=sentence, home=home, now=dt_util.now(), state_of=lambda _: None)
            [fit] = (index := RouteIndex([one], language_of(code, {}), home)).by_words(said)
            assert index.verb_of(fit) == "", sentence


async def test_what_is_set_going_in_spanish_runs(hass: HomeAssistant, home: None) -> None:
    await listen(hass, None)
    ran = async_capture_events(hass, "ran")
    for sentence in ("pon en marcha Garden", "pon en marcha Movie Night"):
        await process(hass, sentence, language="es")
    await hass.async_block_till_done()
    assert [event.data["what"] for event in ran] == ["garden", "movie"]


async def test_an_automation_that_did_not_run_is_told(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server)
    ran = async_capture_events(hass, "ran")
    executed = async_capture_events(hass, events.ACTION_EXECUTED)

    async def said(sentence: str) -> tuple[str, bool]:
        response = await process(hass, sentence)
        return response["answer"], response["success"]

    assert await said("run holiday mode") == ("It was not run, because it is disabled: Holiday Mode.", False)
    assert not executed  # it was never called
    held_back = "It did not run, because its conditions are not met: Fountain."
    assert await said("run fountain") == (held_back, False)
    assert [event.data["success"] for event in executed] == [False]
    assert not ran
    hass.states.async_set("sun.frost", "off")
    assert await said("run fountain") == ("Done.", True)  # it runs on, and nobody waits for its end
    assert await said("run fountain") == ("It was not started again, because it is still running: Fountain.", False)
    assert [event.data["what"] for event in ran] == ["fountain"]
    assert not llm_server.requests
    hass.bus.async_fire("never")


async def test_with_routing_off_only_examples_run(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server, routing="off", local_first=True)
    response = await process(hass, "how is the scanner doing")
    assert (response["answer"], response["answered_by"]) == ("The scanner is idle.", "local")
    assert not llm_server.requests
    for sentence in ("how about the printer", "fill the tub with 38 degrees"):
        assert (await process(hass, sentence))["answer"] == "I am the model."
        assert offered(llm_server) == ALL


async def test_a_sentence_continues_with_another_value(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server)
    first = await process(hass, "how is the printer doing")
    then = await process(hass, "and the scanner?", conversation_id=first["conversation_id"])
    assert (then["answer"], route_of(then)["route"]) == ("The scanner is idle.", "printer_status")
    again = await process(hass, "what about the printer", conversation_id=first["conversation_id"])
    assert again["answer"] == "The printer is idle."
    for sentence in ("and the scanner in the office?", "and the toaster?"):
        await process(hass, "how is the printer doing", conversation_id=first["conversation_id"])
        answer = (await process(hass, sentence, conversation_id=first["conversation_id"]))["answer"]
        assert answer == "I am the model."
    assert (await process(hass, "and the scanner?"))["answer"] == "I am the model."  # another conversation


async def test_each_bound_is_read(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    entry = await listen(hass, llm_server)

    async def said(sentence: str, **bounds: int) -> tuple[str, str | None, float]:
        [profile] = [item for item in entry.subentries.values() if item.subentry_type == "profile"]
        data = {"routing": "semantic", "local_first": False, **bounds}
        hass.config_entries.async_update_subentry(entry, profile, data=data)
        await hass.async_block_till_done()
        route = route_of(await process(hass, sentence))
        return route["zone"], route["declined"], route["scores"]["best"]

    near = "how about the printer"
    zone, declined, best = await said(near)
    assert (zone, declined) == ("medium", "score")
    assert (await said(near, routing_low=round(100 * best) + 1))[:2] == ("low", "score")
    assert (await said(near, routing_high=round(100 * best) - 1, routing_action=10))[:2] == ("medium", "words")
    assert (await said(near, routing_high=round(100 * best) - 1, routing_action=99))[:2] == ("medium", "action")
    assert (await said("good night", routing_high=100))[:2] == ("high", None)  # the bound itself is high
    assert (await said("good night", routing_gap=60))[:2] == ("medium", "gap")
    assert (await said("good night", routing_gap=50))[:2] == ("high", None)


async def test_small_talk_has_no_tools_and_orders_do(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server, smalltalk_without_tools=True)
    await process(hass, "tell me a joke about cats")
    assert offered(llm_server) == []
    await process(hass, "add bananas")
    assert offered(llm_server) != []


async def test_a_route_needs_a_yes_as_any_call_does(
    hass: HomeAssistant, home: None, llm_server: LLMServer, alice: Context
) -> None:
    await listen(hass, llm_server)
    asked = await say(hass, "wipe the backup disk", context=alice)
    assert "Wipe the disk" in speech(asked)
    done = await say(hass, "yes", asked.conversation_id, context=alice)
    assert speech(done).startswith("Done.")
    assert not llm_server.requests

    refused = await process(hass, "wipe the backup disk")  # nobody can be asked
    assert (refused["success"], refused["answer"]) == (False, "That didn't work.")


async def test_a_script_hidden_from_a_user_does_not_run(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server)
    ran = async_capture_events(hass, "ran")
    user = MockUser(name="Guest").add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"scene.good_night": True}}})
    response = await process(hass, "movie night", context=Context(user_id=user.id))
    assert route_of(response)["route"] != "script.movie_night"
    assert not ran
    response = await process(hass, "good night", context=Context(user_id=user.id))
    assert route_of(response)["route"] == "scene.good_night"


async def test_the_unknown_and_unavailable_do_not_run(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server, exposed_entities=["scene"])
    ran = async_capture_events(hass, "ran")
    assert route_of(await process(hass, "run movie night"))["route"] != "script.movie_night"
    assert not ran
    assert route_of(await process(hass, "good night"))["declined"] is None
    hass.states.async_set("scene.good_night", "unavailable", {"friendly_name": "Good Night"})
    assert route_of(await process(hass, "good night"))["declined"] == "unavailable"


async def test_the_model_words_the_answer_if_set(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server, routing_persona=True, local_first=True)
    response = await process(hass, "how is the printer doing")
    assert (response["answer"], response["answered_by"]) == ("I am the model.", "model")
    [request] = llm_server.requests
    assert "tools" not in request.body
    assert request.body["messages"][-1]["role"] == "tool"
    assert "The printer is idle." in request.body["messages"][-1]["content"]
    assert [call["tool_name"] for call in response["tool_calls"]] == ["printer_status"]

    llm_server.respond(lambda _body: server_error())
    response = await process(hass, "how is the scanner doing")
    assert response["answer"] == "The scanner is idle."


async def test_events_and_trace_name_the_route(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    await listen(hass, llm_server)
    finished = async_capture_events(hass, events.CONVERSATION_FINISHED)
    response = await process(hass, "good night")
    told = {
        "zone": "high", "route": "scene.good_night", "second": "script.movie_night",
        "scores": {"best": 1.0, "second": 0.5, "action": 1.0, "gap": 0.5}, "by": "words", "declined": None,
    }  # fmt: skip
    assert route_of(response) == told
    assert finished[-1].data["understanding"]["route"] == told
    traced = [event["data"] for event in async_get_traces()[-1].as_dict()["events"]]
    assert {"route": told} in traced
    await process(hass, "how about the printer")
    assert finished[-1].data["understanding"]["route"]["declined"] == "score"


async def test_another_room_adds_routes(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    entry = await listen(hass, llm_server)
    said = ("ask the copy machine",)
    route = Route(id="guest", tool="printer_status", said=said, call=lambda _values, _text: {"device": "scanner"})
    entry.runtime_data.means.routes.async_offer(lambda _profile, _home, _tools: [route])
    response = await process(hass, "please ask the copy machine")
    assert (response["answer"], route_of(response)["route"]) == ("The scanner is idle.", "guest")


async def test_a_request_goes_to_the_described_agent(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    data = {"description": "Ideas for dinner. Recipes with what is there.", "delegation_level": "unrestricted"}
    chef = subentry("profile", "Chef", "profile-2", data)
    llm_server.respond(lambda _body: text("Try a soup."))
    profile = {"routing": "semantic", "delegate_to": ["profile-2"]}
    await set_up(hass, llm_server, profile=profile, more=[chef])
    response = await process(hass, "ideas for dinner please", profile="home_agent")
    assert (response["answer"], route_of(response)["route"]) == ("Try a soup.", "agent.chef")
    [request] = llm_server.requests
    assert request.body["messages"][-1]["content"].endswith("ideas for dinner please")


class Meanings(EmbeddingServer):
    """Vectors of what texts are about, instead of their letters."""

    about = (
        "doing up status macht", "movie film cinema", "night sleep", "tub bath", "holiday", "wipe erase", "joke cats",
    )  # fmt: skip

    @override
    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        rows = []
        for sentence, letters in zip(texts, super().vectors(texts), strict=True):
            said = set(sentence.casefold().replace("?", "").split())
            found = [9.0 * (not said.isdisjoint(words.split())) for words in self.about]
            rows.append([*letters[: self.dimension - len(found)], *found])
        return rows


@pytest.fixture
async def meanings(socket_enabled: None) -> AsyncGenerator[Meanings]:
    server = Meanings(256)
    await server.start()
    yield server
    await server.stop()


def embedding(server: EmbeddingServer) -> dict[str, Any]:
    known = {"embedding": "endpoint", "embedding_preset": "custom", "embedding_model": "meanings"}
    return {"retrieval": {**known, "embedding_url": server.base_url}}


async def ready(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """Wait until the vectors of the routes are made."""
    await process(hass, "hello")
    await hass.async_block_till_done(wait_background_tasks=True)


async def test_vectors_compare_what_is_meant_and_come_from_the_disk_the_next_time(
    hass: HomeAssistant, home: None, llm_server: LLMServer, meanings: Meanings
) -> None:
    entry = await listen(hass, llm_server, embedding(meanings))
    await ready(hass, entry)
    found = {}
    for sentence in (
        "what is the scanner up to", "film night please", "movie night tomorrow", "movie night 7", "erase everything",
        "zebras juggle purple xylophones",
    ):  # fmt: skip
        response = await process(hass, sentence)
        route = route_of(response)
        assert route["by"] == "vectors"
        found[sentence] = route["zone"], route["declined"], response["answered_by"]
    assert found == {
        "what is the scanner up to": ("high", None, "local"), "film night please": ("high", None, "local"),
        "movie night tomorrow": ("medium", "altered", "model"), "movie night 7": ("medium", "words", "model"),
        "erase everything": ("high", None, "local"), "zebras juggle purple xylophones": ("low", "score", "model"),
    }  # fmt: skip
    phrase = "how is the doing?"
    asked = [text.casefold() for text in meanings.texts].count(phrase)
    assert asked
    await hass.config_entries.async_reload(entry.entry_id)
    await ready(hass, entry)
    assert route_of(await process(hass, "what is the printer up to"))["by"] == "vectors"
    assert [text.casefold() for text in meanings.texts].count(phrase) == asked


async def test_vectors_take_time(hass: HomeAssistant, home: None, llm_server: LLMServer, meanings: Meanings) -> None:
    meanings.delay = 0.3
    entry = await listen(hass, llm_server, embedding(meanings))
    response = await process(hass, "good night")
    assert (response["answer"], route_of(response)["declined"]) == ("I am the model.", "not_ready")
    assert offered(llm_server) == ALL
    meanings.delay = 0
    await ready(hass, entry)
    assert route_of(await process(hass, "good night"))["zone"] == "high"


async def test_words_are_compared_while_the_embedding_model_is_away(
    hass: HomeAssistant, home: None, llm_server: LLMServer, meanings: Meanings
) -> None:
    await meanings.stop()
    entry = await listen(hass, llm_server, embedding(meanings))
    await ready(hass, entry)
    route = route_of(await process(hass, "good night"))
    assert (route["zone"], route["by"]) == ("high", "words")


async def test_vectors_are_remade(hass: HomeAssistant, home: None, llm_server: LLMServer, meanings: Meanings) -> None:
    entry = await listen(hass, llm_server, embedding(meanings))
    await ready(hass, entry)
    meanings.dimension = 128
    route = route_of(await process(hass, "the sleep"))
    assert (route["by"], route["declined"]) == ("words", "score")
    await ready(hass, entry)
    route = route_of(await process(hass, "the sleep"))
    assert (route["zone"], route["by"]) == ("high", "vectors")


async def test_another_model_compares_nothing_that_the_one_before_has_made(
    hass: HomeAssistant, home: None, llm_server: LLMServer, meanings: Meanings, embedding_server: EmbeddingServer
) -> None:
    """Vectors of two models may be equally long, and say nothing of each other."""
    entry = await listen(hass, llm_server, embedding(meanings))
    await ready(hass, entry)
    assert route_of(await process(hass, "the sleep"))["zone"] == "high"
    embedding_server.dimension, embedding_server.delay = 256, 0.3
    chosen = embedding(embedding_server)
    chosen["retrieval"]["embedding_model"] = "letters"
    hass.config_entries.async_update_entry(entry, options={**entry.options, **chosen})
    await hass.async_block_till_done()
    route = route_of(await process(hass, "the sleep"))
    assert (route["by"], route["declined"]) == ("vectors", "not_ready")
    embedding_server.delay = 0
    await ready(hass, entry)
    asked = len(meanings.requests)
    route = route_of(await process(hass, "good night"))
    assert (route["zone"], route["by"]) == ("high", "vectors")
    assert len(meanings.requests) == asked
    hass.config_entries.async_update_entry(entry, options={**entry.options, "retrieval": {}})
    await hass.async_block_till_done()
    assert route_of(await process(hass, "good night"))["by"] == "words"


async def test_a_router_is_asked_where_no_route_is_sure(hass: HomeAssistant, home: None, llm_server: LLMServer) -> None:
    parts = Parts(llm_server)
    async_register_extension(hass, coachbyte())
    profile = {"routing": "semantic_then_router", "extensions": ["CoachByte"]}
    await set_up(hass, llm_server, profile=profile, more=[tool(PRINTER)])
    assert (await process(hass, "good night"))["answered_by"] == "local"
    assert parts.asked == []
    parts.plan(ROUTER, segments())
    parts.plan(ITSELF, text("I do not know."))
    assert (await process(hass, "how about the printer"))["answer"] == "I do not know."
    assert parts.asked == [ROUTER, ITSELF]
    assert len(offered(llm_server)) > 2
    parts.assert_done()


async def test_five_thousand_scenes_are_compared_in_bounded_time() -> None:
    said = [f"{one} {two} {number}" for number in range(50) for one in NAMES for two in KINDS]
    entities = {f"scene.s{number}": HomeEntity(f"scene.s{number}", (name,), None) for number, name in enumerate(said)}
    home = HomeSnapshot(entities)
    targets = [
        Route(id=key, tool="ha_control", said=item.names, entity_id=key, is_named=True, call=lambda _v, _t: {})
        for key, item in entities.items()
    ]
    language = language_of("en", {})
    index = RouteIndex(targets, language, home)
    assert len(index.phrases) == 5000
    times = []
    for sentence in (
        "start dusk kitchen 7", "run the evening office scene", "tell me something about dawn in the hallway",
    ):  # fmt: skip
        started = time.perf_counter()
        spoken = Utterance(text=sentence, home=home, now=dt_util.now(), state_of=lambda _entity_id: None)
        fits = index.by_words(spoken)
        times.append(time.perf_counter() - started)
        assert len(fits) <= MAX_NEAR
    assert index.by_words(replace(spoken, text="start dusk kitchen 7"))[0].target.said == ("Dusk Kitchen 7",)
    assert min(times) < 0.5


NAMES = ("Dusk", "Dawn", "Evening", "Morning", "Party", "Reading", "Cinema", "Dinner", "Rain", "Sun")
KINDS = ("Kitchen", "Office", "Hallway", "Bedroom", "Garden", "Attic", "Cellar", "Garage", "Bath", "Terrace")
