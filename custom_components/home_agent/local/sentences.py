"""Home Assistant's own sentence recognition, in front of a model or instead of one.

Receives the input and its chat log; hands back what is said, with Home Assistant's response. Triggers of the owner's
automations come first, then the built-in sentences, each through the same policy as a tool call. The chat log holds the
intent and its result; the words of the answer are the caller's to add.
"""

from dataclasses import dataclass, replace
from enum import Enum
import time

from hassil.recognize import RecognizeResult
from homeassistant.components import conversation, persistent_notification
from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent
from homeassistant.util.hass_dict import HassKey

from ..home.snapshot import Home
from ..languages.phrases import Asked, Kind, is_thanks, read_answer
from ..languages.vocabulary import Languages
from ..policy.confirmation import Call, NeedsConfirmation
from ..policy.intents import Recognised, async_handle, mismatch_of, nothing_there
from ..policy.journal import ActionJournal
from ..policy.policy import Policy
from ..policy.teaching import NameTools, async_answer_teaching
from ..policy.write import Write
from ..support.const import DOMAIN
from ..support.errors import ToolError
from ..support.localize import async_text
from ..turn.turn import Answer, Turn
from .about import async_answer_about
from .coverage import Coverage
from .fuzzy import async_answer_fuzzily
from .intent_policy import TRIGGER, IntentPolicy, Sentence, SentenceTrigger, async_report
from .refusals import async_explain, async_explain_mismatch, async_name_reason, async_nearest, async_refuse

type DelayedCommand = tuple[str, str | None, str]
"""Agent, device and words of a command that is done later."""

DELAYED: HassKey[dict[DelayedCommand, None]] = HassKey(f"{DOMAIN}_delayed")
"""Commands that were understood here and wait for a timer: no model gets them then, whatever was set up meanwhile."""
MAX_DELAYED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What the home answers with."""

    policy: Policy
    home: Home
    languages: Languages
    journal: ActionJournal
    names: NameTools


class Stage(Enum):
    """When the home is asked, and which intents it leaves to the model then."""

    BEFORE_MODEL = frozenset({intent.INTENT_GET_STATE, intent.INTENT_RESPOND, "HassMediaSearchAndPlay"})
    """A model knows the states and has manners of its own; Home Assistant's pipeline leaves nearly the same to it."""
    NO_ANSWER = frozenset({intent.INTENT_RESPOND})
    """The model cannot be asked now; small talk is answered with what is wrong with it."""
    NO_MODEL = frozenset[str]()
    """There is none."""


async def async_answer(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means, stage: Stage
) -> Answer | None:
    """Return the answer of the home.

    Where there is no model there always is one: what is not understood is answered with what would help. Otherwise None
    leaves the sentence to the model, or to a sentence about it, and the chat log is as it was.
    """
    sentence = await _async_sentence(hass, turn, user_input, chat_log, means)
    coverage = Coverage(hass=hass, turn=turn, home=sentence.home, language=sentence.language)
    permission = IntentPolicy(hass, turn, means.policy, coverage)
    outcome: intent.IntentResponse | ToolError | None = await _async_trigger(sentence, means.policy)
    try:
        if outcome is None:
            outcome = await _async_handle_strictly(sentence, permission, stage.value)
        if outcome is None:
            taught = await async_answer_teaching(hass, means.policy, means.names, turn, chat_log)
            if taught is not None:
                return taught
        if outcome is None and stage is not Stage.BEFORE_MODEL:
            outcome = await _async_last_resort(sentence, permission, explains=stage is Stage.NO_MODEL)
    finally:
        permission.drop()
    if outcome is None:
        return None
    if isinstance(outcome, ToolError):
        answer = _answer(await async_refuse(hass, turn, outcome))
        return replace(answer, needs_confirmation=isinstance(outcome, NeedsConfirmation))
    answer = _answer(outcome)
    if not answer.text:  # Home Assistant has no words for it: "never mind"
        forgotten = permission.recognised is not None and permission.recognised.name == intent.INTENT_NEVERMIND
        key = "never_mind" if forgotten else "confirm_done"
        answer = replace(answer, text=await async_text(hass, turn.language, key))
    return answer


