"""What an agent says of itself: what it can do, from what is exposed, and what it did last, from the journal. No model is asked."""

from collections import Counter
from dataclasses import replace

from homeassistant.components.conversation import ChatLog, ConversationInput
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..home.exposure import is_exposed, may_know
from ..languages.data import ENGLISH
from ..languages.phrases import SelfQuestion
from ..policy.journal import ActionJournal, JournalEntry
from ..policy.questions import async_did, async_done
from ..policy.undo import seen_by
from ..support.bounds import in_slices
from ..support.localize import async_has_text, async_own_text, async_text
from ..turn.turn import Answer, Turn, zone_of_turn
from .refusals import async_example
from .sentences import Means, Sentence, Stage, async_hear

MAX_KINDS = 8  # of one sentence
MAX_WORDS = 80  # characters of what was said


async def async_answer_asked(
    hass: HomeAssistant, turn: Turn, user_input: ConversationInput, chat_log: ChatLog, means: Means, asked: SelfQuestion
) -> Answer:
    """Return the answer to a question about the agent itself; it tells nothing that the user may not know."""
    if asked is not SelfQuestion.ABILITIES:
        return Answer(text=await _async_last_action(hass, turn, means.journal))
    sentence = await async_hear(hass, turn, user_input, chat_log, means, Stage.NO_MODEL)
    return Answer(text=await _async_abilities(sentence))


async def _async_abilities(sentence: Sentence) -> str:
    """Return which kinds of things the agent may use for the user, how many, and a command that would be understood.

    Where it may change none of them, those that it knows.
    """
    hass, turn, policy = sentence.hass, sentence.turn, sentence.means.policy
    language = turn.speaks if await async_has_text(hass, turn.speaks, "abilities") else ENGLISH
    known = [item for item in sentence.home.entities if may_know(hass, turn.user, item) and hass.states.get(item)]
    if not known:
        return await async_text(hass, turn.speaks, "abilities_none")
    used = [item async for item in in_slices(known) if policy.may_change(turn, item)]
    counts = Counter(entity_id.partition(".")[0] for entity_id in used or known)
    kinds = [
        f"{await async_own_text(hass, language, 'title', domain, 'title') or domain} ({count})"
        for domain, count in counts.most_common(MAX_KINDS)
    ]
    things = ", ".join([*kinds, *(["…"] if len(counts) > MAX_KINDS else [])])
    text = (await async_text(hass, language, "abilities", things=things)).replace("….", "…")
    if example := await async_example(sentence):
        text = f"{text} {await async_text(hass, turn.speaks, 'abilities_example', example=example)}"
    return text


async def _async_last_action(hass: HomeAssistant, turn: Turn, journal: ActionJournal) -> str:
    """Return what was done last for the user, or in this conversation: all of it that one message led to."""
    actions = journal.newest_first(seen_by(turn))
    if not actions:
        return await async_text(hass, turn.speaks, "last_action_none")
    newest = actions[0]
    together = [action for action in reversed(actions) if action.turn_id == newest.turn_id]
    told = list(dict.fromkeys([await _async_words(hass, turn, action) for action in together]))
    zone = zone_of_turn()
    when, now = newest.when.astimezone(zone), dt_util.utcnow().astimezone(zone)
    clock = f"{when:%H:%M}" if when.date() == now.date() else f"{when:%Y-%m-%d %H:%M}"
    key = "last_action" if any(action.success for action in together) else "last_action_failed"
    text = await async_text(hass, turn.speaks, key, time=clock, actions="; ".join(told))
    if all(action.undone for action in together):
        text = f"{text} {await async_text(hass, turn.speaks, 'last_action_undone')}"
    return text


async def _async_words(hass: HomeAssistant, turn: Turn, action: JournalEntry) -> str:
    """Return what an action did, as far as the user may know; where that is nothing, what they said."""
    effects = []
    for effect in action.effects:
        known = tuple(item for item in effect.entity_ids if is_exposed(hass, item, turn.user))
        if known or not effect.entity_ids:
            effects.append(replace(effect, entity_ids=known))
    if not effects:
        words = action.words[:MAX_WORDS]
        return f"“{words}…”" if len(action.words) > MAX_WORDS else f"“{words}”"
    return await (async_did if action.success else async_done)(hass, turn.speaks, effects)
