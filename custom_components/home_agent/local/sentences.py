"""What the home answers itself: one sentence, read by the readers of a list (readers.py) until one of them has an outcome.

A reader gets the sentence with the results of the readers before it, and returns one of `Done`, `Refused`, `Ask`, `LeftOut`, `NotMine`.
The chat log holds what was done and its result; the words of the answer are the caller's to add.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
import time
from typing import Any

from hassil.recognize import RecognizeResult
from homeassistant.components.conversation import ChatLog, ConversationInput, UserContent
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.components.conversation.default_agent import DefaultAgent
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent

from ..home.actions import ClosedGroup
from ..home.snapshot import Home, HomeSnapshot
from ..languages.vocabulary import Language, Languages
from ..policy.confirmation import AlreadySo, NeedsConfirmation
from ..policy.intents import Mismatch, Recognised
from ..policy.journal import ActionJournal
from ..policy.policy import Policy
from ..policy.questions import async_already
from ..policy.teaching import NameTools
from ..support.errors import ToolError
from ..support.localize import async_text
from ..turn.turn import Answer, Turn, Understanding
from .brain import Brain
from .coverage import Coverage, LeftOut
from .learned import LearnedPhrases
from .reading import Said
from .routes import RouteRegistry

MAX_REMEMBERED = 200  # conversations
REMEMBERED = 300.0  # seconds for which a sentence goes on from the one before


class Stage(Enum):
    """When the home is asked, and which intents it leaves to the model then."""

    BEFORE_MODEL = frozenset({intent.INTENT_GET_STATE, intent.INTENT_RESPOND, "HassMediaSearchAndPlay"})
    """A model knows the states and has manners of its own; Home Assistant's pipeline leaves nearly the same to it."""
    NO_ANSWER = frozenset({intent.INTENT_RESPOND})
    """The model cannot be asked now; small talk is answered with what is wrong with it."""
    NO_MODEL = frozenset[str]()


class LastSaid:
    """What each user said last in a conversation, and what was done, for a sentence that goes on from it."""

    def __init__(self) -> None:
        """Start without any."""
        self._said: dict[tuple[str, str | None], tuple[float, int, Said]] = {}
        """By conversation and user: when, the number of the message, and what."""

    def remember(self, turn: Turn, chat_log: ChatLog, about: tuple[str, ...] = (), *, text: str = "") -> None:
        """Keep what a turn did; forget what was before if it did nothing.

        `about` are the entity ids it was done to, used if no outcomes were recorded; `text` is all that was meant, if more than the
        words of the turn.
        """
        key = turn.conversation_id, turn.user.id if turn.user else None
        self._said.pop(key, None)
        targets, known = tuple(turn.record.outcomes) or about, turn.record.understanding
        candidates = known.candidates if known is not None and known.asked else ()
        if targets or candidates:
            said = Said(text=text or turn.text, targets=targets, candidates=candidates)
            self._said[key] = time.monotonic(), message_number(chat_log), said
            if len(self._said) > MAX_REMEMBERED:
                del self._said[next(iter(self._said))]

    def before(self, turn: Turn, chat_log: ChatLog) -> Said | None:
        """Return what this user said right before in this conversation; None if that is long ago, or a model answered it."""
        key = turn.conversation_id, turn.user.id if turn.user else None
        when, number, said = self._said.get(key, (0.0, 0, None))
        is_next = message_number(chat_log) == number + 1
        return said if is_next and time.monotonic() - when < REMEMBERED else None


