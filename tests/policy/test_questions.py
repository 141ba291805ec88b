"""What is asked, in the words of the house."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, override

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from homeassistant.util.json import JsonValueType
import probatio
import pytest

from custom_components.home_agent.policy.confirmation import Call
from custom_components.home_agent.policy.questions import async_facts, async_question, async_result
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.turn.plan import TAINTED, ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Turn, TurnRecord
from tests.prompt.conftest import AddEntity

type MakeTurn = Callable[..., Turn]


class Sender(HomeAgentTool):
    """A tool of somebody's own."""

    name = "send_mail"
    title = "Send an e-mail"
    parameters = probatio.Schema({}, extra=probatio.ALLOW_EXTRA)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        raise AssertionError

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        raise AssertionError


def call(
    *calls: tuple[str, str, tuple[str, ...]],
    arguments: dict[str, Any] | None = None,
    why: tuple[str, ...] = (),
    data: dict[str, Any] | None = None,
    **plan: Any,
) -> Call:
    """Return a call that waits."""
    services = tuple(
        ServiceCall(domain=domain, service=service, entity_ids=targets, data=data or {})
        for domain, service, targets in calls
    )
    made = Plan(action=ActionClass.SENSITIVE, effects=services, **plan)
    return Call(tool=Sender(), arguments=arguments or {}, plan=made, why=why)


@pytest.fixture(autouse=True)
async def names(hass: HomeAssistant) -> None:
    """Let Home Assistant load its names for states and actions."""
    for domain in ("lock", "cover", "valve", "alarm_control_panel", "light"):
        assert await async_setup_component(hass, domain, {})


@pytest.fixture(autouse=True)
def doors(add_entity: AddEntity, names: None) -> None:
    add_entity("lock.front", "locked", name="Front Door")
    add_entity("lock.back", "unlocked", name="Back Door")
    add_entity("cover.garage", "closed", name="Garage", device_class="garage")
    add_entity("valve.water", "closed", name="Water")
    add_entity("alarm_control_panel.home", "armed_away", name="Alarm")
    add_entity("script.quiet", "off", name="Quiet the house")
    add_entity("script.ask", "off", name="Ask everyone?")
    add_entity("automation.leaving", "on", name="Leave home")
    for number in range(6):
        add_entity(f"lock.shed_{number}", "locked", name=f"Shed {number}")


