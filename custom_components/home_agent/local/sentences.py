"""Home Assistant's own sentence recognition, in front of a model or instead of one.

Receives the input and its chat log; hands back what is said, with Home Assistant's response. Triggers of the owner's
automations come first, then the built-in sentences, each through the same policy as a tool call. The chat log holds the
intent and its result; the words of the answer are the caller's to add.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
import time

from hassil.recognize import RecognizeResult
from homeassistant.components import conversation, persistent_notification
from homeassistant.components.conversation import ChatLog, ConversationInput, UserContent
from homeassistant.components.conversation.agent_manager import get_agent_manager
from homeassistant.components.conversation.const import METADATA_CUSTOM_SENTENCE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent
from homeassistant.util.hass_dict import HassKey

from ..home.snapshot import Home
from ..languages.data import data_of
from ..languages.phrases import ReplyKind, SelfQuestion, is_altered, is_asking, is_question, is_thanks, read_answer
from ..languages.vocabulary import Languages
from ..policy.confirmation import Call, NeedsConfirmation
from ..policy.intents import CHANGES_NOTHING, Recognised, async_handle, mismatch_of, nothing_there
from ..policy.journal import ActionJournal
from ..policy.policy import Policy
from ..policy.teaching import NameTools, async_answer_teaching
from ..policy.write import Write
from ..support.const import DOMAIN
from ..support.encoding import as_markdown
from ..support.errors import ToolError
from ..support.localize import async_text
from ..turn.turn import Answer, Turn
from .about import async_answer_about
from .brain import Brain, async_answer_by_brain
from .coverage import Coverage
from .fuzzy import async_answer_fuzzily, earlier_targets, refer_to_nothing
from .intent_policy import TRIGGER, IntentPolicy, Sentence, SentenceTrigger, async_report
from .learned import LearnedPhrases, async_answer_learned
from .lists import async_add_items, async_read_list
from .questions import async_answer_question
from .refusals import (
    async_explain,
    async_explain_fields,
    async_explain_mismatch,
    async_name_reason,
    async_nearest,
    async_refuse,
)
from .routes import SEMANTIC, RouteRegistry
from .which import async_answer_which, async_ask_which

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
    brain: Brain
    routes: RouteRegistry
    phrases: LearnedPhrases


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
    known = earlier_targets(sentence)
    coverage = Coverage(hass=hass, turn=turn, home=sentence.home, language=sentence.language)
    permission = IntentPolicy(hass, turn, means.policy, coverage)
    outcome: intent.IntentResponse | ToolError | None = await _async_trigger(sentence, means.policy)
    try:
        if outcome is None and means.brain.asked:
            chosen = await async_answer_which(sentence, means.policy, means.brain)
            turn, outcome = chosen or (turn, None)
        if outcome is None:
            permission.answers_later = stage is not Stage.BEFORE_MODEL and _states_something(turn)
            outcome = await _async_handle_strictly(sentence, permission, stage.value)
        if outcome is None:
            taught = await async_answer_teaching(hass, means.policy, means.names, turn, chat_log)
            if taught is not None:
                return taught
        group = permission.refusal if permission.meets_group else None
        if outcome is None and not permission.meets_unknown:
            outcome = await async_answer_by_brain(sentence, permission, means.brain)
        if outcome is None and group is not None:  # what else is meant is not known
            permission.report(group, time.perf_counter())
            outcome = group
        answer = await _async_answer_otherwise(sentence, permission, means, stage) if outcome is None else None
        if answer is not None:
            means.brain.remember(turn, chat_log)
            return answer
        if outcome is None and stage is not Stage.BEFORE_MODEL:
            explains = stage is Stage.NO_MODEL
            outcome = await _async_last_resort(sentence, permission, means, explains=explains)
    finally:
        permission.drop()
        if known and earlier_targets(sentence) is known:  # this sentence was about something else
            refer_to_nothing(sentence)
    # what a model is about to do is not known here: then nothing goes on from before it
    means.brain.remember(turn, chat_log, _done_to(outcome))
    if outcome is None:
        return None
    return await _async_told(hass, turn, outcome, permission)


def _states_something(turn: Turn) -> bool:
    """Return whether a sentence has not the form of a question, in a language of which that is known: "all lights off" is an order."""
    knows = bool(data_of(turn.language).alters.at_start)
    return (
        knows and not is_asking(turn.text, turn.language) and not is_altered(turn.text, turn.language, (), asks=False)
    )


async def _async_answer_otherwise(
    sentence: Sentence, permission: IntentPolicy, means: Means, stage: Stage
) -> Answer | None:
    """Return the answer of several items for a list, of what was learned from a model, or of a route; None where it is neither."""
    if permission.meets_unknown:
        return None
    if permission.left_out is not None and (added := await async_add_items(sentence, permission)) is not None:
        return await _async_told(sentence.hass, sentence.turn, added, permission)
    if means.phrases.in_use:
        hass, turn, chat_log, home = sentence.hass, sentence.turn, sentence.chat_log, sentence.home
        learned = await async_answer_learned(hass, turn, chat_log, means.phrases, means.policy, home)
        if learned is not None:
            return learned
    if stage is Stage.BEFORE_MODEL and not means.routes.examples.has_examples:
        return None
    return await _async_answer_by_route(sentence, means.routes, stage)


def _done_to(outcome: intent.IntentResponse | ToolError | None) -> tuple[str, ...]:
    """Return the ids of the entities to which Home Assistant says that something was done."""
    if (
        not isinstance(outcome, intent.IntentResponse)
        or outcome.response_type is not intent.IntentResponseType.ACTION_DONE
    ):
        return ()
    of_entity = intent.IntentResponseTargetType.ENTITY
    return tuple(target.id for target in outcome.success_results if target.type is of_entity and target.id)


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
        said = {"command": as_markdown(turn.text), "reason": as_markdown(answer.text)}
        message = await async_text(hass, turn.language, "delayed_failed", **said)
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
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means, asked: SelfQuestion
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


async def _async_answer_by_route(sentence: Sentence, routes: RouteRegistry, stage: Stage) -> Answer | None:
    """Run what the sentence surely means among the routes; None where nothing is sure.

    Before a model, what has examples of the owner's alone: whether the others count there, the profile says, and who routes asks.
    """
    turn, first = sentence.turn, stage is Stage.BEFORE_MODEL
    if first and turn.profile.routing in SEMANTIC:
        return None
    heard = sum(isinstance(item, UserContent) for item in sentence.chat_log.content)
    match = await routes.async_match(turn, sentence.language, sentence.home, owned_only=first, heard=heard)
    return await routes.async_answer(turn, sentence.chat_log, match) if match is not None else None


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
        is_custom = bool((result.intent_metadata or {}).get(METADATA_CUSTOM_SENTENCE))
        permission.unasked = permission.answers_later and result.intent.name == intent.INTENT_GET_STATE
        is_left = permission.unasked or result.intent.name in left_out
        if is_left or (not is_custom and _only_asks(sentence.turn, result.intent.name)):
            return True
        slots = {entity.name: entity.value for entity in result.entities_list}
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
    is_left = permission.meets_unknown or permission.meets_group or permission.left_out is not None
    outcome = None if is_left else permission.refusal or response
    if outcome is not response or outcome is None:
        del log.content[before:]  # a model must not see a call it did not make, nobody a state they may not read
    if outcome is not None and permission.recognised is not None:
        permission.report(outcome, started)
    return outcome


async def _async_clears(sentence: Sentence, permission: IntentPolicy, command: str, *, final: bool) -> bool:
    """Return whether a command may be left for later, as it is understood now."""
    return permission.clears(command, await _async_recognise(sentence, command), final=final)


def _only_asks(turn: Turn, intent_name: str) -> bool:
    """Return whether what fits a command asks whether that is so: "kettle on?"."""
    return intent_name not in CHANGES_NOTHING and is_question(turn.text, turn.language)


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
    sentence: Sentence, permission: IntentPolicy, means: Means, *, explains: bool
) -> intent.IntentResponse | ToolError | None:
    """Answer a question, try the second recogniser, else say why there is no answer and what would help.

    Without `explains` None is returned for what was not understood.
    """
    stage = Stage.NO_MODEL if explains else Stage.NO_ANSWER
    if (told := await _async_asked(sentence, permission, means.brain, stage)) is not None:
        return told
    if explains and read_answer(sentence.turn.text, sentence.turn.language).kind in (ReplyKind.YES, ReplyKind.NO):
        response = intent.IntentResponse(language=sentence.turn.language)
        response.async_set_speech(await async_text(sentence.hass, sentence.turn.language, "confirm_nothing"))
        return response
    if is_thanks(sentence.turn.text, sentence.turn.language):
        response = intent.IntentResponse(language=sentence.turn.language)
        response.async_set_speech(await async_text(sentence.hass, sentence.turn.language, "local_welcome"))
        return response
    known = sentence.turn.record.understanding
    candidates: Sequence[str] = ()
    if known is not None and known.declined == "several" and not permission.meets_unknown:
        candidates = known.candidates
    if permission.mismatch is not None:
        asked = await async_ask_which(sentence, means.policy, means.brain, candidates)
        return asked or await async_explain_mismatch(sentence, permission.mismatch)
    if permission.meets_unknown and permission.recognised is not None and "name" not in permission.recognised.slots:
        return await async_explain_mismatch(sentence, nothing_there(sentence.hass, permission.recognised))
    if explains and (needs := await async_explain_fields(sentence, permission.left_out)) is not None:
        return needs
    nearest = await async_nearest(sentence)
    if not nearest.is_custom:
        outcome = await async_answer_fuzzily(sentence, permission, known=nearest.known)
        if outcome is not None and (isinstance(outcome, ToolError) or outcome.error_code is None or not candidates):
            return outcome
        asked = await async_ask_which(sentence, means.policy, means.brain, candidates)
        if asked is not None or outcome is not None:
            return asked or outcome
    if permission.mismatch is not None:
        return await async_explain_mismatch(sentence, permission.mismatch)
    return await async_explain(sentence, nearest, permission.coverage, permission.left_out) if explains else None


async def _async_asked(
    sentence: Sentence, permission: IntentPolicy, brain: Brain, stage: Stage
) -> intent.IntentResponse | ToolError | None:
    """Return the answer to a question about states or a list; None where it is none, or about what is not known to the user."""
    if permission.unasked:
        permission.answers_later = False
        if (told := await _async_handle_strictly(sentence, permission, stage.value)) is not None:
            return told
    if permission.meets_unknown:
        return None
    answer = await async_answer_question(sentence, permission, brain)
    return answer if answer is not None else await async_read_list(sentence, permission, brain)


async def _async_told(
    hass: HomeAssistant, turn: Turn, outcome: intent.IntentResponse | ToolError, permission: IntentPolicy
) -> Answer:
    """Return the answer that tells what came of a sentence."""
    waits = isinstance(outcome, NeedsConfirmation)
    response = await async_refuse(hass, turn, outcome) if isinstance(outcome, ToolError) else outcome
    speech: str = response.speech.get("plain", {}).get("speech") or ""
    response.async_set_speech(speech)
    if not speech and response is outcome:  # Home Assistant has no words for it: "never mind"
        forgotten = permission.recognised is not None and permission.recognised.name == intent.INTENT_NEVERMIND
        speech = await async_text(hass, turn.language, "never_mind" if forgotten else "confirm_done")
    return Answer(response=response, text=speech, needs_confirmation=waits)