def message_number(chat_log: ChatLog) -> int:
    """Return which message of the conversation was said last, from 1."""
    return sum(isinstance(item, UserContent) for item in chat_log.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a reader made of a sentence, for the record of the turn."""

    understanding: Understanding
    text: str = ""
    """All that is wanted, if the sentence said only a part of it and the one before had the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearestSentence:
    """The sentence of Home Assistant's that is closest to one that was not recognised."""

    result: RecognizeResult | None
    hidden: str = ""  # the name in it that is not exposed; the result has nonsense instead
    known: str = ""  # the name in it of something that is exposed, but for which no sentence says this

    @property
    def is_custom(self) -> bool:
        """Return whether the owner wrote the sentence."""
        return self.result is not None and bool((self.result.intent_metadata or {}).get(METADATA_CUSTOM_SENTENCE))


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The sentence was carried out or answered, also if carrying it out failed."""

    said: intent.IntentResponse | Answer
    is_known: bool = False  # whether Home Assistant's recogniser was told what "it" means from now on
    note: Note | None = None

    @property
    def has_failed(self) -> bool:
        """Return whether Home Assistant's response is an error."""
        return isinstance(self.said, intent.IntentResponse) and self.said.error_code is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The sentence was understood and may not be carried out, or waits for a yes."""

    error: ToolError
    recognised: Recognised
    note: Note | None = None

    @property
    def is_hidden(self) -> bool:
        """Return whether it is about something of which the user may know nothing: to them it does not exist."""
        return self.error.translation_key == "entity_not_found"

    @property
    def is_group(self) -> bool:
        """Return whether many are meant, and a group among them reaches further: all others can be done without it."""
        return isinstance(self.error, ClosedGroup) and self.recognised.slots.get("name") in (None, "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The user is asked which of some things is meant."""

    question: str
    note: Note


@dataclass(frozen=True, slots=True, kw_only=True)
class NotForNow:
    """What in a sentence says that it is not for now, where no wish came of it."""

    words: str = ""
    """Those that are not understood; empty where it is not known which."""
    why: str = "local_not_for_later"
    """The sentence that says what stands against it, and what would help."""
    is_forever: bool = False
    """Whether they say that it is to be done again and again."""
    follows: bool = False
    """Whether the sentence before says so, and this one only names something more: also a reader that knows times does not act."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotMine:
    """The sentence is left to the next reader, with what was found."""

    recognised: Recognised | None = None  # the intent that it fits; nothing came of it
    mismatch: Mismatch | None = None  # why nothing in the home fits that
    refused: Refused | None = None  # why it may not be done, where the next reader may find another way
    asks_later: bool = False  # whether it is answered as a question only if it is no command
    nearest: NearestSentence | None = None
    note: Note | None = None
    is_talk: bool = False  # whether it asks for nothing: no reader that acts is asked after this one
    put_off: NotForNow | None = (
        None  # what says that it is not for now: no reader that would act now is asked after this one
    )

    @property
    def is_hidden(self) -> bool:
        """Return whether it is about something of which the user may know nothing."""
        return self.refused is not None and self.refused.is_hidden


type Result = Done | Refused | Ask | LeftOut | NotMine


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """What was said, by whom, where the answer goes, and what the readers before made of it."""

    hass: HomeAssistant
    turn: Turn
    user_input: ConversationInput
    chat_log: ChatLog
    agent: DefaultAgent  # Home Assistant's own
    language: Language
    home: HomeSnapshot
    coverage: Coverage
    means: Means
    stage: Stage
    before: Said | None
    earlier: tuple[LeftOut | NotMine, ...] = ()
    is_repeated: bool = False
    """Whether it is said of what an automation is to do: that counts all people at home, known or not."""

    @property
    def is_hidden(self) -> bool:
        """Return whether it is about something of which the user may know nothing."""
        return any(isinstance(each, NotMine) and each.is_hidden for each in self.earlier)

    @property
    def is_talk(self) -> bool:
        """Return whether it was found to ask for nothing."""
        return any(isinstance(each, NotMine) and each.is_talk for each in self.earlier)

    @property
    def put_off(self) -> NotForNow | None:
        """Return what says that it is not for now; None for a sentence that is."""
        return next((each.put_off for each in self.earlier if isinstance(each, NotMine) and each.put_off), None)

    @property
    def mismatch(self) -> Mismatch | None:
        """Return the first reason why nothing in the home fits."""
        return next((each.mismatch for each in self.earlier if isinstance(each, NotMine) and each.mismatch), None)

    @property
    def left_out(self) -> LeftOut | None:
        """Return what was said and not touched by the last intent that was recognised."""
        known = [each for each in self.earlier if isinstance(each, LeftOut) or each.recognised is not None]
        return known[-1] if known and isinstance(known[-1], LeftOut) else None

    @property
    def recognised(self) -> Recognised | None:
        """Return the intent that it was last taken for."""
        return next((each.recognised for each in reversed(self.earlier) if each.recognised is not None), None)

    @property
    def understanding(self) -> Understanding:
        """Return what was last made of it."""
        notes = (each.note for each in reversed(self.earlier) if isinstance(each, NotMine))
        return next((note.understanding for note in notes if note is not None), Understanding())

    @property
    def candidates(self) -> tuple[str, ...]:
        """Return the entity ids that may be meant alike, of which the user may know."""
        known = self.understanding
        return known.candidates if known.declined == "several" and not self.is_hidden else ()

    def saying(self, text: str) -> Sentence:
        """Return the sentence as if other words had been said."""
        turn, user_input = replace(self.turn, text=text), replace(self.user_input, text=text)
        return replace(self, turn=turn, user_input=user_input, coverage=replace(self.coverage, turn=turn))


@dataclass(frozen=True, slots=True)
class Reader:
    """One kind of sentence: what reads it, and when it is asked."""

    read: Callable[[Sentence], Awaitable[Result]]
    stages: frozenset[Stage] = frozenset(Stage)
    of_hidden: bool = False
    """Whether it is also asked when the sentence is about something of which the user may know nothing."""
    of_talk: bool = False
    """Whether it is also asked when the sentence was found to ask for nothing: it never acts."""
    of_later: bool = False
    """Whether it is also asked when the sentence is not for now: it never acts, or knows itself which words say when."""
    plans: bool = False
    """Whether it reads what is to be done later, too: it acts through the policy, which notes it then."""
    tells: bool = False
    """Whether it answers questions, and never acts."""
    after_question: bool = False
    """Whether it is only asked when the user was just asked which of some things is meant."""

    def reads(self, sentence: Sentence) -> bool:
        """Return whether it is asked about a sentence, after what the readers before made of it."""
        if sentence.stage not in self.stages or (sentence.is_hidden and not self.of_hidden):
            return False
        put_off = sentence.put_off
        if (sentence.is_talk and not self.of_talk) or (put_off is not None and not self.of_later):
            return False
        if put_off is not None and put_off.follows and self.plans:
            return False
        return not self.after_question or (sentence.before is not None and bool(sentence.before.candidates))


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the home answers with."""

    policy: Policy
    home: Home
    languages: Languages
    journal: ActionJournal
    names: NameTools
    brain: Brain
    routes: RouteRegistry
    phrases: LearnedPhrases
    readers: Sequence[Reader]
    said: LastSaid = field(default_factory=LastSaid)


async def async_hear(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means, stage: Stage
) -> Sentence:
    """Return a turn as a sentence that no reader has read yet."""
    agent = get_agent_manager(hass).default_agent
    assert agent is not None  # the conversation integration, which called us, sets it up
    language, home = await means.languages.async_get(turn.language), await means.home.async_get()
    return Sentence(
        hass=hass,
        turn=turn,
        user_input=user_input,
        chat_log=chat_log,
        agent=agent,
        language=language,
        home=home,
        coverage=Coverage(hass=hass, turn=turn, home=home, language=language),
        means=means,
        stage=stage,
        before=means.said.before(turn, chat_log),
    )


async def async_answer(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means, stage: Stage
) -> Answer | None:
    """Return the answer of the home: of the first reader that has one.

    Without a model there always is an answer: what is not understood is answered with what would help. Otherwise None leaves the
    sentence to the model, and the chat log is as it was.
    """
    result: Result = NotMine()
    text = ""
    try:
        sentence = await async_hear(hass, turn, user_input, chat_log, means, stage)
        heard = await async_answer_of(sentence)
        result, text = heard.result, heard.text
    finally:
        agent = get_agent_manager(hass).default_agent
        recogniser: Any = getattr(agent, "_gazetteer", None)
        if recogniser is not None and not (isinstance(result, Done) and result.is_known):
            # only its own sentences tell it what "it" means; after another one it would mean what was done before that
            recogniser.async_forget(chat_log.conversation_id)
    about: tuple[str, ...] = ()
    said, entity = result.said if isinstance(result, Done) else None, intent.IntentResponseTargetType.ENTITY
    if isinstance(said, intent.IntentResponse) and said.response_type is intent.IntentResponseType.ACTION_DONE:
        about = tuple(target.id for target in said.success_results if target.type is entity and target.id)
    # what a model is about to do is not known here: then nothing goes on from before it
    means.said.remember(turn, chat_log, about, text=text)
    return await _async_told(hass, turn, result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What came of a sentence that readers were asked about."""

    result: Result
    text: str = ""
    """All that is wanted, if more than was said."""
    left_out: LeftOut | None = None
    """What was said and not touched by the intent that was recognised last, where nothing came of it."""


async def async_answer_of(sentence: Sentence, asked: Callable[[Reader], bool] = lambda _: True) -> Heard:
    """Return the outcome of the first reader that has one, of those that are to be asked."""
    result: Result = NotMine()
    text = ""
    for reader in sentence.means.readers:
        if not asked(reader) or not reader.reads(sentence):
            continue
        result = await reader.read(sentence)
        if not isinstance(result, LeftOut) and result.note is not None:
            sentence.turn.record.understanding, text = result.note.understanding, result.note.text or text
        if not isinstance(result, LeftOut | NotMine) or sentence.turn.record.planned:
            break
        sentence = replace(sentence, earlier=(*sentence.earlier, result))
    return Heard(result=result, text=text, left_out=sentence.left_out)


async def _async_told(hass: HomeAssistant, turn: Turn, result: Result) -> Answer | None:
    """Return the answer that tells what came of a sentence; None if no reader has an outcome."""
    match result:
        case Done(said=Answer() as answer):
            return answer
        case Done(said=intent.IntentResponse() as response):
            text = speech_of(response)
            response.async_set_speech(text)
            if not text:  # Home Assistant has no words for it: "never mind"
                forgotten = response.intent is not None and response.intent.intent_type == intent.INTENT_NEVERMIND
                text = await async_text(hass, turn.language, "never_mind" if forgotten else "confirm_done")
            return Answer(response=response, text=text)
        case Refused(error=error):
            response = await async_refuse(hass, turn, error)
            waits = isinstance(error, NeedsConfirmation)
            return Answer(response=response, text=speech_of(response), needs_confirmation=waits)
        case Ask(question=question):
            return Answer(response=spoken(turn, question), text=question)
    return None


def speech_of(response: intent.IntentResponse) -> str:
    """Return the words of a response, "" if it has none."""
    return str(response.speech.get("plain", {}).get("speech") or "")


def spoken(turn: Turn, speech: str) -> intent.IntentResponse:
    """Return a response that says something."""
    response = intent.IntentResponse(language=turn.language)
    response.async_set_speech(speech)
    return response


def error_response(turn: Turn, code: intent.IntentResponseErrorCode, speech: str) -> intent.IntentResponse:
    """Return a response that says why not."""
    response = intent.IntentResponse(language=turn.language)
    response.async_set_error(code, speech)
    return response


async def async_refuse(hass: HomeAssistant, turn: Turn, refusal: ToolError) -> intent.IntentResponse:
    """Return the policy's refusal, with names instead of entity ids; for what is so already, a response that is no error."""

    def name_of(entity_id: str) -> str:
        state = hass.states.get(entity_id)
        return state.name if state else entity_id

    if isinstance(refusal, AlreadySo):
        response = spoken(turn, await async_already(hass, turn.language, refusal.plan))
        of, entity = intent.IntentResponseTarget, intent.IntentResponseTargetType.ENTITY
        targets = [of(name=name_of(item), type=entity, id=item) for item in refusal.plan.targets]
        response.async_set_results(success_results=targets)
        return response
    placeholders = dict(refusal.translation_placeholders or {})
    if target := placeholders.get("target"):
        placeholders["target"] = ", ".join(map(name_of, target.split(", ")))
    speech = await async_text(hass, turn.language, refusal.translation_key or refusal.key, **placeholders)
    return error_response(turn, intent.IntentResponseErrorCode.FAILED_TO_HANDLE, speech)