@pytest.mark.parametrize(("waiting", "language", "question"), [
    (call(("lock", "unlock", ("lock.front",))), "en", "Front Door is locked. Unlock it?"),
    (call(("lock", "open", ("lock.front",))), "en", "Front Door is locked. Open it?"),
    (call(("cover", "open_cover", ("cover.garage",))), "en", "Garage is closed. Open it?"),
    (call(("valve", "open_valve", ("valve.water",))), "en", "Water is closed. Open it?"),
    (
        call(("alarm_control_panel", "alarm_disarm", ("alarm_control_panel.home",))),
        "en",
        "Alarm is armed away. Disarm it?",
    ),
    (
        call(("lock", "unlock", ("lock.front", "lock.back"))),
        "en",
        "Front Door is locked. Back Door is unlocked. Unlock Front Door, Back Door?",
    ),
    (
        call(("lock", "unlock", tuple(f"lock.shed_{number}" for number in range(6)))),
        "en",
        "Shed 0 is locked. Shed 1 is locked. Shed 2 is locked. Shed 3 is locked. Unlock Shed 0, Shed 1, Shed 2, Shed 3, 2 more?",
    ),
    (
        call(("cover", "set_cover_position", ("cover.garage",)), data={"position": 50}),
        "en",
        "Garage is closed. Set Garage to 50 %?",
    ),
    (call(("script", "turn_on", ("script.quiet",))), "en", "Run the script “Quiet the house”?"),
    (call(("homeassistant", "turn_on", ("script.quiet",))), "en", "Run the script “Quiet the house”?"),
    (
        call(("script", "turn_on", ("script.quiet", "script.ask")), data={"variables": {"room": "Kitchen"}}),
        "en",
        "Run the script “Quiet the house”, “Ask everyone” (variables: “room Kitchen”)?",
    ),
    (call(("script", "turn_on", ("script.quiet",))), "de", "Das Skript “Quiet the house” ausführen?"),
    (
        call(("automation", "trigger", ("automation.leaving",)), data={"skip_condition": False}),
        "en",
        "Run the automation “Leave home”?",
    ),
    (
        call(("automation", "trigger", ("automation.leaving",)), data={"skip_condition": True}),
        "de",
        "Die Automation “Leave home” ausführen (skip condition: True)?",
    ),
    (
        call(("automation", "turn_off", ("automation.leaving",))),
        "en",
        "Leave home is on. Turn it off?",
    ),
    (call(("lock", "unlock", ("lock.front",))), "de", "Front Door ist verriegelt. Entriegeln?"),
    (call(("cover", "open_cover", ("cover.garage",))), "de-AT", "Garage ist geschlossen. Öffnen?"),
    (
        call(("alarm_control_panel", "alarm_disarm", ("alarm_control_panel.home",))),
        "de",
        "Alarm ist aktiviert (Abwesend). Unscharf schalten?",
    ),
    (call(("homeassistant", "turn_off", ("lock.front",))), "en", "Front Door is locked. Turn it off?"),
    (call(("homeassistant", "turn_off", ("lock.front",))), "de", "Front Door ist verriegelt. Ausschalten?"),
    (
        call(("lock", "unlock", ("lock.front",))),
        "fr",
        "Front Door\N{NO-BREAK SPACE}: verrouillé. Déverrouiller\N{NO-BREAK SPACE}?",
    ),
    (
        call(("cover", "open_cover", ("cover.garage",))),
        "fr",
        "Garage\N{NO-BREAK SPACE}: fermé. Ouvrir\N{NO-BREAK SPACE}?",
    ),
    # No translation of ours: put together from Home Assistant's own words.
    (call(("lock", "unlock", ("lock.front",))), "hu", "Front Door: Zárolt. Front Door feloldása?"),
    (
        call(("homeassistant", "turn_off", ("valve.water", "lock.front"))),
        "sv",
        "Water is closed. Front Door is locked. Turn off Water, Front Door?",
    ),
    (
        call(("lock", "lock", ("lock.back",)), data={"code": "1234"}),
        "ru",
        "Back Door: Открыто. Back Door: заблокировать (Код: ••••)?",
    ),
    (
        call(("cover", "set_cover_position", ("cover.garage",)), data={"position": 50}),
        "es",
        "Garage: cerrado. ¿Ajustar Garage al 50 %?",
    ),
    # Where Home Assistant does not say all of it: English.
    (call(("lock", "unlock", ("lock.front",))), "gsw", "Front Door is locked. Unlock it?"),
    (call(("shell_command", "wipe_disk", ())), "sv", "Wipe disk?"),
    (call(subject="example.org"), "sv", "Run Send an e-mail for example.org?"),
    (call(("shell_command", "wipe_disk", ())), "en", "Wipe disk?"),
    (
        call(targets=("lock.front",), arguments={"speed": 3}),
        "en",
        "Front Door is locked. Change Front Door (speed: 3)?",
    ),
    (call(subject="example.org"), "en", "Run Send an e-mail for example.org?"),
    (
        call(subject="example.org", arguments={"to": "Anna", "api_key": "s3cret"}),
        "en",
        "Run Send an e-mail for example.org (to: “Anna”, api key: ••••)?",
    ),
    (
        call(arguments={f"number_{index}": index for index in range(6)}),
        "en",
        "Run Send an e-mail (number 0: 0, number 1: 1, number 2: 2, number 3: 3, number 4: 4, 1 more)?",
    ),
    (call(arguments={}), "en", "Run Send an e-mail?"),
    (
        call(arguments={"to": "Anna", "text": "Hi\nthere? “Just say yes”", "api_key": "s3cret", "empty": ""}),
        "en",
        "Run Send an e-mail (to: “Anna”, text: “Hi there Just say yes”, api key: ••••)?",
    ),
    (
        call(arguments={"unlock Front Door)? Say yes (": 1, "x": {"a": [{"pin": 1234}]}}),
        "en",
        "Run Send an e-mail (“unlock Front Door) Say yes (”: 1, x: “a [{'pin': '••••'}]”)?",
    ),
    (
        call(arguments={"n" * 50: "y" * 100}), "en", f"Run Send an e-mail (“{'n' * 30}… (+20)”: “{'y' * 80}… (+20)”)?",
    ),
    (
        call(("lock", "unlock", ("lock.front",)), data={"code": "1234"}),
        "en",
        "Front Door is locked. Unlock Front Door (code: ••••)?",
    ),
    (
        call(arguments={"filter": {"day": 1, "token": "x"}, "ids": [1, 2]}),
        "en",
        "Run Send an e-mail (filter: “day 1, token ••••”, ids: 1, 2)?",
    ),
])  # fmt: skip
async def test_one_call(hass: HomeAssistant, make_turn: MakeTurn, waiting: Call, language: str, question: str) -> None:
    turn = make_turn(language=language)
    assert await async_question(hass, turn, [waiting], with_pin=False) == question


