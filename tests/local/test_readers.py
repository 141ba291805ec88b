"""Kinds of sentences as readers in a list: a new one is a function and a line."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from homeassistant.components.conversation import ChatLog, UserContent
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.home_agent.local.coverage import LeftOut
from custom_components.home_agent.local.readers import READERS
from custom_components.home_agent.local.sentences import (
    Ask,
    Done,
    Note,
    NotMine,
    Reader,
    Refused,
    Result,
    Sentence,
    Stage,
    async_answer,
    spoken,
)
from custom_components.home_agent.policy.intents import Recognised
from custom_components.home_agent.support.errors import ToolError
from custom_components.home_agent.turn.turn import Answer, Turn, Understanding
from tests.house import set_up, state_of
from tests.local.conftest import said_in

type MakeTurn = Callable[..., Turn]

LAMP = "light.bed_light"
DIM = Recognised(name="HassLightSet", slots={"name": "Bed Light"})
HIDDEN = NotMine(refused=Refused(error=ToolError("entity_not_found", target="x"), recognised=DIM))


@pytest.fixture
async def entry(hass: HomeAssistant, demo_house: None) -> MockConfigEntry:
    return await set_up(hass)


class Heard:
    """A reader that keeps the sentences it was asked for and returns what it was given."""

    def __init__(self, result: Result) -> None:
        self.result = result
        self.sentences: list[Sentence] = []

    async def read(self, sentence: Sentence) -> Result:
        self.sentences.append(sentence)
        return self.result


async def answer(
    hass: HomeAssistant, entry: MockConfigEntry, turn: Turn, readers: Sequence[Reader], stage: Stage = Stage.NO_MODEL
) -> Answer | None:
    """Return what the home answers with other readers."""
    log = ChatLog(hass, turn.conversation_id)
    log.content.append(UserContent(turn.text))
    said = said_in(turn)
    return await async_answer(hass, turn, said, log, replace(entry.runtime_data.means, readers=readers), stage)


async def test_a_kind_of_sentence_of_its_own(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    turn = make_turn(text="how many legs has a spider")

    async def count_legs(sentence: Sentence) -> Result:
        if "spider" not in sentence.turn.text:
            return NotMine()
        return Done(said=spoken(sentence.turn, "Eight."))

    answered = await answer(hass, entry, turn, (Reader(count_legs), *READERS))
    assert answered is not None
    assert answered.text == "Eight."
    other = await answer(hass, entry, make_turn(text="turn on the bed light"), (Reader(count_legs), *READERS))
    assert other is not None
    assert state_of(hass, LAMP) == "on"


async def test_the_first_outcome_answers(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    first, second, third = Heard(NotMine()), Heard(Done(said=Answer(text="Second."))), Heard(NotMine())
    readers = [Reader(each.read) for each in (first, second, third)]
    assert await answer(hass, entry, make_turn(), readers) == Answer(text="Second.")
    assert len(first.sentences) == len(second.sentences) == 1
    assert not third.sentences


async def test_no_outcome_means_no_answer(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    assert await answer(hass, entry, make_turn(), [Reader(Heard(NotMine()).read)]) is None


@pytest.mark.parametrize("result", [NotMine(recognised=DIM), LeftOut(names=("Lamp",), recognised=DIM)])
async def test_a_reader_is_told_what_those_before_found(
    hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn, result: NotMine | LeftOut
) -> None:
    last = Heard(NotMine())
    await answer(hass, entry, make_turn(), [Reader(Heard(result).read), Reader(last.read)])
    assert last.sentences[0].earlier == (result,)
    assert last.sentences[0].recognised is DIM


@pytest.mark.parametrize("stage", list(Stage))
async def test_reader_stages(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn, stage: Stage) -> None:
    heard = Heard(NotMine())
    await answer(hass, entry, make_turn(), [Reader(heard.read, frozenset({Stage.NO_ANSWER}))], stage)
    assert bool(heard.sentences) is (stage is Stage.NO_ANSWER)


@pytest.mark.parametrize("of_hidden", [False, True])
async def test_what_the_user_may_not_know_of_is_left_to_those_who_say_so(
    hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn, of_hidden: bool
) -> None:
    heard = Heard(NotMine())
    await answer(hass, entry, make_turn(), [Reader(Heard(HIDDEN).read), Reader(heard.read, of_hidden=of_hidden)])
    assert bool(heard.sentences) is of_hidden


async def test_a_question_may_be_answered(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    known = Understanding(declined="several", candidates=(LAMP, "light.ceiling_lights"), asked=True)
    asked, heard = Ask(question="Which one?", note=Note(understanding=known, text="dim it")), Heard(NotMine())
    choice = Reader(heard.read, after_question=True)
    turn = make_turn(text="and dim it")
    answered = await answer(hass, entry, turn, [choice, Reader(Heard(asked).read)])
    assert answered is not None
    assert (answered.text, turn.record.understanding) == ("Which one?", known)
    assert not heard.sentences
    said = entry.runtime_data.means.said
    log = ChatLog(hass, turn.conversation_id)
    log.content += [UserContent("and dim it"), UserContent("the left one")]
    before = said.before(turn, log)
    assert before is not None
    assert (before.text, before.candidates) == ("dim it", known.candidates)


async def test_a_refusal_is_told(hass: HomeAssistant, entry: MockConfigEntry, make_turn: MakeTurn) -> None:
    refused = Refused(error=ToolError("local_unable", target=LAMP), recognised=DIM)
    answered = await answer(hass, entry, make_turn(), [Reader(Heard(refused).read)])
    assert answered is not None
    assert answered.response is not None
    assert answered.response.error_code is not None
    assert "Bed Light" in answered.text