def is_delayed(hass: HomeAssistant, turn: Turn) -> bool:
    """Return whether a turn is a command that one of our sentences left for later; a timer of Home Assistant's brings it back.

    Up to 2026.10 it comes without a user, then with the one who set the timer and a context that follows from theirs.
    """
    by_timer = turn.satellite_id is None and (turn.user is None or turn.context.parent_id is not None)
    return by_timer and _key(turn, turn.text) in hass.data[DELAYED]


async def async_answer_delayed(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means
) -> Answer:
    """Do a command that was left for later, under the policy of now; return what came of it.

    Nobody hears the answer: what cannot be done is told in a notification.
    """
    turn = replace(turn, direct=False)  # nobody can be asked
    answer = await async_answer(hass, turn, user_input, chat_log, means, Stage.NO_MODEL)
    assert answer is not None  # without a model there always is one
    if not answer.done or (answer.response is not None and answer.response.error_code is not None):
        message = await async_text(hass, turn.language, "delayed_failed", command=turn.text, reason=answer.text)
        persistent_notification.async_create(hass, message, turn.profile.name)
    return answer


def _key(turn: Turn, command: str) -> DelayedCommand:
    return (turn.agent_id, turn.device_id, " ".join(command.casefold().split()))


def _remember(hass: HomeAssistant, key: DelayedCommand) -> None:
    """Keep a command until Home Assistant ends, as its timers are kept; of very many, the newest."""
    kept = hass.data.setdefault(DELAYED, {})
    kept.pop(key, None)
    kept[key] = None
    if len(kept) > MAX_DELAYED:
        del kept[next(iter(kept))]


async def async_answer_asked(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means, asked: Asked
) -> Answer:
    """Return the answer to what is asked of the agent itself."""
    sentence = await _async_sentence(hass, turn, user_input, chat_log, means)
    return await async_answer_about(sentence, asked, means.journal)


async def _async_sentence(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means
) -> Sentence:
    agent = get_agent_manager(hass).default_agent
    assert agent is not None  # the conversation integration, which called us, sets it up
    return Sentence(
        hass=hass,
        turn=turn,
        user_input=user_input,
        chat_log=chat_log,
        agent=agent,
        language=await means.languages.async_get(turn.language),
        home=await means.home.async_get(),
    )


async def _async_trigger(sentence: Sentence, policy: Policy) -> intent.IntentResponse | ToolError | None:
    """Let an automation of the owner answer that has this sentence as its trigger, if what it does may happen."""
    started, tool = time.perf_counter(), SentenceTrigger(sentence)
    if not await tool.async_matched():
        return None
    try:
        plan = await tool.plan(sentence.hass, {}, sentence.turn)
        policy.authorize(sentence.turn, plan, Call(tool=tool, arguments={}, plan=plan))
    except ToolError as err:
        async_report(sentence.hass, sentence.turn, TRIGGER, {}, type(err).__name__, None, started)
        return err
    speech = await conversation.async_handle_sentence_triggers(sentence.hass, sentence.user_input, sentence.chat_log)
    if speech is None:
        return None
    async_report(sentence.hass, sentence.turn, TRIGGER, {}, None, None, started)
    # What the automation did is not known here; but it is what was done last, if anybody wants it undone.
    await Write(sentence.hass, policy.writes, sentence.turn, TRIGGER, plan).async_outcomes()
    response = intent.IntentResponse(language=sentence.turn.language)
    response.async_set_speech(speech)
    return response


