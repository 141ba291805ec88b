"""Learned phrases: words that only the model understood, until an administrator lets the home act on them by itself.

When the model handled a request that the local brain declined, and every action of it was verified, the words are kept with
what was done. Words said often enough, with the same effect each time, are proposed in Repairs. Approved, they have the same
effects without the model, under the same policy. Undoing or repeating a phrase lowers its trust.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
import re
from typing import Any, ClassVar, override

from homeassistant.auth.permissions.const import POLICY_CONTROL
from homeassistant.components.conversation import ChatLog
from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_SUPPORTED_FEATURES, STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_now
import probatio

from ..home.exposure import async_check_permission, is_exposed
from ..home.names import stems_of
from ..home.snapshot import Home, HomeSnapshot
from ..home.taught_names import AREA
from ..languages.data import code_of, data_of
from ..languages.digits import MASK as MASKED_DIGITS, mask_digits
from ..languages.personal_data import mask
from ..languages.phrases import (
    ReplyKind,
    asked_of,
    is_altered,
    is_asking,
    is_reserved,
    is_thanks,
    plain_words,
    read_answer,
)
from ..policy.confirmation import Call
from ..policy.effects import KINDS, effect_from_dict
from ..policy.journal import ActionJournal, JournalEntry
from ..policy.policy import Policy, Verdict
from ..policy.proposals import ProposalKind, has_room
from ..policy.questions import ConfirmedCall, async_done, async_not_followed, async_result
from ..policy.write import EffectTool, async_plan_of
from ..support import issues
from ..support.bounds import without_surplus
from ..support.kept import kept_of
from ..support.localize import async_error_text, async_text
from ..support.masking import HIDDEN, MASK
from ..support.rows import as_row, from_row
from ..turn.plan import ActionClass, Effect, Plan
from ..turn.proposal import Proposal, ProposalStatus, Proposed
from ..turn.turn import Answer, Turn, Understanding

MAX_SEEN = 200
"""Phrases that were not said often enough yet; of more, the oldest of the user who has most are forgotten."""
MAX_LEARNED = 500
MAX_DECLINED = 200
SEEN_FOR = timedelta(days=60)
"""How long a phrase is kept that was neither said again nor proposed."""
MAX_TEXT = 120  # characters
MAX_WORDS = 12
MAX_CALLS = 3
MAX_ENTITIES = 10
AGAIN = timedelta(minutes=1)
"""A speaker who says the same within this time was not understood."""
REGRET = timedelta(minutes=10)
"""A speaker who undoes it within this time did not mean that."""
TRUST, MOST_TRUST = 4, 5
"""What an approved phrase begins with, and comes to with good use; below 1 it is taken out of use."""
COST = 3
"""What it loses each time that something counts against it: it bears that once."""
MAX_RECENT = 200
SLOT = "{}"
_DIGITS = 3  # of a number that may be a code
_ADDRESS = re.compile(r"://|\bwww\.|(?<!\w)\d*[^\W\d]\w*\.[^\W\d]{2}")
"""What shows that a text has an address of the network in it: a scheme, or a name with a dot inside."""
_DECLINED = frozenset({"words", "several", "action", "two_ways", "not_covered"})
"""Why the local brain may have declined what is learned: it did not know the words. What it understood as something else stays."""
_TRAITS = (ATTR_DEVICE_CLASS, ATTR_SUPPORTED_FEATURES, "supported_color_modes", "hvac_modes", "preset_modes")


class Slot(StrEnum):
    """What stands where a phrase may name another thing of the kind."""

    NONE = ""
    AREA = "area"
    THING = "thing"


type PhraseKey = tuple[str, str, str]
"""A language, the words, and the area of the asking device, which may be what was meant."""
type HeardPhrase = tuple[PhraseKey, tuple[str, ...]]
"""A phrase as it was said once: where it has a slot, with what stood there."""
type Effects = tuple[Effect, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedPhrase(Proposal):
    """One phrase, what is done for it, and what became of it."""

    language: str
    text: str  # as it was said first
    words: str  # those that count; `SLOT` where a name stood that may be another
    slot: Slot
    area_id: str  # of the asking device; empty where it had none, or the words name what is meant
    named: tuple[str, ...]
    """Entities and areas whose names are among the words: with other ones by these names it is another phrase."""
    tool: str  # by which the model did it: an agent without it does not do it either
    effects: Effects
    seen: int
    used: int = 0
    trust: int = 0
    when: datetime

    @property
    def key(self) -> PhraseKey:
        """What it is found by."""
        return self.language, self.words, self.area_id

    @property
    def is_known(self) -> bool:
        """Whether this release knows all of its effects; else it is kept as it was read, and neither used nor proposed."""
        return all(effect.kind in KINDS for effect in self.effects)

    @property
    def targets(self) -> tuple[str, ...]:
        """The entities that it is for."""
        return tuple(dict.fromkeys(item for effect in self.effects for item in effect.entity_ids))

    def as_dict(self) -> JsonObjectType:
        """Return its form in the file, where the status is called as in the responses of actions."""
        said = {ProposalStatus.APPROVED: "learned", ProposalStatus.DECLINED: "rejected"}
        return as_row(self) | {"status": said.get(self.status, self.status.value)}


@dataclass(frozen=True, slots=True)
class _Recent:
    when: datetime
    speaker: tuple[str | None, str | None]
    turn_id: str


class LearnedPhrases(Proposed[LearnedPhrase]):
    """All phrases of this home, the one that was said last at the end."""

    file = "learned_phrases"
    items = "phrases"
    most_read = 2_000
    most_of: ClassVar = {ProposalStatus.DECLINED: MAX_DECLINED}

    def __init__(self, hass: HomeAssistant) -> None:
        """Start empty, and learn nothing before `async_learn`."""
        super().__init__(hass)
        self._recent: dict[HeardPhrase, _Recent] = {}
        self.after = 0
        """How often the same has to be done before it is proposed; 0: phrases are neither learned nor used."""

    @override
    def key(self, row: LearnedPhrase) -> PhraseKey:
        return row.key

    @override
    def read(self, data: Mapping[str, Any]) -> LearnedPhrase:
        effects = tuple(effect_from_dict(item) for item in data["effects"])
        if not effects or not all(effect.entity_ids or effect.kind not in KINDS for effect in effects):
            raise ValueError("effects")
        return from_row(LearnedPhrase, data, effects=effects)

    @override
    def owner(self, row: LearnedPhrase) -> str | None:
        return row.user_id

    @override
    def waiting(self, status: ProposalStatus) -> list[LearnedPhrase]:
        return [row for row in super().waiting(status) if row.is_known]

    @override
    def surplus(self) -> Iterable[LearnedPhrase]:
        begin = dt_util.utcnow() - SEEN_FOR
        seen = self.rows(ProposalStatus.SEEN)
        fresh = without_surplus([row for row in seen if row.when >= begin], MAX_SEEN, self.owner, lambda _: 1)
        kept = {row.id for row in fresh}
        return [*super().surplus(), *(row for row in seen if row.id not in kept)]

    @callback
    def async_learn(self, after: int) -> None:
        """Propose what was done so often from now on; with 0, forget what was not approved."""
        self.after = after
        if not after:
            self.drop(self.rows(ProposalStatus.SEEN, ProposalStatus.PROPOSED))

    def find(self, hass: HomeAssistant, turn: Turn, home: HomeSnapshot) -> tuple[LearnedPhrase, Effects] | None:
        """Return the phrase that the words of a turn are, and its effects in this home; None if no phrase in use matches."""
        code, words = code_of(turn.language), plain_words(turn.text, turn.language)
        in_use = self.after and any(row.status is ProposalStatus.APPROVED for row in self._rows.values())
        if not in_use or len(words) > MAX_WORDS or is_asking(turn.text, turn.language):
            return None
        for area_id in dict.fromkeys((turn.area_id or "", "")):
            row = self._in_use((code, " ".join(words), area_id))
            if row is not None and row.area_id == (turn.area_id or ""):
                fits = _named_in(home, words, turn.language) == row.named
                return (row, row.effects) if fits else None
        for size in range(len(words) - 1, 0, -1):
            for begin in range(len(words) - size + 1):
                around = (*words[:begin], SLOT, *words[begin + size :])
                if (row := self._in_use((code, " ".join(around), ""))) is None:
                    continue
                effects = _effects_for(hass, turn, home, row, words[begin : begin + size])
                if effects and _named_in(home, around, turn.language) == row.named:
                    return row, effects
        return None

    def _in_use(self, key: PhraseKey) -> LearnedPhrase | None:
        row = self._rows.get(key)
        return row if row is not None and row.status is ProposalStatus.APPROVED and row.is_known else None

    @callback
    def async_note(self, phrase: LearnedPhrase, turn: Turn) -> None:
        """Count a phrase that the model handled. If it was said twice at once, or done otherwise, counting begins anew."""
        known = self._rows.get(phrase.key)
        if self._is_repeated(phrase.key, turn):
            self._count_against(phrase.key)
            return
        if known is not None and known.status not in (ProposalStatus.SEEN, ProposalStatus.PROPOSED):
            if known.status is not ProposalStatus.APPROVED or all(map(self._hass.states.get, known.targets)):
                return
            known = None  # an entity that it was for is gone
        if known is not None and _same(known.effects, phrase.effects) and known.named == phrase.named:
            phrase = replace(known, seen=known.seen + 1, when=phrase.when)
        if phrase.status is ProposalStatus.SEEN and phrase.seen >= self.after and has_room(self, phrase.user_id):
            phrase = replace(phrase, status=ProposalStatus.PROPOSED)
        self.put(phrase, newest=True)

    @callback
    def async_note_use(self, row: LearnedPhrase, turn: Turn, *, worked: bool) -> None:
        """Count that a phrase was done without the model, and whether that had an effect."""
        if self._is_repeated(row.key, turn):
            self._count_against(row.key)
        elif (known := self._rows.get(row.key)) is not None:
            trust = min(MOST_TRUST, known.trust + 1) if worked else known.trust
            self.put(replace(known, used=known.used + 1, trust=trust, when=dt_util.utcnow()), newest=True)

    @callback
    def async_decide(self, rows: Iterable[LearnedPhrase], status: ProposalStatus) -> None:
        """Approve or decline phrases that wait."""
        rows = [*rows]
        self.put(*(replace(row, status=status, trust=TRUST) for row in rows))
        self._unhear(rows)  # trying the phrase now says nothing against it

    @callback
    def async_forget(self, rows: Iterable[LearnedPhrase]) -> None:
        """Forget phrases of any status."""
        rows = [*rows]
        self.drop(rows)
        self._unhear(rows)

    def _unhear(self, rows: Iterable[LearnedPhrase]) -> None:
        keys = {row.key for row in rows}
        self._recent = {heard: recent for heard, recent in self._recent.items() if heard[0] not in keys}

    def _is_repeated(self, key: PhraseKey, turn: Turn) -> bool:
        """Return whether the same speaker said a phrase of the same thing just before; note that it was said now."""
        heard = key, plain_words(turn.text, turn.language)
        before, now = self._recent.pop(heard, None), dt_util.utcnow()
        speaker = (turn.context.user_id, turn.device_id or turn.satellite_id)
        self._recent[heard] = _Recent(now, speaker, turn.context.id)
        if len(self._recent) > MAX_RECENT:
            del self._recent[next(iter(self._recent))]
        return before is not None and before.speaker == speaker and now - before.when <= AGAIN

    @callback
    def async_note_undone(self, action: JournalEntry) -> None:
        """Count against the phrases of a turn that was undone."""
        for heard, recent in [*self._recent.items()]:
            if recent.turn_id == action.turn_id and dt_util.utcnow() - recent.when <= REGRET:
                self._recent[heard] = replace(recent, turn_id="")  # several actions of one turn count once
                self._count_against(heard[0])

    def _count_against(self, key: PhraseKey) -> None:
        """Drop what is not approved yet. What is loses trust, and is taken out of use when none is left."""
        if (row := self._rows.get(key)) is None:
            return
        if row.status in (ProposalStatus.SEEN, ProposalStatus.PROPOSED):
            self.drop([row])
        elif row.status is ProposalStatus.APPROVED:
            trust = row.trust - COST
            status = row.status if trust >= 1 else ProposalStatus.DOUBTED
            self.put(replace(row, trust=max(0, trust), status=status))


def learned_phrases_of(hass: HomeAssistant) -> LearnedPhrases:
    """Return the learned phrases of this home."""
    return kept_of(hass, LearnedPhrases)


def proposed_phrases(hass: HomeAssistant) -> list[ProposalKind[LearnedPhrase]]:
    """Return what administrators decide on: phrases to be done without the model, and phrases that were taken out of use."""
    phrases = learned_phrases_of(hass)

    async def async_text_of(row: LearnedPhrase) -> str:
        key = {Slot.NONE: "phrase_row", Slot.AREA: "phrase_row_area", Slot.THING: "phrase_row_thing"}[row.slot]
        language = hass.config.language
        done = await async_done(hass, language, row.effects)
        return await async_text(hass, language, key, phrase=f"“{row.text}”", actions=done)

    async def async_approve(rows: Sequence[LearnedPhrase]) -> str | None:
        if len(phrases.rows(ProposalStatus.APPROVED)) + len(rows) > MAX_LEARNED:
            return await async_text(hass, hass.config.language, "learned_too_many", limit=str(MAX_LEARNED))
        phrases.async_decide(rows, ProposalStatus.APPROVED)
        return None

    waiting = {issues.PHRASES_PROPOSED: ProposalStatus.PROPOSED, issues.PHRASES_DOUBTED: ProposalStatus.DOUBTED}
    return [
        ProposalKind(
            key=key,
            kept=phrases,
            status=status,
            text=async_text_of,
            approve=async_approve,
            decline=partial(phrases.async_decide, status=ProposalStatus.DECLINED),
        )
        for key, status in waiting.items()
    ]


# What the model did is kept, where it may be.


async def async_observe(
    hass: HomeAssistant, turn: Turn, phrases: LearnedPhrases, policy: Policy, journal: ActionJournal, home: Home
) -> None:
    """Count the words of a turn that the model has answered, if they and all that it did for them may be learned."""
    actions = _actions_of(turn, journal) if phrases.after and _may_teach(turn) else ()
    effects = tuple(effect for action in actions for effect in action.effects if KINDS[effect.kind].repeats(effect))
    began = dt_util.utcnow() - timedelta(milliseconds=turn.record.duration_ms)
    done = ((action, effect, item) for action in actions for effect in action.effects for item in effect.subjects)
    if not effects or not _may_be_learned(turn, actions, effects):
        return
    if not all(
        KINDS[effect.kind].is_proven(hass, effect, item, action.outcomes.get(item), action.before.get(item), began)
        for action, effect, item in done
    ):
        return
    try:
        plan = await async_plan_of(hass, effects)
    except HomeAssistantError:
        return
    effects = plan.effects  # equal ones are one now
    tool = LearnedRequest(actions[0].tool, effects)
    if plan.action is not ActionClass.WRITE or policy.rules.decide(turn, tool, plan).action is not Verdict.ALLOW:
        return
    snapshot, words = await home.async_get(), plain_words(turn.text, turn.language)
    around, slot = _with_slot(snapshot, words, turn.language, effects)
    names = [name for item in plan.targets if (one := snapshot.entities.get(item)) for name in one.names]
    names += [name for area in snapshot.areas.values() for name in area.names]
    if not _is_plain_request(turn, words, names):
        return
    phrases.async_note(
        LearnedPhrase(
            id=ulid_now(),
            language=code_of(turn.language),
            text=" ".join(turn.text.split()),
            words=" ".join(around),
            slot=slot,
            area_id="" if slot is not Slot.NONE else turn.area_id or "",
            named=_named_in(snapshot, around, turn.language),
            tool=actions[0].tool,
            effects=effects,
            status=ProposalStatus.SEEN,
            seen=1,
            user_id=turn.context.user_id,
            when=dt_util.utcnow(),
        ),
        turn,
    )


def _may_teach(turn: Turn) -> bool:
    """Return whether the speaker may teach: a user who may control the home, or a voice device; not with an agent of guests."""
    user, record = turn.user, turn.record
    if user is None:
        is_known = turn.context.user_id is None and (turn.device_id or turn.satellite_id) is not None
    else:
        may_control = user.permissions.access_all_entities(POLICY_CONTROL)
        is_known = user.is_active and not user.system_generated and may_control
    is_own = turn.direct and turn.parent is None and not turn.extension and not turn.delegated
    is_plain = not turn.extra_system_prompt and turn.context_entities is None and not turn.translates
    is_clean = not (record.taints or record.request_id or record.fault or record.routing or record.used_external_llm)
    return is_known and is_own and is_plain and is_clean and turn.remembers and not turn.within


def _actions_of(turn: Turn, journal: ActionJournal) -> Sequence[JournalEntry]:
    """Return what the journal has of a turn, oldest first; nothing if the model also called what is not in it, such as a query."""
    begin, own = dt_util.utcnow() - timedelta(milliseconds=turn.record.duration_ms + 1), turn.conversation_id
    same = journal.newest_first(lambda one: one.turn_id == turn.context.id and one.conversation_id == own)
    actions = [action for action in reversed(same) if action.when >= begin]
    calls = turn.record.calls
    is_all = len(actions) == len(calls) == turn.record.calls_started and all(call.success for call in calls)
    return actions if is_all and 0 < len(actions) <= MAX_CALLS else ()


def _may_be_learned(turn: Turn, actions: Sequence[JournalEntry], effects: Effects) -> bool:
    """Return whether actions would be the same again: calls of few entities, without texts, toggles and secrets."""
    targets = {item for effect in effects for item in effect.entity_ids}
    known = turn.record.understanding
    return (
        known is not None
        and known.declined in _DECLINED
        and len(targets) <= MAX_ENTITIES
        and len(effects) == sum(len(action.effects) for action in actions)
        and len({action.tool for action in actions}) == 1
        and all(action.success and not action.left_out and action.undone is None for action in actions)
        and all(effect.entity_ids for effect in effects)
        and not any("variables" in effect.data or MASK in str(dict(effect.data)) for effect in effects)
    )


def _is_plain_request(turn: Turn, words: Sequence[str], names: Iterable[str]) -> bool:
    """Return whether words say one thing at any time and for any speaker: no question, condition, answer, number or secret."""
    text, language = turn.text, turn.language
    return (
        0 < len(words) <= MAX_WORDS
        and len(text) <= MAX_TEXT
        and bool(data_of(code_of(language)).alters.anywhere)  # else it is not known how a sentence is turned round
        and not is_asking(text, language)
        and not is_altered(text, language, names, asks=False)
        and read_answer(text, language).kind is ReplyKind.OTHER
        and asked_of(text, language) is None
        and not is_reserved(text, language)
        and not is_thanks(text, language)
        and not any(hidden in text for hidden in (*HIDDEN, MASKED_DIGITS))
        and mask(text) == text
        and not _ADDRESS.search(text)
        and mask_digits(text, language, at_least=_DIGITS) == text
    )


# Names among the words.


def _parted(home: HomeSnapshot, subjects: Iterable[str]) -> tuple[list[str], list[str]]:
    listed = list(subjects)
    areas = [one.removeprefix(AREA) for one in listed if one.startswith(AREA)]
    return areas, [one for one in listed if one in home.entities]


def _called(home: HomeSnapshot, words: Sequence[str], language: str) -> Mapping[tuple[int, int], list[str]]:
    """Return whose names stand among plain words, by the first of them and how many; what is only polite is no part of a name."""
    likely = {one for stem in stems_of(" ".join(words)) for found in home.names.with_stem(stem) for one in found}
    named: dict[tuple[str, ...], list[str]] = {}
    for subject in sorted(likely):
        for name in {plain_words(name, language) for name in home.names.labels[subject]}:
            named.setdefault(name, []).append(subject)
    places = ((begin, size) for size in range(len(words), 0, -1) for begin in range(len(words) - size + 1))
    return {(at, size): named[own] for at, size in places if (own := tuple(words[at : at + size])) in named}


def _named_in(home: HomeSnapshot, words: Sequence[str], language: str) -> tuple[str, ...]:
    called = _called(home, words, language).values()
    areas, things = _parted(home, {subject for subjects in called for subject in subjects})
    return tuple(sorted((*areas, *things)))


def _with_slot(home: HomeSnapshot, words: Sequence[str], language: str, effects: Effects) -> tuple[Sequence[str], Slot]:
    """Return the words with a slot where they name just what was done for: one thing, or all of its kind in an area."""
    targets = {item for effect in effects for item in effect.entity_ids}
    places = {entity.area_id for item in targets if (entity := home.entities.get(item)) is not None}
    area_id = next(iter(places)) if len(places) == 1 else None
    for (begin, size), subjects in _called(home, words, language).items():  # the longest first
        areas, things = _parted(home, subjects)
        around = (*words[:begin], SLOT, *words[begin + size :])
        if size == len(words):
            continue
        if not areas and len(things) == 1 and targets == {*things}:
            return around, Slot.THING
        if not things and areas and areas == [area_id]:
            if all({*effect.entity_ids} == {*_of_kind(home, area_id, effect)} for effect in effects):
                return around, Slot.AREA
    return words, Slot.NONE


def _of_kind(home: HomeSnapshot, area_id: str | None, effect: Effect) -> list[str]:
    domains = {item.partition(".")[0] for item in effect.entity_ids}
    return [item for item in home.by_area.get(area_id or "", ()) if item.partition(".")[0] in domains]


def _effects_for(
    hass: HomeAssistant, turn: Turn, home: HomeSnapshot, row: LearnedPhrase, words: Sequence[str]
) -> Effects:
    """Return the effects of a phrase for what stands in its slot; none where that is nothing, or not alike."""
    areas, things = _parted(home, _called(home, words, turn.language).get((0, len(words)), ()))
    effects: list[Effect] = []
    for effect in row.effects:
        items: Sequence[str] = ()
        if row.slot is Slot.THING and len(things) == 1 and not areas:
            items = things
        elif row.slot is Slot.AREA and len(areas) == 1 and not things:
            items = [item for item in _of_kind(home, areas[0], effect) if is_exposed(hass, item, turn.user)]
        known = [_traits(hass, item, effect) for item in effect.entity_ids if hass.states.get(item) is not None]
        if not items or not all(_traits(hass, item, effect) in known for item in items):
            return ()
        effects.append(replace(effect, entity_ids=tuple(items)))
    return tuple(effects)


def _traits(hass: HomeAssistant, entity_id: str, effect: Effect) -> tuple[Any, ...] | None:
    """Return what two things have in common of which both can be told to do the same; None without a state."""
    if (state := hass.states.get(entity_id)) is None:
        return None
    traits = (ATTR_DEVICE_CLASS,) if KINDS[effect.kind].suits_all(effect) else _TRAITS
    return state.domain, *map(state.attributes.get, traits)


def _same(one: Effects, other: Effects) -> bool:
    def plain(effects: Effects) -> list[tuple[str, str, list[str], dict[str, Any]]]:
        return [(item.domain, item.service, sorted(item.entity_ids), dict(item.data)) for item in effects]

    return plain(one) == plain(other)


# What was learned is done.


class LearnedRequest(EffectTool):
    """Does what a phrase stands for, in the form of a tool that no model is offered."""

    name = "learned_phrase"
    title_key = "tool_ha_control"
    description = "Does what a learned phrase stands for."
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    stands_alone = True
    parameters = probatio.Schema({})
    wire_parameters: JsonObjectType = {"type": "object", "properties": {}}  # noqa: RUF012 - never changed

    def __init__(self, stands_for: str, effects: Effects) -> None:
        """Do some effects, as the tool by which the model did them: lists of the owner that name that one hold."""
        self.stands_for = stands_for
        self._effects = effects

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the effects. Raises `ToolError` where a group reaches what is not exposed."""
        return await async_plan_of(hass, self._effects)


