"""What becomes of effects of which some fail, or whose kind raises or is not known."""

from collections.abc import Sequence
from typing import Any, ClassVar, override

from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er, llm
import probatio
import pytest

from custom_components.home_agent.policy.effects import KINDS
from custom_components.home_agent.policy.effects.name_change import NameChange
from custom_components.home_agent.policy.undo import Reversal
from custom_components.home_agent.policy.write import EffectTool, async_plan_of
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.tools.registry import NativeTools
from custom_components.home_agent.turn.plan import Plan, ServiceCall
from custom_components.home_agent.turn.turn import Outcome, Turn
from tests.house import say, set_up, speech, state_of
from tests.llm_server import LLMServer, text, tool_call
from tests.stored import restart

from .notes import NOTES, NoteKind, NoteWritten

pytestmark = pytest.mark.usefixtures("demo_house", "notes")

BED = "light.bed_light"


@pytest.fixture
async def home(hass: HomeAssistant, demo_house: None, kind: NoteKind, llm_server: LLMServer) -> Any:
    """Set up with a lamp that is off."""
    entry = await set_up(hass, llm_server, options={"verify_seconds": 0.3})
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    return entry


async def note(hass: HomeAssistant, server: LLMServer, user: Context, **arguments: str) -> None:
    server.plan(tool_call("write_note", arguments), text("All right."))
    await say(hass, "Please note something", "c1", context=Context(user_id=user.user_id))


async def undo(hass: HomeAssistant, user: Context) -> str:
    return speech(await say(hass, "undo", "c1", context=Context(user_id=user.user_id)))


async def newest(hass: HomeAssistant) -> dict[str, Any]:
    found: Any = await hass.services.async_call(DOMAIN, "list_actions", {}, blocking=True, return_response=True)
    return dict(found["actions"][0])


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("words", "lamp", "outcome", "begins"),
    [("???", BED, "failed", "Not all of it worked."), ("Tuesday", None, "unchanged", "That didn't work.")],
)
async def test_what_did_not_happen_after_a_yes_is_told(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, kind: NoteKind,
    words: str, lamp: str | None, outcome: str, begins: str,
) -> None:  # fmt: skip
    kind.lost = outcome == "unchanged"
    llm_server.plan(tool_call("write_note", {"note": "diary", "text": words} | ({"lamp": lamp} if lamp else {})))
    await say(hass, "Please note something", "c1", context=Context(user_id=admin.user_id))
    said = speech(await say(hass, "yes", "c1", context=Context(user_id=admin.user_id)))
    assert (await newest(hass))["outcome"]["note:diary"] == outcome
    assert said.startswith(begins)
    assert said.endswith(f"I sent the command, but nothing has changed: write “{words}” into the diary.")


class NameAndLight(EffectTool):
    name = "name_and_light"
    description = "Names the lamp and turns it on."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    judges_calls = True
    parameters = probatio.Schema({}, extra=probatio.REMOVE_EXTRA)
    wire_parameters: ClassVar[Any] = {"type": "object", "properties": {}}  # type: ignore[misc]

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        name = NameChange(service="add_name", data={"target": BED, "name": "moon lamp"})
        return await async_plan_of(hass, [name, ServiceCall(domain="light", service="turn_on", entity_ids=(BED,))])


async def test_undo_leaves_a_name_that_the_owner_gave(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, kind: NoteKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, offered = NameAndLight(), NativeTools.async_tools

    async def async_tools(self: NativeTools, *args: Any) -> Any:
        return (*await offered(self, *args), tool)

    monkeypatch.setattr(NativeTools, "async_tools", async_tools)
    await set_up(hass, llm_server)
    await hass.services.async_call("light", "turn_off", {"entity_id": BED}, blocking=True)
    llm_server.plan(tool_call("name_and_light", {}))
    await say(hass, "Please do that", "c1", context=Context(user_id=admin.user_id))
    er.async_get(hass).async_update_entity(BED, aliases=[er.COMPUTED_NAME, "moon lamp"])
    await say(hass, "yes", "c1", context=Context(user_id=admin.user_id))
    assert (await newest(hass))["outcome"] == {f"name:{BED}:moon lamp": "failed", BED: "reached"}
    await undo(hass, admin)
    lamp = er.async_get(hass).async_get(BED)
    assert lamp is not None
    assert (state_of(hass, BED), "moon lamp" in lamp.aliases) == ("off", True)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("what", ["capture", "is_so"])
async def test_what_was_done_is_in_the_journal_though_its_kind_raises(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    asked = getattr(NoteKind, what)

    def broken(self: NoteKind, hass: HomeAssistant, *args: Any) -> Any:
        if "eggs" in hass.data[NOTES].values():
            raise KeyError("eggs")
        return asked(self, hass, *args)

    monkeypatch.setattr(NoteKind, what, broken)
    await note(hass, llm_server, admin, note="list", text="eggs", lamp=BED)
    assert (hass.data[NOTES], state_of(hass, BED)) == ({"list": "eggs"}, "on")
    assert (await newest(hass))["tool_name"] == "write_note"


@pytest.mark.usefixtures("home")
async def test_the_rest_is_undone_where_a_kind_raises(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("words")  # of another release

    await note(hass, llm_server, admin, note="list", text="eggs", lamp=BED)
    monkeypatch.setattr(NoteKind, "reverse", broken)
    assert await undo(hass, admin) == "I've put Bed Light back. I can't undo this: note:list."
    assert state_of(hass, BED) == "off"


async def test_an_unknown_kind_is_left_when_the_rest_is_undone(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, home: Any, kind: NoteKind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    await note(hass, llm_server, admin, note="list", text="eggs", lamp=BED)
    monkeypatch.delitem(KINDS, "note")
    await restart(hass, home)
    assert await undo(hass, admin) == "I've put Bed Light back. I can't undo this: Please note something."
    assert state_of(hass, BED) == "off"
    monkeypatch.setitem(KINDS, "note", kind)
    await restart(hass, home)
    assert await undo(hass, admin) == "The list is gone."


async def test_of_two_effects_of_one_plan_the_first_is_where_undo_leads(
    hass: HomeAssistant, llm_server: LLMServer, admin: Context, home: Any, kind: NoteKind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    asked: list[Any] = []

    def reverse(_self: NoteKind, _hass: HomeAssistant, effect: NoteWritten, _before: Any) -> Sequence[NoteWritten]:
        asked.append(effect.data["text"])
        return ()

    async def two(_self: Any, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        return await async_plan_of(hass, [NoteWritten.of("list", "milk"), NoteWritten.of("list", "eggs")])

    monkeypatch.setattr("tests.policy.effects.notes.WriteNote.plan", two)
    monkeypatch.setattr(NoteKind, "reverse", reverse)
    await note(hass, llm_server, admin, note="list", text="")
    await undo(hass, admin)
    assert {*asked} == {"milk"}


async def test_the_result_of_undo_is_bounded(hass: HomeAssistant, kind: NoteKind) -> None:
    effects = [NoteWritten.of(str(number), "x") for number in range(100)]
    way = Reversal(actions=(), effects=[*effects])
    result = way.as_result(hass, {subject: Outcome.REACHED for effect in effects for subject in effect.subjects})
    assert (len(result["undone"]), result["undone_count"]) == (25, 100)  # type: ignore[arg-type]
