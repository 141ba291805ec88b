"""Lists without a model: several items of one sentence are added one by one, and what stands on a list is told."""

import asyncio
from dataclasses import replace
import time

from homeassistant.components.todo.const import ATTR_ITEM
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import intent

from ..home.foreign import async_reader, note_read
from ..home.states import detail_call, details_from_response
from ..languages.enumerations import MAX_ITEMS, is_denied, items_in
from ..support.localize import async_text
from ..support.text import words_of
from .coverage import LeftOut, as_said
from .frames import Frame, async_carry_out, async_tell_states
from .intent_policy import against_reading, report
from .reading import Said, SentenceReading
from .sentences import Done, NotMine, Refused, Result, Sentence, error_response
from .things import StateOf, Things

_ADDS = frozenset({"HassListAddItem", "HassShoppingListAddItem"})


async def add_items(sentence: Sentence) -> Result:
    """Add each of several items that Home Assistant's sentence took for one, all of them or none."""
    known = [each.recognised for each in sentence.earlier if isinstance(each, LeftOut)]
    if not known or (recognised := known[-1]) is None or recognised.name not in _ADDS:
        return NotMine()
    said = as_said(str(recognised.slots.get(ATTR_ITEM, "")), sentence.turn.text)
    names = [name for entity in sentence.home.entities.values() if entity.domain == "todo" for name in entity.names]
    if is_denied(sentence.turn.text, sentence.language.code, names):
        return NotMine()
    frames: list[Frame] = []
    for item in items_in(said, sentence.language.code):
        slots = {**recognised.slots, ATTR_ITEM: item}
        words = {slot: str(value) for slot, value in slots.items()}
        frames.append(Frame(intent=recognised.name, slots=slots, response_key="item_added", words=words))
    result = await async_carry_out(sentence, frames) if frames else NotMine()
    if isinstance(result, Done | Refused):
        return result
    return replace(result, recognised=None) if isinstance(result, NotMine) else NotMine()


def understand_list(
    text: str, things: Things, state_of: StateOf, *, area_id: str | None = None, before: Said | None = None
) -> str:
    """Return the entity id of the list of which a sentence asks what stands on it; empty where it does not."""
    return _Listing(text, things, state_of, area_id=area_id).read()


class _Listing(SentenceReading):
    def read(self) -> str:
        """Return which list is meant: the one whose whole name was said, with nothing besides."""
        words, known = self.things.data.lists, self.things.in_domains(frozenset({"todo"}))
        if not known or not self.tokens or self._declined() not in ("", "question", "altered"):
            return ""
        said = tuple(self.words)
        harmless = self.routes.harmless
        start = next((at for at, word in enumerate(said) if at not in self.polite and word not in harmless), 0)
        begins = [len(one) for one in map(words_of, words.reads) if said[start : start + len(one)] == one]
        if not begins:
            return ""
        rest = said[start + max(begins) :]
        ends = [len(one) for one in map(words_of, words.ends) if rest[-len(one) :] == one]
        rest = rest[: len(rest) - max(ends)] if ends else rest
        nothing = harmless.union(*map(words_of, self.things.data.questions.beside))
        left = tuple(word for word in rest if word not in nothing)
        meant = [
            thing.entity.entity_id
            for thing in (self.things.things[number] for number in known)
            if left and any(left == tuple(word for word in name if word not in harmless) for name in thing.names)
        ]
        return meant[0] if len(meant) == 1 else ""


async def read_list(sentence: Sentence) -> Result:
    """Tell what is still to be done on a list that the user may know."""
    started, hass, turn = time.perf_counter(), sentence.hass, sentence.turn
    entity_id = await sentence.means.brain.async_read(understand_list, sentence)
    state = hass.states.get(entity_id) if entity_id else None
    call = detail_call(hass, state, []) if state is not None else None
    if state is None or call is None:
        return NotMine()
    response = intent.IntentResponse(language=turn.language)
    response.response_type = intent.IntentResponseType.QUERY_ANSWER
    response.async_set_states([state])
    slots = {"name": entity_id}
    frame = Frame(intent=intent.INTENT_GET_STATE, slots=slots, response_key="", words=slots)
    if against_reading(sentence, frame.recognised, response) is not None:
        return NotMine()
    try:
        async with asyncio.timeout(turn.profile.tool_timeout):
            answer = await hass.services.async_call(
                call.domain, call.service, dict(call.data), blocking=True, context=turn.context,
                target={"entity_id": entity_id}, return_response=True,
            )  # fmt: skip
    except HomeAssistantError, TimeoutError:
        speech = await async_text(hass, turn.language, "local_failed", target=state.name)
        response = error_response(turn, intent.IntentResponseErrorCode.FAILED_TO_HANDLE, speech)
        report(sentence, frame.recognised, response, started)
        return Done(said=response)
    rows = next(iter(details_from_response(call, answer).values()))
    rows = rows if isinstance(rows, list) else []
    items = [str(row["summary"]) for row in rows if isinstance(row, dict) and row.get("summary")]
    turn.record.taints |= (await async_reader(hass, turn.user)).taints_of(state)
    note_read(hass, turn, items)
    told = ", ".join([*items[:MAX_ITEMS], *(["…"] if len(items) > MAX_ITEMS else [])])
    key = "local_list_items" if items else "local_list_empty"
    response.async_set_speech(await async_text(hass, turn.language, key, target=state.name, items=told))
    return await async_tell_states(sentence, frame, response, [entity_id], started)