async def async_answer_learned(
    hass: HomeAssistant, turn: Turn, chat_log: ChatLog, phrases: LearnedPhrases, policy: Policy, home: HomeSnapshot
) -> Answer | None:
    """Do what a learned phrase stands for and return the answer; None leaves it to the model: nothing matches, or it cannot be done now."""
    if (found := phrases.find(hass, turn, home)) is None:
        return None
    row, effects = found
    tool = LearnedRequest(row.tool, effects)
    try:
        plan = await tool.plan(hass, {}, turn)
        await async_check_permission(hass, turn.user, plan)
        offered = {one.stands_for or one.name for one in await policy.offered(turn)}
    except HomeAssistantError:
        return None
    states = [hass.states.get(item) for item in plan.targets]
    if row.tool not in offered or any(state is None or state.state == STATE_UNAVAILABLE for state in states):
        return None
    if any(policy.rules.decide(asking, tool, plan).action is Verdict.REFUSE for asking in turn.lineage):
        return None
    result = await policy.async_call_by_code(turn, tool, {}, chat_log, known=False)
    turn.record.understanding = Understanding(
        intents=tuple(dict.fromkeys(f"{effect.domain}.{effect.service}" for effect in effects)),
        targets=plan.targets,
        score=1.0,
        learned=True,
    )
    if result is None:
        return Answer(needs_confirmation=True)
    unmoved = turn.record.not_followed(item for effect in effects for item in effect.entity_ids)
    if turn.record.planned is None:
        phrases.async_note_use(row, turn, worked=not (result.error or unmoved))
    if (err := turn.record.did_not_run) is not None:
        return Answer(text=await async_error_text(hass, turn.speaks, err), done=False)
    if result.error:
        return Answer(text=await async_text(hass, turn.speaks, "confirm_failed"), done=False)
    if unmoved:
        return Answer(text=await async_not_followed(hass, turn.speaks, unmoved))
    waiting = Call(tool=tool, arguments={}, plan=plan)
    return Answer(
        text=await async_result(
            hass, turn.speaks, "confirm_done", [waiting], [ConfirmedCall(call=waiting, outcomes=turn.record.written)]
        )
    )
