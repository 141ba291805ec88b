"""Lists without a model: several items of one sentence are added one by one, and what stands on a list is told.

Home Assistant's sentences know how an item is added, one at a time, and have no words for what is on a list.
"""

import asyncio
from collections.abc import Callable
import re
import time

from homeassistant.components.todo.const import ATTR_ITEM
from homeassistant.core import State
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent

from ..home.states import detail_call, details_from_response, may_be_of_others
from ..languages.data import data_of
from ..languages.phrases import is_order
from ..policy.intents import Recognised
from ..support.errors import ToolError
from ..support.localize import async_text
from ..support.text import words_of
from ..turn.turn import Understanding
from .brain import Brain
from .coverage import as_said
from .fuzzy import Frame, async_carry_out, async_tell
from .intent_policy import IntentPolicy, Sentence
from .reading import SentenceReading
from .refusals import error_response
from .things import Things
from .understanding import Said, parts_of

MAX_ITEMS = 20
"""Items of one sentence, or of one answer."""
_ADDS = frozenset({"HassListAddItem", "HassShoppingListAddItem"})
_ADDED = "item_added"


async def async_add_items(sentence: Sentence, permission: IntentPolicy) -> intent.IntentResponse | ToolError | None:
    """Add each of several items that Home Assistant's sentence took for one; return the answer, or the refusal.

    Nothing is added unless all of them may be. None where it was something else.
    """
    recognised = permission.recognised
    if recognised is None or recognised.name not in _ADDS:
        return None
    said = as_said(str(recognised.slots.get(ATTR_ITEM, "")), sentence.turn.text)
    items = items_in(said, sentence.language.code)
    if not items:
        return None
    frames = [
        Frame(intent=recognised.name, slots={**recognised.slots, ATTR_ITEM: item}, response_key=_ADDED)
        for item in items
    ]
    before = permission.recognised, permission.left_out
    words = [{slot: str(value) for slot, value in frame.slots.items()} for frame in frames]
    answer = await async_carry_out(sentence, permission, frames, words)
    if answer is None:
        permission.recognised, permission.left_out = before
    return answer


def items_in(said: str, language: str) -> list[str]:
    """Return the items of an enumeration with commas and an "and" before the last; none for anything else.

    "Mac and cheese" is one item, and who says "milk, two litres" has named one as well. A part that is a command is no item.
    """
    joins = sorted(data_of(language).follow_ups.joins, key=len, reverse=True)
    items = parts_of(said, joins)
    first, comma, _ = said.partition(",")
    is_closed = any(re.search(rf"(?<!\w){re.escape(join)}(?!\w)", said[len(first) :], re.IGNORECASE) for join in joins)
    if not comma or not is_closed or not 1 < len(items) <= MAX_ITEMS or any(is_order(item, language) for item in items):
        return []
    return list(dict.fromkeys(item.strip() for item in items))


def understand_list(
    text: str,
    things: Things,
    state_of: Callable[[str], State | None],
    *,
    area_id: str | None = None,
    before: Said | None = None,
) -> str:
    """Return the entity id of the list of which a sentence asks what stands on it; empty where it does not."""
    return _Listing(text, things, state_of, area_id=area_id).read()


class _Listing(SentenceReading):
    """A question about what stands on a list, read against the home."""

    def read(self) -> str:
        """Return which list is meant: the one whose whole name was said, with nothing besides."""
        words, known = self.things.data.lists, self.things.in_domains(frozenset({"todo"}))
        if not known or not self.tokens or self._declined() not in ("", "question", "altered"):
            return ""
        said = tuple(self.words)
        start = next((at for at in range(len(said)) if at not in self.polite and not self._is_harmless(at)), 0)
        begins = [len(one) for one in map(words_of, words.reads) if said[start : start + len(one)] == one]
        if not begins:
            return ""
        rest = said[start + max(begins) :]
        ends = [len(one) for one in map(words_of, words.ends) if rest[-len(one) :] == one]
        rest = rest[: len(rest) - max(ends)] if ends else rest
        beside = {
            word
            for text in (self.things.data.questions.beside if self.things.data.questions else ())
            for word in words_of(text)
        }
        left = tuple(word for word in rest if word not in self.routes.harmless | beside)
        names = {
            number: [
                tuple(word for word in name if word not in self.routes.harmless)
                for name in self.things.things[number].names
            ]
            for number in known
        }
        meant = [number for number, called in names.items() if left and left in called]
        return self.things.things[meant[0]].entity.entity_id if len(meant) == 1 else ""

    def _is_harmless(self, at: int) -> bool:
        return self.words[at] in self.routes.harmless


async def async_read_list(sentence: Sentence, permission: IntentPolicy, brain: Brain) -> intent.IntentResponse | None:
    """Return what is still to be done on a list that the user may know; None leaves the sentence to the next."""
    started, hass, turn = time.perf_counter(), sentence.hass, sentence.turn
    entity_id = await brain.async_understand(sentence, understand_list)
    state = hass.states.get(entity_id) if entity_id else None
    call = detail_call(hass, state, []) if state is not None else None
    if state is None or call is None:
        return None
    response = intent.IntentResponse(language=turn.language)
    response.response_type = intent.IntentResponseType.QUERY_ANSWER
    response.async_set_states([state])
    earlier = permission.recognised, permission.refusal, permission.left_out
    slots = {"name": entity_id}
    permission.recognised, permission.refusal = Recognised(name=intent.INTENT_GET_STATE, slots=slots), None
    permission.left_out = None
    permission.check_answer(response)
    if permission.refusal is not None:
        permission.recognised, permission.refusal, permission.left_out = earlier
        return None
    try:
        async with asyncio.timeout(turn.profile.tool_timeout):
            answer = await hass.services.async_call(
                call.domain, call.service, dict(call.data), blocking=True, context=turn.context,
                target={"entity_id": entity_id}, return_response=True,
            )  # fmt: skip
    except HomeAssistantError, TimeoutError:
        speech = await async_text(hass, turn.language, "local_failed", target=state.name)
        response = error_response(turn, intent.IntentResponseErrorCode.FAILED_TO_HANDLE, speech)
        permission.report(response, started)
        return response
    rows = next(iter(details_from_response(call, answer).values()))
    items = (
        [str(row["summary"]) for row in rows if isinstance(row, dict) and row.get("summary")]
        if isinstance(rows, list)
        else []
    )
    if may_be_of_others(state):
        turn.record.taints.add(intent.INTENT_GET_STATE)
    told = ", ".join([*items[:MAX_ITEMS], *(["…"] if len(items) > MAX_ITEMS else [])])
    key = "local_list_items" if items else "local_list_empty"
    response.async_set_speech(await async_text(hass, turn.language, key, target=state.name, items=told))
    await async_tell(sentence, Frame(intent=intent.INTENT_GET_STATE, slots=slots, response_key=""), slots, response)
    permission.report(response, started)
    turn.record.understanding = Understanding(
        intents=(intent.INTENT_GET_STATE,),
        targets=(entity_id,),
        score=1.0,
        duration_ms=round((time.perf_counter() - started) * 1000),
    )
    return response
