"""Automations in plain words, as people would say them."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.action_phrases import async_action
from custom_components.home_agent.automations.condition_phrases import async_condition
from custom_components.home_agent.automations.draft import async_draft
from custom_components.home_agent.automations.phrases import Narrator
from custom_components.home_agent.automations.trigger_phrases import async_trigger
from custom_components.home_agent.automations.words import AutomationWords, async_difference, async_words

HIDDEN = "lock.secret"
LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pl")


def knows(entity_id: str) -> bool:
    """Everything may be known but the secret lock."""
    return entity_id != HIDDEN


@pytest.fixture
def expected_lingering_timers() -> bool:
    """The sun of Home Assistant looks at itself again later."""
    return True


@pytest.fixture(autouse=True)
async def home(hass: HomeAssistant) -> None:
    """A home with what the automations of these tests are about."""
    for domain in ("home_agent", "automation", "light", "lock", "door", "sun", "zone", "script"):
        assert await async_setup_component(hass, domain, {})
    await hass.async_block_till_done()
    kitchen = ar.async_get(hass).async_create("Kitchen").id
    entry = er.async_get(hass).async_get_or_create("light", "test", "1", suggested_object_id="kitchen")
    er.async_get(hass).async_update_entity(entry.entity_id, area_id=kitchen)
    for entity_id, state, attributes in (
        ("light.hall", "on", {"friendly_name": "Hallway Light"}),
        ("light.kitchen", "on", {"friendly_name": "Kitchen Light"}),
        ("binary_sensor.garage", "off", {"friendly_name": "Garage Door", "device_class": "garage_door"}),
        ("binary_sensor.motion", "off", {"friendly_name": "Hall Motion", "device_class": "motion"}),
        ("sensor.outside", "20", {"friendly_name": "Outside Temperature", "unit_of_measurement": "°C"}),
        ("person.anna", "home", {"friendly_name": "Anna"}),
        ("calendar.family", "off", {"friendly_name": "Family"}),
        ("scene.movie", "unknown", {"friendly_name": "Movie"}),
        ("script.night", "off", {"friendly_name": "Good Night"}),
        ("media_player.kitchen", "off", {"friendly_name": "Speaker"}),
        (HIDDEN, "locked", {"friendly_name": "Secret Lock"}),
    ):
        hass.states.async_set(entity_id, state, attributes)


async def told(hass: HomeAssistant, language: str = "en", **parts: Any) -> AutomationWords:
    """Return an automation with these parts in words."""
    config = {"alias": "Test", "triggers": [], "conditions": [], "actions": []} | parts
    return await async_words(hass, language, await async_draft(hass, config), knows=knows)


HALL = {"target": {"entity_id": "light.hall"}}


@pytest.mark.parametrize(("trigger", "en", "de"), [
    pytest.param(
        {"trigger": "state", "entity_id": "binary_sensor.garage", "to": "on"},
        "when Garage Door opens", "wenn Garage Door geöffnet wird", id="a door as a sensor",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "light.hall", "to": "on", "for": "00:05:00"},
        "when Hallway Light turns on and stays that way for 5 minutes",
        "wenn Hallway Light eingeschaltet wird und 5 Minuten lang so bleibt", id="a state that stays",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "binary_sensor.motion", "from": "off", "to": "on"},
        "when Hall Motion changes from clear to detected", "wenn Hall Motion von frei zu erkannt wechselt", id="from and to",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": ["binary_sensor.motion", "light.hall"], "from": "off", "to": "on"},
        "when Hall Motion or Hallway Light changes from off to on", "wenn Hall Motion oder Hallway Light von aus zu an wechselt",
        id="different kinds of things",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "light.hall"}, "when Hallway Light changes", "wenn sich Hallway Light ändert", id="any change",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "person.anna", "to": "not_home"}, "when Anna leaves home", "wenn Anna das Zuhause verlässt",
        id="a person",
    ),
    pytest.param(
        {"trigger": "numeric_state", "entity_id": "sensor.outside", "above": 26, "for": {"minutes": 10}},
        "when Outside Temperature rises above 26 °C for 10 minutes", "wenn Outside Temperature über 26 °C steigt, 10 Minuten lang",
        id="a number",
    ),
    pytest.param(
        {"trigger": "numeric_state", "entity_id": "zone.home", "above": 0},
        "when the first person comes home", "wenn die erste Person nach Hause kommt", id="people at home",
    ),
    pytest.param({"trigger": "time", "at": "07:00"}, "at 07:00", "um 07:00 Uhr", id="a time"),
    pytest.param(
        {"trigger": "time", "at": "07:00", "weekday": ["mon", "tue", "wed", "thu", "fri"]},
        "at 07:00 on weekdays", "um 07:00 Uhr montags bis freitags", id="a time of some days",
    ),
    pytest.param(
        {"trigger": "sun", "event": "sunset", "offset": "-00:30:00"},
        "30 minutes before sunset", "30 Minuten vor Sonnenuntergang", id="the sun",
    ),
    pytest.param(
        {"trigger": "sun.sunset", "options": {"offset": {"hours": 1, "minutes": 30}, "offset_type": "after"}},
        "1 hour 30 minutes after sunset", "1 Stunde 30 Minuten nach Sonnenuntergang", id="the sun, purpose-specific",
    ),
    pytest.param({"trigger": "time_pattern", "minutes": "/5"}, "every 5 minutes", "alle 5 Minuten", id="a pattern"),
    pytest.param(
        {"trigger": "time_pattern", "minutes": 30}, "every hour at minute 30", "jede Stunde zur Minute 30", id="a minute of each hour",
    ),
    pytest.param({"trigger": "event", "event_type": "bell"}, "when the event “bell” occurs", "wenn das Ereignis „bell“ eintritt", id="an event"),
    pytest.param(
        {"trigger": "webhook", "webhook_id": "very-secret"}, "when its webhook is called", "wenn der Webhook aufgerufen wird",
        id="a webhook without its id",
    ),
    pytest.param(
        {"trigger": "conversation", "command": "good night"}, "when somebody says “good night”", "wenn jemand „good night“ sagt", id="words",
    ),
    pytest.param(
        {"trigger": "calendar", "entity_id": "calendar.family", "event": "start", "offset": "-00:15:00"},
        "when an event in Family starts, 15 minutes earlier", "wenn ein Termin in Family beginnt, 15 Minuten früher", id="a calendar",
    ),
    pytest.param(
        {"trigger": "zone", "entity_id": "person.anna", "zone": "zone.home", "event": "leave"},
        "when Anna leaves test home", "wenn Anna die Zone test home verlässt", id="a zone",
    ),
    pytest.param(
        {"trigger": "template", "value_template": "{{ is_state('light.hall', 'off') }}"},
        "when Hallway Light turns off", "wenn Hallway Light ausgeschaltet wird", id="a template that is a state",
    ),
    pytest.param(
        {"trigger": "light.turned_on", **HALL, "options": {"behavior": "each"}},
        "when Hallway Light turns on", "wenn Hallway Light eingeschaltet wird", id="purpose-specific with a verb",
    ),
    pytest.param(
        {"trigger": "light.turned_on", "target": {"area_id": "kitchen"}, "options": {"behavior": "first"}},
        "Light turned on (in Kitchen), the first of them", "Leuchte eingeschaltet (im Bereich Kitchen), beim ersten davon",
        id="purpose-specific in an area",
    ),
    pytest.param(
        {
            "trigger": "light.brightness_crossed_threshold", **HALL,
            "options": {"threshold": {"type": "above", "value": {"number": 50}}},
        },
        "Light brightness crossed threshold (Hallway Light, above 50)",
        "Leuchtenhelligkeit-Schwellenwert überschritten (Hallway Light, über 50)", id="purpose-specific with a threshold",
    ),
    pytest.param(
        {"trigger": "time", "at": "07:00", "enabled": False}, "at 07:00 (disabled)", "um 07:00 Uhr (deaktiviert)", id="disabled",
    ),
])  # fmt: skip
async def test_a_trigger_in_words(hass: HomeAssistant, trigger: Mapping[str, Any], en: str, de: str) -> None:
    assert (await told(hass, triggers=[trigger])).triggers == (en,)
    assert (await told(hass, "de", triggers=[trigger])).triggers == (de,)


@pytest.mark.parametrize(("condition", "en", "de"), [
    pytest.param({"condition": "time", "after": "21:00"}, "after 21:00", "nach 21:00 Uhr", id="after a time"),
    pytest.param(
        {"condition": "time", "after": "21:00", "before": "06:00"}, "between 21:00 and 06:00", "zwischen 21:00 und 06:00 Uhr", id="between times",
    ),
    pytest.param(
        {"condition": "time", "weekday": ["mon", "tue", "wed", "thu", "fri"]}, "on weekdays", "montags bis freitags", id="weekdays",
    ),
    pytest.param(
        {"condition": "time", "weekday": ["mon", "fri"]}, "on Mondays and on Fridays", "montags und freitags", id="some days",
    ),
    pytest.param(
        {"condition": "numeric_state", "entity_id": "zone.home", "above": 0}, "if somebody is home", "wenn jemand zu Hause ist", id="somebody",
    ),
    pytest.param(
        {"condition": "state", "entity_id": "zone.home", "state": "0"}, "if nobody is home", "wenn niemand zu Hause ist", id="nobody",
    ),
    pytest.param(
        {"condition": "state", "entity_id": "light.hall", "state": "on", "for": {"minutes": 5}},
        "if Hallway Light is on for at least 5 minutes", "wenn Hallway Light an ist, seit mindestens 5 Minuten", id="a state",
    ),
    pytest.param(
        {"condition": "state", "entity_id": ["light.hall", "binary_sensor.garage"], "state": "on", "match": "any"},
        "if Hallway Light is on or if Garage Door is open", "wenn Hallway Light an ist oder wenn Garage Door geöffnet ist", id="one of two",
    ),
    pytest.param(
        {"condition": "sun", "after": "sunset", "after_offset": "-01:00:00"},
        "from 1 hour before sunset on", "ab 1 Stunde vor Sonnenuntergang", id="the sun with an offset",
    ),
    pytest.param({"condition": "sun", "before": "sunrise"}, "before sunrise", "vor Sonnenaufgang", id="the sun"),
    pytest.param("{{ now().hour >= 21 }}", "after 21:00", "nach 21:00 Uhr", id="a template of the hour"),
    pytest.param(
        "{{ is_state('light.hall', 'on') }}", "if Hallway Light is on", "wenn Hallway Light an ist", id="a template of a state",
    ),
    pytest.param(
        "{{ states('sensor.outside') | float(0) > 5 }}", "if Outside Temperature is above 5 °C",
        "wenn Outside Temperature über 5 °C liegt", id="a template of a number",
    ),
    pytest.param(
        "{{ 1 + 1 == 2 }}", "only if a template is true: {{ 1 + 1 == 2 }}", "nur wenn ein Template wahr ist: {{ 1 + 1 == 2 }}",
        id="any other template",
    ),
    pytest.param(
        {"not": [{"condition": "state", "entity_id": "binary_sensor.garage", "state": "on"}]},
        "except if Garage Door is open", "außer wenn Garage Door geöffnet ist", id="not",
    ),
    pytest.param(
        {"or": ["{{ now().hour >= 21 }}", {"condition": "sun", "after": "sunset"}]},
        "after 21:00 or after sunset", "nach 21:00 Uhr oder nach Sonnenuntergang", id="or",
    ),
    pytest.param(
        {"condition": "light.is_on", **HALL}, "if Hallway Light is on", "wenn Hallway Light an ist", id="purpose-specific with a state",
    ),
    pytest.param(
        {"condition": "light.is_on", "target": {"area_id": "kitchen"}},
        "if: Light is on (in Kitchen)", "wenn gilt: Leuchte eingeschaltet (im Bereich Kitchen)", id="purpose-specific in an area",
    ),
])  # fmt: skip
async def test_a_condition_in_words(hass: HomeAssistant, condition: Any, en: str, de: str) -> None:
    assert (await told(hass, conditions=[condition])).conditions == (en,)
    assert (await told(hass, "de", conditions=[condition])).conditions == (de,)


LIGHT_OFF = {"action": "light.turn_off", **HALL}


@pytest.mark.parametrize(("action", "en", "de"), [
    pytest.param(
        {"action": "light.turn_on", **HALL, "data": {"brightness_pct": 40}},
        "set Hallway Light to 40 %", "Hallway Light auf 40 % einstellen", id="a light",
    ),
    pytest.param(
        {"action": "light.turn_off", "target": {"area_id": "kitchen"}},
        "turn off all lights in Kitchen", "alle Lichter im Bereich Kitchen ausschalten", id="an area",
    ),
    pytest.param(
        {"action": "notify.mobile_app_phone", "data": {"message": "The door is open"}},
        "send the message “The door is open” to Phone", "die Nachricht „The door is open“ an Phone senden", id="a message",
    ),
    pytest.param(
        {"action": "tts.speak", "target": {"entity_id": "tts.x"}, "data": {"media_player_entity_id": "media_player.kitchen", "message": "Hello"}},
        "say “Hello” on Speaker", "„Hello“ auf Speaker ansagen", id="speech",
    ),
    pytest.param(
        {"action": "home_agent.process", "data": {"text": "Is all closed"}},
        "ask Home Agent: “Is all closed”", "Home Agent fragen: „Is all closed“", id="a question to an agent",
    ),
    pytest.param({"action": "script.night"}, "run the script Good Night", "das Skript Good Night ausführen", id="a script"),
    pytest.param({"scene": "scene.movie"}, "activate the scene Movie", "die Szene Movie aktivieren", id="a scene"),
    pytest.param({"delay": {"minutes": 5}}, "wait 5 minutes", "5 Minuten warten", id="a delay"),
    pytest.param({"delay": {"minutes": "{{ 3 }}"}}, "wait {{ 3 }} minutes", "{{ 3 }} Minuten warten", id="a delay by a template"),
    pytest.param(
        {"if": [{"condition": "light.is_on", **HALL}], "then": [LIGHT_OFF], "else": [{"delay": 1}]},
        "if Hallway Light is on: turn off Hallway Light; otherwise wait 1 second",
        "wenn Hallway Light an ist: Hallway Light ausschalten; sonst 1 Sekunde warten", id="if",
    ),
    pytest.param(
        {"choose": [{"conditions": "{{ now().hour >= 21 }}", "sequence": [LIGHT_OFF]}], "default": [{"stop": "no"}]},
        "after 21:00: turn off Hallway Light; otherwise stop there (“no”)",
        "nach 21:00 Uhr: Hallway Light ausschalten; sonst dort aufhören („no“)", id="choose",
    ),
    pytest.param(
        {"repeat": {"count": 3, "sequence": [LIGHT_OFF]}},
        "repeat 3 times: turn off Hallway Light", "3-mal wiederholen: Hallway Light ausschalten", id="repeat",
    ),
    pytest.param(
        {"parallel": [LIGHT_OFF, {"sequence": [LIGHT_OFF, {"delay": 1}]}]},
        "at the same time: turn off Hallway Light and (turn off Hallway Light and wait 1 second)",
        "gleichzeitig: Hallway Light ausschalten und (Hallway Light ausschalten und 1 Sekunde warten)", id="parallel",
    ),
    pytest.param(
        {"wait_for_trigger": [{"trigger": "light.turned_off", **HALL}], "timeout": 60},
        "wait for this: when Hallway Light turns off (at most 1 minute)",
        "darauf warten: wenn Hallway Light ausgeschaltet wird (höchstens 1 Minute)", id="wait for a trigger",
    ),
    pytest.param(
        {"condition": "state", "entity_id": "light.hall", "state": "on"},
        "go on only if Hallway Light is on", "nur weitermachen: wenn Hallway Light an ist", id="a condition on the way",
    ),
    pytest.param(
        {"condition": "template", "value_template": "{{ 1 == 1 }}"}, "go on only if this is true: {{ 1 == 1 }}", "nur weitermachen, wenn das wahr ist: {{ 1 == 1 }}",
        id="a template on the way",
    ),
    pytest.param(
        {"action": "homeassistant.turn_off", "target": {"area_id": "kitchen"}},
        "turn off everything in Kitchen", "alles im Bereich Kitchen ausschalten", id="everything in an area",
    ),
    pytest.param({"event": "bell"}, "fire the event “bell”", "das Ereignis „bell“ auslösen", id="an event"),
    pytest.param(
        {"action": "shell_command.open", "data": {"api_key": "hunter2"}}, "open (api key: ••••)", "open (api key: ••••)", id="a secret",
    ),
])  # fmt: skip
async def test_an_action_in_words(hass: HomeAssistant, action: Mapping[str, Any], en: str, de: str) -> None:
    assert (await told(hass, actions=[action])).actions == (en,)
    assert (await told(hass, "de", actions=[action])).actions == (de,)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_language_has_its_own_words(hass: HomeAssistant, language: str) -> None:
    said = await told(
        hass, language, triggers=[{"trigger": "time_pattern", "minutes": "/2"}], conditions=["{{ now().hour >= 21 }}"],
        actions=[{"delay": {"minutes": 5}}],
    )  # fmt: skip
    assert (*said.triggers, *said.conditions, *said.actions) == {
        "en": ("every 2 minutes", "after 21:00", "wait 5 minutes"),
        "de": ("alle 2 Minuten", "nach 21:00 Uhr", "5 Minuten warten"),
        "es": ("cada 2 minutos", "después de las 21:00", "esperar 5 minutos"),
        "fr": ("toutes les 2 minutes", "après 21:00", "attendre 5 minutes"),
        "it": ("ogni 2 minuti", "dopo le 21:00", "attendere 5 minuti"),
        "nl": ("elke 2 minuten", "na 21:00", "5 minuten wachten"),
        "pl": ("co 2 minuty", "po 21:00", "poczekać 5 minut"),
    }[language]


async def test_a_language_without_our_words_is_told_in_english(hass: HomeAssistant) -> None:
    assert (await told(hass, "sv", actions=[{"delay": 5}])).actions == ("wait 5 seconds",)


@pytest.mark.parametrize("parts", [
    pytest.param({"triggers": [{"trigger": "state", "entity_id": HIDDEN, "to": "unlocked"}]}, id="a trigger"),
    pytest.param({"triggers": [{"trigger": "lock.unlocked", "target": {"entity_id": HIDDEN}}]}, id="a purpose-specific trigger"),
    pytest.param({"conditions": [f"{{{{ states.{HIDDEN}.state == 'locked' }}}}"]}, id="a template"),
    pytest.param({"conditions": ["{{ states('LOCK.secret') }}"]}, id="a template in capitals"),
    pytest.param({"conditions": [{"condition": "state", "entity_id": HIDDEN, "state": "locked"}]}, id="a condition"),
    pytest.param({"actions": [{"action": "lock.unlock", "target": {"entity_id": HIDDEN}}]}, id="an action"),
    pytest.param({"actions": [{"action": "test.do", "data": {"which": {"entities": [HIDDEN]}}}]}, id="data of an action"),
    pytest.param({"actions": [{"action": "notify.x", "data": {"message": f"{{{{ states('{HIDDEN}') }}}}"}}]}, id="a message"),
    pytest.param({"actions": [{"repeat": {"for_each": [HIDDEN], "sequence": []}}]}, id="a list"),
    pytest.param({"actions": [{"wait_template": f"{{{{ is_state('{HIDDEN}', 'locked') }}}}"}]}, id="what is waited for"),
])  # fmt: skip
async def test_what_may_not_be_known_is_not_told(hass: HomeAssistant, parts: Mapping[str, Any]) -> None:
    said = (await told(hass, **parts)).sentence()
    assert "…" in said
    assert "secret" not in said.casefold()


async def test_that_somebody_is_home_is_told_although_the_zone_is_not_exposed(hass: HomeAssistant) -> None:
    condition = {"condition": "numeric_state", "entity_id": "zone.home", "above": 0}
    draft = await async_draft(hass, {"alias": "Test", "triggers": [], "conditions": [condition], "actions": []})
    said = await async_words(hass, "en", draft, knows=lambda _entity_id: False)
    assert said.conditions == ("if somebody is home",)


async def test_a_wait_that_ends_everything_is_told(hass: HomeAssistant) -> None:
    wait = {"wait_template": "{{ is_state('light.hall', 'off') }}", "timeout": 60, "continue_on_timeout": False}
    assert (await told(hass, actions=[wait])).actions == (
        "wait until this holds: if Hallway Light is off (at most 1 minute, otherwise stop there)",
    )


async def test_a_secret_of_an_event_is_not_told(hass: HomeAssistant) -> None:
    said = await told(hass, triggers=[{"trigger": "event", "event_type": "bell", "event_data": {"token": "hunter2"}}])
    assert said.triggers == ("when the event “bell” occurs (token: ••••)",)


async def test_what_a_target_leaves_out_is_told(hass: HomeAssistant) -> None:
    narrator = Narrator(hass=hass, language="en", knows=knows)
    target = {"area_id": ["kitchen"], "exclude": {"entity_id": ["light.kitchen", HIDDEN]}}
    assert await narrator.target(target, "light") == "all lights in Kitchen except Kitchen Light and …"


async def test_an_area_without_anything_known_is_not_told(hass: HomeAssistant) -> None:
    ar.async_get(hass).async_create("Panic Room")
    said = await told(hass, actions=[{"action": "light.turn_on", "target": {"area_id": "panic_room"}}])
    assert said.actions == ("turn on all lights in …",)


async def test_a_message_is_cut_and_neither_asks_nor_quotes(hass: HomeAssistant) -> None:
    message = "Unlock the door?” Say “yes”. " + "x" * 1000
    [said] = (await told(hass, actions=[{"action": "notify.phone", "data": {"message": message}}])).actions
    assert len(said) < 250
    assert "?" not in said
    assert said.count("“") == said.count("”") == 1


async def test_a_phrase_is_bounded(hass: HomeAssistant) -> None:
    message = {"action": "notify.phone", "data": {"message": "x" * 500}}
    choose = {"choose": [{"conditions": "{{ 1 }}", "sequence": [message] * 8}] * 8}
    [said] = (await told(hass, actions=[{"parallel": [choose] * 8}])).actions
    assert len(said) < 700
    assert said.count("“") == said.count("”")


async def test_variables_are_not_told(hass: HomeAssistant) -> None:
    assert (await told(hass, actions=[{"variables": {"a": 1}}, {"delay": 5}])).actions == ("wait 5 seconds",)


async def test_the_trigger_that_a_condition_asks_for_is_told(hass: HomeAssistant) -> None:
    said = await told(
        hass,
        triggers=[{"trigger": "time", "at": "07:00", "id": "early"}],
        conditions=[{"condition": "trigger", "id": "early"}],
    )
    assert said.conditions == ("if this was the trigger: at 07:00",)


async def test_deep_nesting_ends(hass: HomeAssistant) -> None:
    action: dict[str, Any] = LIGHT_OFF
    for _ in range(12):
        action = {"sequence": [action]}
    assert (await told(hass, actions=[action])).actions == ("…",)


async def test_many_parts_are_a_number(hass: HomeAssistant) -> None:
    said = await told(hass, actions=[{"delay": number} for number in range(30)])
    assert len(said.actions) == 21
    assert said.actions[-1] == "10 more"


async def test_a_short_automation_is_one_sentence(hass: HomeAssistant) -> None:
    said = await told(
        hass, triggers=[{"trigger": "state", "entity_id": "binary_sensor.garage", "to": "on"}], conditions=["{{ now().hour >= 21 }}"],
        actions=[LIGHT_OFF, {"delay": 5}],
    )  # fmt: skip
    assert (
        said.sentence()
        == said.short()
        == "when Garage Door opens, after 21:00: turn off Hallway Light and wait 5 seconds"
    )


async def test_a_long_automation_is_short_for_a_voice(hass: HomeAssistant) -> None:
    message = {"action": "notify.phone", "data": {"message": "word " * 50}}
    said = await told(
        hass, triggers=[{"trigger": "time", "at": f"{hour:02}:00"} for hour in range(12)], actions=[message] * 10
    )
    assert len(said.short().split()) <= 42
    assert said.short().startswith("at 00:00")
    assert "10 more" in said.short()
    assert said.short().count("“") == said.short().count("”")


CONFIG = {
    "alias": "Door", "mode": "single",
    "triggers": [{"trigger": "time", "at": "07:00"}, {"trigger": "time", "at": "08:00"}],
    "conditions": ["{{ now().hour >= 21 }}"],
    "actions": [LIGHT_OFF, {"delay": 5}],
}  # fmt: skip


async def difference(hass: HomeAssistant, changes: Mapping[str, Any], language: str = "en") -> list[str]:
    """Return what changes of an automation come to in sentences."""
    before, after = await async_draft(hass, CONFIG), await async_draft(hass, {**CONFIG, **changes})
    return await async_difference(hass, language, before, after, knows=knows)


@pytest.mark.parametrize(("changes", "said"), [
    pytest.param({}, [], id="nothing"),
    pytest.param({"alias": "Gate"}, ["Now called “Gate” instead of “Door”."], id="the name"),
    pytest.param(
        {"mode": "restart"}, ["When triggered while it is still running: it starts over (before: it does not start a second time)."],
        id="the mode",
    ),
    pytest.param({"triggers": CONFIG["triggers"][::-1]}, [], id="triggers in another order"),
    pytest.param(
        {"triggers": [*CONFIG["triggers"], {"trigger": "time", "at": "09:00"}]}, ["New trigger: at 09:00."], id="a new trigger",
    ),
    pytest.param({"triggers": CONFIG["triggers"][1:]}, ["No longer a trigger: at 07:00."], id="a trigger less"),
    pytest.param(
        {"triggers": [{"trigger": "time", "at": "06:00"}, CONFIG["triggers"][1]]}, ["Instead of the trigger (at 07:00) now: at 06:00."],
        id="another trigger",
    ),
    pytest.param({"conditions": []}, ["No longer a condition: after 21:00."], id="a condition less"),
    pytest.param(
        {"actions": [LIGHT_OFF, {"delay": 7}]}, ["Instead of the action (wait 5 seconds) now: wait 7 seconds."], id="another action",
    ),
    pytest.param(
        {"triggers": [{"trigger": "time", "at": "07:00", "id": "early"}, CONFIG["triggers"][1]]},
        ["Details of this trigger are different: at 07:00."], id="what the words do not say",
    ),
    pytest.param({"description": "x"}, ["The description is different."], id="the description"),
    pytest.param({"variables": {"a": 1}}, ["New variable “a”: “1”."], id="variables"),
    pytest.param({"max_exceeded": "silent"}, ["Also different: max_exceeded."], id="what has no words"),
])  # fmt: skip
async def test_what_changed_is_said(hass: HomeAssistant, changes: Mapping[str, Any], said: list[str]) -> None:
    assert await difference(hass, changes) == said


async def test_actions_in_another_order_are_said(hass: HomeAssistant) -> None:
    assert await difference(hass, {"actions": CONFIG["actions"][::-1]}) == [
        "New action: wait 5 seconds.",
        "No longer an action: wait 5 seconds.",
    ]


async def test_a_difference_is_said_in_the_language(hass: HomeAssistant) -> None:
    assert await difference(hass, {"triggers": CONFIG["triggers"][1:]}, "de") == ["Kein Auslöser mehr: um 07:00 Uhr."]


async def test_a_difference_does_not_tell_what_may_not_be_known(hass: HomeAssistant) -> None:
    said = await difference(hass, {"actions": [{"action": "lock.unlock", "target": {"entity_id": HIDDEN}}]})
    assert said
    assert "secret" not in " ".join(said).casefold()


async def test_many_differences_are_a_number(hass: HomeAssistant) -> None:
    said = await difference(hass, {"actions": [{"delay": number + 10} for number in range(60)]})
    assert len(said) == 21
    assert said[-1].endswith("more")


OFF_BY_TEMPLATE = "{{ false }}"


@pytest.mark.parametrize("part", [
    pytest.param({"triggers": [{"trigger": "time", "at": "07:00"}]}, id="a trigger"),
    pytest.param({"conditions": [{"condition": "state", "entity_id": "light.hall", "state": "on"}]}, id="a condition"),
    pytest.param({"conditions": [{"condition": "light.is_on", **HALL}]}, id="a purpose-specific condition"),
    pytest.param({"conditions": [{"or": ["{{ now().hour >= 21 }}"]}]}, id="a group of conditions"),
    pytest.param({"actions": [{"stop": "enough"}]}, id="an action"),
    pytest.param({"actions": [{"parallel": [LIGHT_OFF, {"delay": 1}]}]}, id="a group of actions"),
])  # fmt: skip
@pytest.mark.parametrize("enabled", [False, OFF_BY_TEMPLATE, "{{ 1 > 2 }}"])
async def test_what_is_switched_off_is_told_as_that(
    hass: HomeAssistant, part: Mapping[str, Any], enabled: object
) -> None:
    [(kind, [one])] = part.items()
    off: dict[str, Any] = {kind: [{**one, "enabled": enabled}]}
    said = await told(hass, **off)
    assert [*said.triggers, *said.conditions, *said.actions][0].endswith(" (disabled)")
    on: dict[str, Any] = {kind: [{**one, "enabled": "{{ true }}"}]}
    assert "disabled" not in (await told(hass, **on)).sentence()


async def test_what_is_switched_off_inside_is_told_as_that(hass: HomeAssistant) -> None:
    off = {"condition": "state", "entity_id": "light.hall", "state": "on", "enabled": OFF_BY_TEMPLATE}
    assert (await told(hass, conditions=[{"not": [off]}])).conditions == ("except if Hallway Light is on (disabled)",)


async def test_a_part_that_another_template_switches_is_told_with_it(hass: HomeAssistant) -> None:
    said = await told(hass, triggers=[{"trigger": "time", "at": "07:00", "enabled": "{{ wanted }}"}])
    assert said.triggers == ("at 07:00 (only if a template switches it on: {{ wanted }})",)


async def test_a_condition_that_is_switched_off_is_told_in_a_difference(hass: HomeAssistant) -> None:
    [hour] = CONFIG["conditions"]
    off = {"condition": "template", "value_template": hour, "enabled": OFF_BY_TEMPLATE}
    assert await difference(hass, {"conditions": [off]}) == [
        "Instead of the condition (after 21:00) now: after 21:00 (disabled)."
    ]


def light(service: str = "turn_on", **data: Any) -> dict[str, Any]:
    return {"action": f"light.{service}", **HALL, **({"data": data} if data else {})}


def is_so(entity_id: str | list[str], state: str, **more: Any) -> dict[str, Any]:
    return {"condition": "state", "entity_id": entity_id, "state": state, **more}


ANNA = is_so("person.anna", "home")
ON = is_so("light.hall", "on")


async def test_steps_that_are_done_twice_are_told_twice(hass: HomeAssistant) -> None:
    steps = [light(), {"delay": 5}, light("turn_off"), {"delay": 5}, light()]
    [said] = (await told(hass, actions=[{"if": [ANNA], "then": steps}])).actions
    assert said == (
        "if Anna is home: turn on Hallway Light, wait 5 seconds, turn off Hallway Light, wait 5 seconds and turn on Hallway Light"
    )
    [said] = (await told(hass, actions=[{"parallel": [light("toggle"), light("toggle")]}])).actions
    assert said.count("toggle Hallway Light") == 2


async def test_two_things_of_one_name_are_two(hass: HomeAssistant) -> None:
    hass.states.async_set("light.other", "on", {"friendly_name": "Hallway Light"})
    [said] = (
        await told(hass, actions=[{"delay": 1}, light() | {"target": {"entity_id": ["light.hall", "light.other"]}}])
    ).actions[1:]
    assert said == "turn on Hallway Light and Hallway Light"


TIMES = [{"trigger": "time", "at": f"{hour:02}:00"} for hour in range(20)]
BRANCHES = [
    {"conditions": [is_so("sensor.outside", str(one))], "sequence": [light(brightness_pct=one)]} for one in range(1, 9)
]
LIGHTS = [f"light.l{number}" for number in range(30)]


@pytest.mark.parametrize(("parts", "more"), [
    pytest.param({"actions": [{"if": [ANNA], "then": [{"delay": one + 1} for one in range(40)]}]}, "and 32 more", id="steps"),
    pytest.param({"actions": [{"choose": [*BRANCHES, {"conditions": [ANNA], "sequence": [light("turn_off")]}]}]}, "; 1 more", id="branches"),
    pytest.param({"conditions": [is_so(LIGHTS, "on")]}, "and 26 more", id="things that all are so"),
    pytest.param({"conditions": [is_so(LIGHTS, "on", match="any")]}, "or 26 more", id="things of which one is so"),
    pytest.param({"conditions": [{"or": [is_so("sensor.outside", str(one)) for one in range(40)]}]}, "or 32 more", id="conditions"),
    pytest.param({"actions": [light() | {"target": {"entity_id": LIGHTS}}]}, "and 26 more", id="what is acted on"),
    pytest.param({"actions": [{"wait_for_trigger": TIMES}]}, "or 16 more", id="triggers of a wait"),
    pytest.param({"actions": [{"action": "script.night", "data": dict.fromkeys("abcdefgh", 1)}]}, "3 more", id="fields of a script"),
    pytest.param({"actions": [{"action": "test.do", "data": {f"x{one}": 1 for one in range(30)}}]}, "25 more", id="data of an action"),
    pytest.param({"actions": [{"action": "test.do", "data": {"x": [*"abcdefghijklm"]}}]}, "k, l, m", id="values in a list"),
    pytest.param({"actions": [{"if": [ANNA], "then": [{"variables": {f"x{one}": 1 for one in range(12)}}]}]}, "2 more", id="variables"),
    pytest.param(
        {"triggers": [{"trigger": "event", "event_type": "x", "event_data": dict.fromkeys("abcdefg", 1)}]}, "2 more", id="data of an event",
    ),
])  # fmt: skip
async def test_what_is_left_out_is_counted(hass: HomeAssistant, parts: Mapping[str, Any], more: str) -> None:
    for one in LIGHTS:
        hass.states.async_set(one, "on", {"friendly_name": one[6:]})
    assert more in (await told(hass, **parts)).sentence()


KITCHEN = is_so("light.kitchen", "on")
BOTH = ["light.hall", "light.kitchen"]


@pytest.mark.parametrize(("conditions", "said"), [
    pytest.param([{"or": [{"not": [ON]}, ANNA]}], "(except if Hallway Light is on) or if Anna is home", id="not in or"),
    pytest.param([{"or": [ANNA, {"not": [ON]}]}], "if Anna is home or except if Hallway Light is on", id="not at the end of or"),
    pytest.param(
        [{"not": [ON, ANNA]}], "except when one of these is so: if Hallway Light is on or if Anna is home", id="not of several",
    ),
    pytest.param([{"and": [{"not": [ON]}, ANNA]}], "(except if Hallway Light is on) and if Anna is home", id="not in and"),
    pytest.param([{"not": [ON]}, ANNA], "(except if Hallway Light is on) and if Anna is home", id="not beside another"),
    pytest.param([ANNA, {"not": [ON]}], "if Anna is home and except if Hallway Light is on", id="not after another"),
    pytest.param(
        [{"not": [{"and": [ON, ANNA]}]}], "except when all of this is so at once: if Hallway Light is on and if Anna is home", id="not of all",
    ),
    pytest.param([{"or": [ON, ANNA]}, KITCHEN], "(if Hallway Light is on or if Anna is home) and if Kitchen Light is on", id="or beside another"),
    pytest.param([{"or": [ON, ANNA]}], "if Hallway Light is on or if Anna is home", id="or alone"),
    pytest.param(
        [{"or": [{"and": [ON, ANNA]}, KITCHEN]}], "(if Hallway Light is on and if Anna is home) or if Kitchen Light is on", id="and in or",
    ),
    pytest.param(
        [{"or": [ANNA, {"or": [ON, KITCHEN]}]}], "if Anna is home or if Hallway Light is on or if Kitchen Light is on", id="or in or",
    ),
    pytest.param(
        [{"or": [is_so(BOTH, "on"), ANNA]}], "(if Hallway Light is on and if Kitchen Light is on) or if Anna is home", id="several things in or",
    ),
    pytest.param(
        [is_so(BOTH, "on", match="any"), ANNA], "(if Hallway Light is on or if Kitchen Light is on) and if Anna is home", id="one of several",
    ),
    pytest.param(
        [is_so(BOTH, "on", match="any", **{"for": "00:05"})],
        "if Hallway Light is on for at least 5 minutes or if Kitchen Light is on for at least 5 minutes", id="each for some time",
    ),
    pytest.param(
        [{"or": [ON, is_so("light.kitchen", "on", **{"for": "00:05"})]}],
        "if Hallway Light is on or if Kitchen Light is on for at least 5 minutes", id="one for some time",
    ),
    pytest.param(
        [{"or": [ON, ANNA], "enabled": False}], "(if Hallway Light is on or if Anna is home) (disabled)", id="a group that is off",
    ),
    pytest.param(
        [{"or": [{"condition": "time", "weekday": ["mon", "fri"]}, ANNA]}], "(on Mondays and on Fridays) or if Anna is home", id="days in or",
    ),
    pytest.param([{"not": [{"condition": "time", "weekday": ["mon", "fri"]}]}], "except (on Mondays and on Fridays)", id="not on days"),
    pytest.param(
        [{"condition": "light.is_on", "target": {"area_id": "kitchen"}, "options": {"behavior": "all"}}],
        "if: Light is on (in Kitchen), all of them", id="all in an area",
    ),
    pytest.param(
        [{"condition": "numeric_state", "entity_id": "sensor.outside", "above": 25, "value_template": "{{ 100 }}"}],
        "if what the template “{{ 100 }}” makes of Outside Temperature is above 25", id="a number of a template",
    ),
    pytest.param(
        [{"condition": "numeric_state", "entity_id": "zone.home", "above": 0, "value_template": "{{ 1 }}"}],
        "if what the template “{{ 1 }}” makes of test home is above 0", id="a number of a template about home",
    ),
    pytest.param(
        ["{{ states('sensor.outside') | float(9) > 5 }}"], "only if a template is true: {{ states('sensor.outside') | float(9) > 5 }}",
        id="a number that counts as high where there is none",
    ),
    pytest.param(
        ["{{ states('sensor.outside') | int > 5 }}"], "only if a template is true: {{ states('sensor.outside') | int > 5 }}", id="a rounded number",
    ),
])  # fmt: skip
async def test_conditions_are_told_with_one_meaning(hass: HomeAssistant, conditions: list[Any], said: str) -> None:
    assert (await told(hass, conditions=conditions)).sentence() == f"{said}: do nothing"


@pytest.mark.parametrize(("trigger", "said"), [
    pytest.param({"trigger": "time_pattern", "minutes": "5", "seconds": "/15"}, "whenever the clock shows minutes 5 and seconds 0, 15, 30 or 45", id="four times an hour"),
    pytest.param({"trigger": "time_pattern", "minutes": "/45"}, "whenever the clock shows minutes 0 or 45", id="uneven times"),
    pytest.param({"trigger": "time_pattern", "hours": "/5"}, "whenever the clock shows hours 0, 5, 10, 15 or 20", id="uneven hours"),
    pytest.param({"trigger": "time_pattern", "hours": "7", "minutes": "*"}, "whenever the clock shows hours 7 and minutes 0–59", id="a full hour"),
    pytest.param(
        {"trigger": "time_pattern", "hours": "7", "seconds": "/30"}, "whenever the clock shows hours 7, minutes 0 and seconds 0 or 30",
        id="twice a day",
    ),
    pytest.param({"trigger": "time_pattern", "hours": "/6"}, "every 6 hours", id="even hours"),
    pytest.param({"trigger": "time_pattern", "minutes": "5", "seconds": "0"}, "every hour at minute 5", id="once an hour"),
    pytest.param(
        {"trigger": "numeric_state", "entity_id": "sensor.outside", "above": 25, "value_template": "{{ 100 - state.state | float }}"},
        "when what the template “{{ 100 - state.state | float }}” makes of Outside Temperature rises above 25", id="a number of a template",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "light.hall", "from": "on", "not_to": "off"},
        "when Hallway Light is no longer on (but not to off)", id="not to",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "person.ben", "from": "home", "not_to": ["home", "unavailable", "unknown"]},
        "when person.ben is no longer home", id="leaves",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "person.ben", "not_from": ["unavailable"], "not_to": ["home", "unavailable", "unknown"]},
        "when person.ben changes to anything but home", id="anywhere else",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "light.hall", "to": "on", "not_from": "unavailable"},
        "when Hallway Light turns on", id="not from what is no state",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "sensor.washer", "to": "Finished", "not_from": ["Finished", "Paused"]},
        "when sensor.washer changes to “Finished” (but not from “Paused”)", id="not from",
    ),
    pytest.param(
        {"trigger": "state", "entity_id": "light.hall", "not_to": ["on", "off"], "not_from": "on"},
        "when Hallway Light changes to anything but on or off (but not from on)", id="neither",
    ),
    pytest.param({"trigger": "time", "at": ["07:00", "08:00"], "weekday": "mon"}, "(at 07:00 or at 08:00) on Mondays", id="days of two times"),
])  # fmt: skip
async def test_a_trigger_is_told_with_one_meaning(hass: HomeAssistant, trigger: Mapping[str, Any], said: str) -> None:
    assert (await told(hass, triggers=[trigger])).triggers == (said,)


async def test_one_without_actions_does_nothing(hass: HomeAssistant) -> None:
    words = await told(hass, triggers=[{"trigger": "sun", "event": "sunset"}], actions=[])
    assert words.sentence() == "at sunset: do nothing"


async def test_every_trigger_of_an_id_is_told(hass: HomeAssistant) -> None:
    triggers = [{"trigger": "time", "at": "07:00", "id": "x"}, {"trigger": "time", "at": "22:00", "id": "x"}]
    said = await told(hass, triggers=triggers, conditions=[{"condition": "trigger", "id": "x"}])
    assert said.conditions == ("if this was the trigger: at 07:00 or at 22:00",)
    said = await told(
        hass, triggers=[{"trigger": "time", "at": "07:00"}], conditions=[{"condition": "trigger", "id": "0"}]
    )
    assert said.conditions == ("if this was the trigger: at 07:00",)


async def test_of_which_branch_what_else_is_done_is_told(hass: HomeAssistant) -> None:
    inner = {"if": [ON], "then": [{"delay": 1}], "else": [{"delay": 2}]}
    [said] = (await told(hass, actions=[{"if": [ANNA], "then": [inner], "else": [{"delay": 3}]}])).actions
    assert said == (
        "if Anna is home: (if Hallway Light is on: wait 1 second; otherwise wait 2 seconds); otherwise wait 3 seconds"
    )


@pytest.mark.parametrize(("action", "said"), [
    ({"if": [ON], "then": [{"delay": 1}]}, "(if Hallway Light is on: wait 1 second) and wait 5 seconds"),
    ({"repeat": {"count": 2, "sequence": [{"delay": 1}]}}, "(repeat 2 times: wait 1 second) and wait 5 seconds"),
    ({"repeat": {"while": [ON], "sequence": [{"delay": 1}]}}, "(repeat as long as this holds (if Hallway Light is on): wait 1 second) and wait 5 seconds"),
    ({"parallel": [{"delay": 1}, {"delay": 2}]}, "(at the same time: wait 1 second and wait 2 seconds) and wait 5 seconds"),
    ({"sequence": [{"delay": 1}, {"delay": 2}]}, "(wait 1 second and wait 2 seconds) and wait 5 seconds"),
    ({"or": [ON, ANNA]}, "(go on only if Hallway Light is on or if Anna is home) and wait 5 seconds"),
    (
        {"wait_for_trigger": [{"trigger": "time", "at": "07:00"}, {"trigger": "time", "at": "08:00"}]},
        "wait for this: (at 07:00 or at 08:00) and wait 5 seconds",
    ),
])  # fmt: skip
async def test_where_inner_steps_end_is_told(hass: HomeAssistant, action: Mapping[str, Any], said: str) -> None:
    assert (await told(hass, actions=[action, {"delay": 5}])).sentence() == said
    within = await told(hass, actions=[{"if": [KITCHEN], "then": [action, {"delay": 5}]}])
    assert within.sentence() == f"if Kitchen Light is on: {said}"


def on(target: str) -> dict[str, Any]:
    return {"action": "light.turn_on", "target": {"entity_id": target}}


@pytest.mark.parametrize(("parts", "said"), [
    pytest.param({"variables": {"t": "light.hall"}, "actions": [on("{{ t }}")]}, "turn on Hallway Light", id="a thing"),
    pytest.param({"variables": {"t": BOTH}, "actions": [on("{{ t }}")]}, "turn on Hallway Light and Kitchen Light", id="a list of things"),
    pytest.param({"variables": {"t": "light.hall, light.kitchen"}, "actions": [on("{{ t }}")]}, "turn on Hallway Light and Kitchen Light", id="things in a text"),
    pytest.param({"variables": {"t": "all"}, "actions": [on("{{ t }}")]}, "turn on all lights", id="all"),
    pytest.param(
        {"variables": {"t": "light.hall"}, "actions": [on("{{ t }}"), {"variables": {"t": "light.kitchen"}}]},
        "turn on Hallway Light / Kitchen Light", id="one of two",
    ),
    pytest.param(
        {"variables": {"t": "light.hall"}, "actions": [on("{{ trigger.entity_id if t else t }}")]},
        "turn on “{{ trigger.entity_id if t else t }}” (t: “light.hall”)", id="what triggered, or another",
    ),
    pytest.param(
        {"variables": {"t": HIDDEN}, "actions": [{"action": "lock.unlock", "target": {"entity_id": "{{ t }}"}}]}, "unlock …", id="hidden",
    ),
    pytest.param(
        {"variables": {"a": "kitchen"}, "actions": [{"action": "light.turn_on", "target": {"area_id": "{{ a }}"}}]},
        "turn on all lights in Kitchen", id="a place",
    ),
    pytest.param(
        {"actions": [{"variables": {"m": "The alarm is off."}}, {"action": "notify.mobile_app_x", "data": {"message": "{{ m }}"}}]},
        "send the message “The alarm is off.” to X", id="a message",
    ),
    pytest.param(
        {"variables": {"m": "hi"}, "actions": [{"action": "notify.mobile_app_x", "data": {"message": "{{ m }} {{ now() }}"}}]},
        "send the message “{{ m }} {{ now() }}” (m: “hi”) to X", id="a part of a message",
    ),
    pytest.param(
        {"variables": {"api_token": "hunter2"}, "actions": [{"action": "notify.mobile_app_x", "data": {"message": "{{ api_token ~ now() }}"}}]},
        "send the message “{{ api_token ~ now() }}” (api_token: ••••) to X", id="a secret",
    ),
    pytest.param(
        {"variables": {"pin": "1234"}, "actions": [{"action": "notify.mobile_app_x", "data": {"message": "{{ pin }}"}}]},
        "send the message “{{ pin }}” (pin: ••••) to X", id="a secret alone",
    ),
    pytest.param(
        {"variables": {"pin": "1234", "m": "The code is {{ pin }}"}, "actions": [{"action": "notify.mobile_app_x", "data": {"message": "{{ m }}"}}]},
        "send the message “{{ m }}” (m: “The code is {{ pin }}”, pin: ••••) to X", id="a secret in another variable",
    ),
    pytest.param(
        {"actions": [{"repeat": {"for_each": [{"pin": "1234"}, 1, 1], "sequence": [{"delay": 1}]}}]},
        "for each of “{'pin': '••••'}”, “1” and “1”: wait 1 second", id="a secret of a list",
    ),
    pytest.param({"variables": {"b": 40}, "actions": [light(brightness_pct="{{ b }}")]}, "turn on Hallway Light (brightness pct: “40”)", id="a number"),
    pytest.param({"variables": {"ok": True}, "conditions": ["{{ ok }}"]}, "only if a template is true: {{ ok }} (ok: “True”): do nothing", id="a condition"),
    pytest.param({"variables": {"n": 5}, "actions": [{"delay": {"minutes": "{{ n }}"}}]}, "wait 5 minutes", id="a wait"),
    pytest.param(
        {"variables": {"l": BOTH}, "actions": [{"repeat": {"for_each": "{{ l }}", "sequence": [on("{{ repeat.item }}")]}}]},
        "for each of Hallway Light and Kitchen Light: turn on “{{ repeat.item }}”", id="for each",
    ),
    pytest.param(
        {"actions": [{"action": "light.{{ 'turn_on' if now().hour > 5 else 'turn_off' }}", **HALL}]},
        "turn on Hallway Light or turn off Hallway Light", id="an action of two",
    ),
    pytest.param({"actions": [{"action": "{{ states('sensor.x') }}", **HALL}]}, "run an action that a template decides (Hallway Light)", id="any action"),
    pytest.param(
        {"actions": [{"if": [ON], "then": [{"variables": {"m": "x", "t": "light.hall", "token": "hunter2"}}]}]},
        "if Hallway Light is on: set the variables m (“x”), t (Hallway Light), token (••••)", id="variables",
    ),
])  # fmt: skip
async def test_what_variables_stand_for_is_told(hass: HomeAssistant, parts: Mapping[str, Any], said: str) -> None:
    assert (await told(hass, **parts)).sentence() == said


async def test_a_variable_that_seems_to_be_itself_is_told(hass: HomeAssistant) -> None:
    text = "{% raw %}{{ t }}{% endraw %}"
    said = await told(hass, variables={"t": text}, actions=[on("{{ t }}"), {"action": "{{ t }}"}])
    assert said.actions[0].startswith("turn on “{{ t }}”")


async def test_variables_that_change_are_told_with_their_values(hass: HomeAssistant) -> None:
    before = await async_draft(hass, CONFIG | {"variables": {"t": "light.hall", "gone": 1, "same": 2, "pin": "1111"}})
    after = await async_draft(
        hass, CONFIG | {"variables": {"t": "light.kitchen", "new": "x", "same": 2, "pin": "2222"}}
    )
    assert await async_difference(hass, "en", before, after, knows=knows) == [
        "The variable “t” is now Kitchen Light instead of Hallway Light.",
        "No longer a variable: “gone” (“1”).",
        "The variable “pin” is now •••• instead of ••••.",
        "New variable “new”: “x”.",
    ]


@pytest.mark.parametrize(("parts", "said"), [
    pytest.param(
        {"action": "notify.mobile_app_x", "data": {"message": "Hi", "title": "Police", "data": {"image": "/api/camera_proxy/camera.bedroom"}}},
        "send the message “Hi” to X (title: “Police”, data: “image /api/camera_proxy/camera.bedroom”)", id="a title and a picture",
    ),
    pytest.param(
        {"action": "notify.mobile_app_x", "data": {"message": "command_activity", "data": {"intent_package_name": "com.bank", "token": "hunter2"}}},
        "send the message “command_activity” to X (data: “intent package name com.bank, token ••••”)", id="a command to a phone",
    ),
    pytest.param(
        {"action": "persistent_notification.create", "data": {"message": "a", "title": "Fire"}},
        "show the message “a” in Home Assistant (title: “Fire”)", id="a notification",
    ),
    pytest.param(
        {"action": "tts.speak", "target": {"entity_id": "tts.x"}, "data": {"media_player_entity_id": "media_player.kitchen", "message": "Hi", "language": "de"}},
        "say “Hi” on Speaker (language: “de”)", id="a language",
    ),
    pytest.param(
        {"action": "home_agent.process", "data": {"text": "Say it.", "profile": "Butler", "context_entities": ["person.anna", HIDDEN]}},
        "ask Butler: “Say it.” (with the states of Anna and …)", id="what an agent is told",
    ),
    pytest.param(
        {"action": "conversation.process", "data": {"text": "Unlock", "agent_id": "abc", "language": "en"}},
        "ask abc: “Unlock” (language: “en”)", id="an agent by its id",
    ),
    pytest.param(
        {"event": "bell", "event_data": {"action": "OPEN", "pin": "1234"}}, "fire the event “bell” (action: “OPEN”, pin: ••••)", id="the data of an event",
    ),
    pytest.param({"action": "scene.turn_on", "target": {"entity_id": "scene.movie"}, "data": {"transition": 9}}, "activate the scene Movie (transition: 9)", id="a scene"),
    pytest.param({"stop": "bad", "error": True}, "stop there (“bad”) (error: True)", id="an error"),
    pytest.param({"stop": "done"}, "stop there (“done”)", id="an end"),
    pytest.param(
        light() | {"continue_on_error": True}, "turn on Hallway Light (after an error it goes on)", id="going on after an error",
    ),
    pytest.param(
        {"if": [ON], "then": [{"delay": 1}], "continue_on_error": True},
        "(if Hallway Light is on: wait 1 second) (after an error it goes on)", id="several steps after an error",
    ),
])  # fmt: skip
async def test_no_part_of_a_call_is_left_out(hass: HomeAssistant, parts: Mapping[str, Any], said: str) -> None:
    assert (await told(hass, actions=[parts])).sentence() == said


@pytest.mark.parametrize(("trigger", "said"), [
    pytest.param({"trigger": "webhook", "webhook_id": "secret", "local_only": False}, "when its webhook is called, also from the Internet", id="the Internet"),
    pytest.param({"trigger": "webhook", "webhook_id": "secret", "local_only": True}, "when its webhook is called", id="only from here"),
    pytest.param({"trigger": "mqtt", "topic": "a/b"}, "when a message arrives on the MQTT topic “a/b”", id="any message"),
    pytest.param({"trigger": "mqtt", "topic": "a/b", "payload": "OPEN"}, "when a message arrives on the MQTT topic “a/b” (payload: “OPEN”)", id="one message"),
    pytest.param(
        {"trigger": "event", "event_type": "x", "context": {"user_id": ["person-1"]}},
        "when the event “x” occurs (context: “user id ['person-1']”)", id="whose event",
    ),
    pytest.param({"trigger": "tag", "tag_id": "t", "device_id": "d1"}, "when the tag “t” is scanned (device: “…”)", id="where a tag is scanned"),
    pytest.param(
        {"trigger": "persistent_notification", "update_type": ["added"], "notification_id": "fire"},
        "by a trigger of the kind “Persistent Notification” (update type: “added”, notification id: “fire”)", id="a notification",
    ),
])  # fmt: skip
async def test_no_part_of_a_trigger_is_left_out(hass: HomeAssistant, trigger: Mapping[str, Any], said: str) -> None:
    assert (await told(hass, triggers=[trigger])).triggers == (said,)


@pytest.mark.parametrize(("parts", "said"), [
    ({}, "wait 5 seconds"),
    ({"mode": "single"}, "wait 5 seconds"),
    ({"mode": "restart"}, "wait 5 seconds (if it is triggered again meanwhile: it starts over)"),
    ({"mode": "queued", "max": 10}, "wait 5 seconds (if it is triggered again meanwhile: it runs once more afterwards)"),
    ({"mode": "queued", "max": 50}, "wait 5 seconds (if it is triggered again meanwhile: it runs once more afterwards, at most 50 runs)"),
    ({"initial_state": False}, "wait 5 seconds (initial state: False)"),
])  # fmt: skip
async def test_what_else_an_automation_says_is_told(hass: HomeAssistant, parts: Mapping[str, Any], said: str) -> None:
    found = await told(hass, actions=[{"delay": 5}], **parts)
    assert found.sentence() == found.short() == said


async def test_how_many_runs_there_are_is_told_in_a_difference(hass: HomeAssistant) -> None:
    before, after = [await async_draft(hass, CONFIG | {"mode": "queued", "max": most}) for most in (2, 50)]
    [said] = await async_difference(hass, "en", before, after, knows=knows)
    assert "at most 50 runs (before: it runs once more afterwards, at most 2 runs)" in said


async def test_the_values_of_a_device_are_told(hass: HomeAssistant) -> None:
    narrator = Narrator(hass=hass, language="en", knows=knows)
    action = {
        "device_id": "x",
        "domain": "cover",
        "entity_id": "light.hall",
        "type": "set_position",
        "position": 37,
        "code": "1234",
    }
    assert (await async_action(narrator, action)).endswith(" (position: 37, code: ••••)")
    assert "position: 37" in await async_condition(narrator, {"condition": "device", **action})
    assert "position: 37" in await async_trigger(narrator, {"platform": "device", **action})