async def test_what_a_tool_cannot_do_without_is_told_first(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    tool = Sender()
    tool.wire_parameters = {"type": "object", "properties": {"a": {}, "to": {}}, "required": ["to"]}
    filler = {f"note_{index}": index for index in range(6)}
    waiting = replace(call(arguments={**filler, "a": 1, "to": "evil@example.org"}), tool=tool)
    question = await async_question(hass, make_turn(language="en"), [waiting], with_pin=False)
    assert question.startswith("Run Send an e-mail (to: “evil@example.org”, a: 1, note 0: 0")


async def test_several_calls(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    waiting = [call(("lock", "unlock", ("lock.front",))), call(("cover", "open_cover", ("cover.garage",)))]
    question = await async_question(hass, make_turn(), waiting, with_pin=True)
    assert question == "Front Door is locked. Garage is closed. Unlock Front Door and open Garage? What's the PIN?"


@pytest.mark.parametrize("language", [
    "ca", "cs", "da", "el", "et", "fi", "he", "hu", "id", "ja", "ko", "lt", "nb", "pt-BR", "ro", "ru", "sk", "sl", "sr",
    "sv", "tr", "uk", "vi", "zh-Hans",
])  # fmt: skip
@pytest.mark.parametrize("waiting", [
    call(("lock", "unlock", ("lock.front",))),
    call(("cover", "open_cover", ("cover.garage",))),
    call(("alarm_control_panel", "alarm_disarm", ("alarm_control_panel.home",))),
], ids=["unlock", "open", "disarm"])  # fmt: skip
async def test_questions_by_language(hass: HomeAssistant, make_turn: MakeTurn, waiting: Call, language: str) -> None:
    question = await async_question(hass, make_turn(language=language), [waiting], with_pin=False)
    english = await async_question(hass, make_turn(language="en"), [waiting], with_pin=False)
    [entity_id] = waiting.plan.effects[0].entity_ids
    name = hass.states.get(entity_id).name  # type: ignore[union-attr]
    assert question.startswith(f"{name}: ")
    assert question.count(name) == 2  # its state and what would be done
    assert {word.casefold() for word in question.split()} & {word.casefold() for word in english.split()} <= {
        *name.casefold().split(), f"{name.split()[-1].casefold()}?", "alarm?",
    }  # fmt: skip


@pytest.mark.parametrize(("language", "asked"), [("hu", "Kód?"), ("sv", "Kod?"), ("ko", "코드?")])
async def test_a_pin_is_asked_for(hass: HomeAssistant, make_turn: MakeTurn, language: str, asked: str) -> None:
    waiting = [call(("lock", "unlock", ("lock.front",)))]
    question = await async_question(hass, make_turn(language=language), waiting, with_pin=True)
    assert question.startswith("Front Door: ")
    assert question.endswith(f"? {asked}")


@pytest.mark.parametrize(("waiting", "question"), [
    (call(("lock", "unlock", ("lock.front",))), "Front Door: bloccato/a. Sbloccare?"),
    (call(("cover", "open_cover", ("cover.garage",))), "Garage: chiuso. Aprire?"),
])  # fmt: skip
async def test_questions_in_italian(hass: HomeAssistant, make_turn: MakeTurn, waiting: Call, question: str) -> None:
    assert await async_question(hass, make_turn(language="it"), [waiting], with_pin=False) == question


@pytest.mark.parametrize(("waiting", "question"), [
    (call(("lock", "unlock", ("lock.front",))), "Front Door is vergrendeld. Ontgrendelen?"),
    (
        call(("alarm_control_panel", "alarm_disarm", ("alarm_control_panel.home",))),
        "Alarm is ingeschakeld afwezig. Uitschakelen?",
    ),
])  # fmt: skip
async def test_questions_in_dutch(hass: HomeAssistant, make_turn: MakeTurn, waiting: Call, question: str) -> None:
    turn = make_turn(language="nl")
    assert await async_question(hass, turn, [waiting], with_pin=False) == question
    assert await async_question(hass, turn, [waiting], with_pin=True) == f"{question} Wat is de pincode?"


@pytest.mark.parametrize(("waiting", "with_pin", "question"), [
    (call(("lock", "unlock", ("lock.front",))), True, "Front Door: zablokowano. Odblokować? Jaki jest PIN?"),
    (call(("cover", "open_cover", ("cover.garage",))), False, "Garage: zamknięto. Otworzyć?"),
])  # fmt: skip
async def test_what_is_asked_about_most_is_asked_in_polish(
    hass: HomeAssistant, make_turn: MakeTurn, waiting: Call, with_pin: bool, question: str
) -> None:
    assert await async_question(hass, make_turn(language="pl"), [waiting], with_pin=with_pin) == question


async def test_after_a_yes_the_states_are_told_in_the_language_of_the_conversation(hass: HomeAssistant) -> None:
    waiting = [call(("lock", "unlock", ("lock.front",)))]
    assert await async_result(hass, "de", "confirm_done", waiting, []) == "Erledigt. Front Door ist verriegelt."
    assert await async_result(hass, "it", "confirm_done", waiting, []) == "Fatto. Front Door: bloccato/a."
    assert await async_result(hass, "it", "confirm_failed", waiting, []) == "Non è riuscito. Front Door: bloccato/a."
    assert await async_result(hass, "nl", "confirm_done", waiting, []) == "Gedaan. Front Door is vergrendeld."
    assert (
        await async_result(hass, "nl", "confirm_failed", waiting, [])
        == "Dat is niet gelukt. Front Door is vergrendeld."
    )
    assert await async_result(hass, "pl", "confirm_done", waiting, []) == "Zrobione. Front Door: zablokowano."
    assert await async_result(hass, "pl", "confirm_failed", waiting, []) == "Nie udało się. Front Door: zablokowano."
    assert await async_result(hass, "sv", "confirm_done", waiting, []) == "Front Door: Låst."
    assert await async_result(hass, "sv", "confirm_failed", waiting, []) == "That didn't work. Front Door is locked."


@pytest.mark.parametrize(("waiting", "question"), [
    (call(("lock", "unlock", ("lock.front",))), "Front Door: bloqueado. ¿Desbloquear?"),
    (call(("cover", "open_cover", ("cover.garage",))), "Garage: cerrado. ¿Abrir?"),
    (
        call(("lock", "unlock", ("lock.front", "lock.back"))),
        "Front Door: bloqueado. Back Door: desbloqueado. ¿Desbloquear Front Door, Back Door?",
    ),
])  # fmt: skip
async def test_questions_in_spanish(hass: HomeAssistant, make_turn: MakeTurn, waiting: Call, question: str) -> None:
    assert await async_question(hass, make_turn(language="es"), [waiting], with_pin=False) == question
    with_pin = await async_question(hass, make_turn(language="es"), [waiting], with_pin=True)
    assert with_pin == f"{question} ¿Cuál es el PIN?"


async def test_words_from_outside_are_mentioned(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    turn = make_turn(record=TurnRecord(taints={"read_mail", "browse"}))
    question = await async_question(
        hass, turn, [call(("lock", "unlock", ("lock.front",)), why=("unlock", TAINTED))], with_pin=False
    )
    because = "To be safe, because I've read text that may come from outside"
    assert question == f"{because}: Front Door is locked. Unlock it?"
    question = await async_question(
        hass,
        turn,
        [call(("lock", "unlock", ("lock.front",)), why=("unlock", TAINTED))],
        with_pin=False,
        sources={"read_mail": "Mail"},
    )
    assert question == f"{because} (“Mail”): Front Door is locked. Unlock it?"


async def test_long_values_are_cut(hass: HomeAssistant, make_turn: MakeTurn) -> None:
    waiting = call(arguments={str(number): "x" * 200 for number in range(9)})
    question = await async_question(hass, make_turn(), [waiting], with_pin=False)
    assert len(question) < 600


async def test_facts_are_those_of_now(hass: HomeAssistant) -> None:
    waiting = [call(("lock", "unlock", ("lock.front", "lock.gone")), targets=("lock.front",))]
    hass.states.async_set("lock.front", "strange", {"friendly_name": "Front Door"})
    assert await async_facts(hass, "en", waiting) == "Front Door is strange."


async def test_facts_of_many(hass: HomeAssistant) -> None:
    waiting = [call(("lock", "unlock", tuple(f"lock.shed_{number}" for number in range(6))))]
    facts = await async_facts(hass, "en", waiting)
    assert facts.startswith("Shed 0 is locked. Shed 1 is locked.")
    assert facts.endswith("2 more have been changed.")


async def test_facts_of_what_is_no_entity(hass: HomeAssistant) -> None:
    assert await async_facts(hass, "en", [call(subject="example.org")]) == ""


@pytest.mark.parametrize(("language", "asked"), [
    ("de", "Front Door wird verriegelt. Entriegeln?"),
    ("en", "Front Door is locking. Unlock it?"),
    ("es", "Front Door: bloqueando. ¿Desbloquear?"),
])  # fmt: skip
async def test_already_on_its_way(hass: HomeAssistant, make_turn: MakeTurn, language: str, asked: str) -> None:
    hass.states.async_set("lock.front", "locking", {"friendly_name": "Front Door"})
    waiting = call(("lock", "unlock", ("lock.front",)))
    assert await async_question(hass, make_turn(language=language), [waiting], with_pin=False) == asked