async def _async_handle_strictly(
    sentence: Sentence, permission: IntentPolicy, left_out: frozenset[str]
) -> intent.IntentResponse | ToolError | None:
    """Handle what one of Home Assistant's sentences fits; None when none does, with the chat log as it was.

    Nor does any that is about something of which the user may know nothing. What is `left_out` is left to a model.
    """
    log, started = sentence.chat_log, time.perf_counter()
    before = len(log.content)

    def keep_off(result: RecognizeResult) -> bool:
        """Decide between recognising and handling; Home Assistant waits for nothing in between."""
        if result.intent.name in left_out:
            return True
        slots = {entity.name: entity.value for entity in result.entities_list}
        is_custom = bool((result.intent_metadata or {}).get(METADATA_CUSTOM_SENTENCE))
        return not permission.permits(result.intent.name, slots, is_custom=is_custom)

    async def handle() -> intent.IntentResponse | None:
        try:
            response = await conversation.async_handle_intents(
                sentence.hass, sentence.user_input, log, intent_filter=keep_off
            )
        except intent.IntentError:  # a value that the intent does not take, or an intent that nobody handles
            return None
        if response is None and permission.finds_nothing:
            assert permission.recognised is not None
            permission.mismatch = mismatch_of(sentence.hass, sentence.turn, permission.recognised)
        return response

    response = await handle()
    if (command := permission.later) is not None and await _async_clears(
        sentence, permission, command, final=not left_out
    ):
        response = await handle()
        _remember(sentence.hass, _key(sentence.turn, command))
    if permission.instead is not None:
        response = await _async_instead(sentence, permission)
    if response is not None:
        permission.check_answer(response)
        await permission.async_finish(response)
        if response.error_code is not None:
            await async_name_reason(sentence, permission.recognised, response)
    is_left = permission.meets_unknown or permission.left_out is not None
    outcome = None if is_left else permission.refusal or response
    if outcome is not response or outcome is None:
        del log.content[before:]  # a model must not see a call it did not make, nobody a state they may not read
    if outcome is not None and permission.recognised is not None:
        permission.report(outcome, started)
    return outcome


async def _async_clears(sentence: Sentence, permission: IntentPolicy, command: str, *, final: bool) -> bool:
    """Return whether a command may be left for later, as it is understood now."""
    return permission.clears(command, await _async_recognise(sentence, command), final=final)


async def _async_instead(sentence: Sentence, permission: IntentPolicy) -> intent.IntentResponse | None:
    """Have Home Assistant handle another intent than it recognised; None when that fails or may not be, as for any other."""
    if (recognised := permission.instead) is None or permission.refusal is not None or permission.mismatch is not None:
        return None
    slots = {slot: {"value": value} for slot, value in recognised.slots.items()}
    try:
        response = await async_handle(sentence.hass, sentence.turn, recognised.name, slots, text=sentence.turn.text)
    except intent.IntentError:
        return None
    response.async_set_speech(await async_text(sentence.hass, sentence.turn.language, "confirm_done"))
    return response


async def _async_recognise(sentence: Sentence, command: str) -> Recognised | None:
    """Return which of Home Assistant's sentences a command fits."""
    said = replace(sentence.user_input, text=command)
    result = await sentence.agent.async_recognize_intent(said, strict_intents_only=True)
    if result is None or result.unmatched_entities:
        return None
    return Recognised(name=result.intent.name, slots={entity.name: entity.value for entity in result.entities_list})


async def _async_last_resort(
    sentence: Sentence, permission: IntentPolicy, *, explains: bool
) -> intent.IntentResponse | ToolError | None:
    """Try the second recogniser, else say why there is no answer and what would help.

    Without `explains` None is returned for what was not understood.
    """
    if explains and read_answer(sentence.turn.text, sentence.turn.language).kind in (Kind.YES, Kind.NO):
        response = intent.IntentResponse(language=sentence.turn.language)
        response.async_set_speech(await async_text(sentence.hass, sentence.turn.language, "confirm_nothing"))
        return response
    if is_thanks(sentence.turn.text, sentence.turn.language):
        response = intent.IntentResponse(language=sentence.turn.language)
        response.async_set_speech(await async_text(sentence.hass, sentence.turn.language, "local_welcome"))
        return response
    if permission.mismatch is not None:
        return await async_explain_mismatch(sentence, permission.mismatch)
    if permission.meets_unknown and permission.recognised is not None and "name" not in permission.recognised.slots:
        return await async_explain_mismatch(sentence, nothing_there(sentence.hass, permission.recognised))
    nearest = await async_nearest(sentence)
    if not nearest.is_custom:
        outcome = await async_answer_fuzzily(sentence, permission, known=nearest.known)
        if outcome is not None:
            return outcome
    if permission.mismatch is not None:
        return await async_explain_mismatch(sentence, permission.mismatch)
    return await async_explain(sentence, nearest, permission.coverage, permission.left_out) if explains else None


def _answer(response: intent.IntentResponse) -> Answer:
    speech: str = response.speech.get("plain", {}).get("speech") or ""
    response.async_set_speech(speech)
    return Answer(response=response, text=speech)
