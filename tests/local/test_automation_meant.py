"""What is said right after an automation means that: it is asked about with another time, and no wish is touched."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.setup import async_setup_component
import pytest

from custom_components.home_agent.automations.records import records_of
from custom_components.home_agent.automations.store import automation_store
from custom_components.home_agent.turn.proposal import ProposalStatus
from tests.automations.home import FILE, with_files
from tests.house import say, set_up, speech
from tests.prompt.conftest import AddEntity

from .talks import due_times

pytestmark = pytest.mark.usefixtures("evening", "demo_house")

WAITS = {
    "en": "remind me tomorrow at nine to call mum",
    "de": "erinnere mich morgen um neun daran, Mama anzurufen",
    "fr": "rappelle-moi demain à neuf heures d'appeler maman",
    "es": "recuérdame mañana a las nueve llamar a mamá",
    "it": "ricordami domani alle nove di chiamare mamma",
    "nl": "herinner me morgen om negen uur eraan mama te bellen",
    "pl": "przypomnij mi jutro o dziewiątej żeby zadzwonić do mamy",
}
NINE = "25T09:00"
YES = {"en": "yes", "de": "ja", "fr": "oui", "es": "sí", "it": "sì", "nl": "ja", "pl": "tak"}
SAID = {
    "en": "every weekday at seven, turn on the bed light", "de": "jeden Werktag um sieben schalte Bed Light ein",
    "fr": "tous les lundis à huit heures allume Bed Light", "es": "todos los lunes a las ocho enciende Bed Light",
    "it": "ogni lunedì alle otto accendi Bed Light", "nl": "elke werkdag om zeven uur doe Bed Light aan",
    "pl": "w każdy poniedziałek o ósmej włącz Bed Light",
}  # fmt: skip


@pytest.fixture
async def file(hass: HomeAssistant, demo_house: None, add_entity: AddEntity) -> AsyncGenerator[Path]:
    """Return the file of automations of a home with a washer."""
    assert await async_setup_component(hass, "persistent_notification", {})
    add_entity("binary_sensor.washer", "on", name="Washer", device_class="running")
    add_entity("person.anna", "not_home", name="Anna")
    yield await with_files(hass)
    await hass.services.async_call("automation", "turn_off", {"entity_id": "all"}, blocking=True)


async def talk(hass: HomeAssistant, user: Context, language: str, *said: str) -> str:
    """Say some sentences in one conversation; return the last answer."""
    place, answer = None, ""
    for text in said:
        context = Context(user_id=user.user_id)
        result = await say(hass, text, place, language=language, context=context)
        place, answer = result.conversation_id, speech(result)
    return answer


async def made(hass: HomeAssistant) -> list[dict[str, Any]]:
    """Return the automations that were made."""
    return [
        dict(item.config) for item in await automation_store(hass).async_items() if item.id not in ("hall", "cellar")
    ]


@pytest.mark.parametrize(("language", "said"), [
    ("en", "cancel that"), ("en", "make it half past seven"), ("en", "rather at half past seven"), ("en", "no, at 9 am"),
    ("en", "change it to nine"), ("de", "lieber um halb acht"), ("de", "nein, um 9 Uhr"), ("de", "brich das ab"), ("de", "mach halb acht draus"),
    ("fr", "plutôt à neuf heures"), ("es", "mejor a las nueve"), ("it", "meglio alle nove"), ("nl", "liever om negen uur"),
    ("pl", "raczej o dziewiątej"),
])  # fmt: skip
async def test_no_wish_is_touched_after_an_automation(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str
) -> None:
    await set_up(hass)
    await talk(hass, admin, language, WAITS[language])
    answer = await talk(hass, admin, language, SAID[language], YES[language], said)
    assert SAID[language][1:] in answer
    assert due_times(hass) == [NINE]
    assert len(await made(hass)) == 1


@pytest.mark.parametrize("said", ["cancel that", "make it half past seven"])
async def test_nor_after_a_proposal(hass: HomeAssistant, file: Path, alice: Context, said: str) -> None:
    await set_up(hass)
    await talk(hass, alice, "en", WAITS["en"])
    answer = await talk(hass, alice, "en", SAID["en"], "yes", said)
    assert SAID["en"][1:] in answer
    assert due_times(hass) == [NINE]
    assert len(records_of(hass).rows(ProposalStatus.PROPOSED)) == 1


async def test_a_wish_that_is_made_or_told_of_since_is_meant(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    await talk(hass, admin, "en", SAID["en"], "yes", WAITS["en"], "make it ten")
    assert due_times(hass) == ["25T10:00"]
    await talk(
        hass, admin, "en", "every day at 8 pm turn off the bed light", "yes", "what did you plan?", "cancel that"
    )
    assert due_times(hass) == []


async def test_one_that_is_named_is_meant(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    await talk(hass, admin, "en", WAITS["en"])
    await talk(hass, admin, "en", SAID["en"], "yes", "cancel the reminder")
    assert due_times(hass) == []


async def test_undo_takes_the_automation_back(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    await talk(hass, admin, "en", WAITS["en"])
    await talk(hass, admin, "en", SAID["en"], "yes", "cancel that", "undo that", "yes")
    assert await made(hass) == []
    assert due_times(hass) == [NINE]


@pytest.mark.parametrize(("language", "said", "at"), [
    ("en", "at half past seven instead", "07:30:00"), ("en", "no, at 8 am", "08:00:00"), ("en", "make it half past seven", "07:30:00"),
    ("en", "rather at 6:15", "06:15:00"), ("de", "lieber um halb acht", "07:30:00"), ("de", "nein, um 8 Uhr", "08:00:00"),
    ("fr", "plutôt à sept heures", "07:00:00"), ("es", "mejor a las siete", "07:00:00"), ("it", "meglio alle sette", "07:00:00"),
    ("nl", "liever om acht uur", "08:00:00"), ("pl", "raczej o siódmej", "07:00:00"),
])  # fmt: skip
async def test_another_time_is_asked_about(
    hass: HomeAssistant, file: Path, admin: Context, language: str, said: str, at: str
) -> None:
    await set_up(hass)
    await talk(hass, admin, language, WAITS[language])
    asked = await talk(hass, admin, language, SAID[language], said)
    assert at[:5] in asked
    assert file.read_text() == FILE
    await talk(hass, admin, language, SAID[language], said, YES[language])
    [config] = await made(hass)
    assert config["triggers"][0]["at"] == at
    assert due_times(hass) == [NINE]


async def test_it_keeps_what_else_was_said(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    said = "create an automation: every weekday at seven, if Anna is home, turn on the bed light"
    await talk(hass, admin, "en", said, "make it half past seven", "no, at 8 am", "yes")
    [config] = await made(hass)
    assert config["alias"] == "Every weekday at 8 am, if Anna is home, turn on the bed light"
    assert config["triggers"] == [{"trigger": "time", "at": "08:00:00", "weekday": ["mon", "tue", "wed", "thu", "fri"]}]
    assert len(config["conditions"]) == 1


async def test_one_that_was_undone_elsewhere_is_not_meant(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    asked = await say(hass, SAID["en"], context=Context(user_id=admin.user_id))
    await say(hass, "yes", asked.conversation_id, context=Context(user_id=admin.user_id))
    await talk(hass, admin, "en", "undo that", "yes")
    assert await made(hass) == []
    answer = await say(hass, "cancel that", asked.conversation_id, context=Context(user_id=admin.user_id))
    assert "bed light" not in speech(answer)


async def test_what_another_person_says_is_not_said_of_it(
    hass: HomeAssistant, file: Path, admin: Context, alice: Context
) -> None:
    await set_up(hass)
    asked = await say(hass, SAID["en"], context=Context(user_id=admin.user_id))
    answer = await say(hass, "make it half past seven", asked.conversation_id, context=Context(user_id=alice.user_id))
    assert answer.conversation_id == asked.conversation_id
    assert "bed light" not in speech(answer)


async def test_one_without_a_time_takes_none(hass: HomeAssistant, file: Path, admin: Context) -> None:
    await set_up(hass)
    await talk(hass, admin, "en", WAITS["en"])
    answer = await talk(
        hass, admin, "en", "whenever the washer is done, turn off the bed light", "make it half past seven"
    )
    assert "henever the washer is done" in answer
    assert await made(hass) == []
    assert due_times(hass) == [NINE]
