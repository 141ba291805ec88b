"""An automation in plain words for people, and what differs between two of them."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from homeassistant.core import HomeAssistant

from ..home.states import Knows
from ..home.wording import MAX_KEY, async_more, async_spoken
from ..languages.data import data_of
from ..support.bounds import in_slices
from .action_phrases import async_action
from .condition_phrases import async_condition
from .draft import AutomationDraft
from .meanings import Meanings
from .phrases import HIDDEN, Narrator, listed, plain, told_apart
from .trigger_phrases import async_trigger

MAX_PARTS = 20
"""Triggers, conditions or actions that are told; the others are a number."""
MAX_DIFFERENCES = 20
MAX_COMPARED = 300
"""Parts of one kind that are compared one by one."""
SHORT_WORDS = 40
_SHORT_PHRASE = 14  # words of one phrase, where it is told briefly
_MODES: Mapping[str, str] = {
    "single": "automation_word_mode_single",
    "restart": "automation_word_mode_restart",
    "queued": "automation_word_mode_queued",
    "parallel": "automation_word_mode_parallel",
}
_CHANGES: Mapping[str, tuple[str, str, str, str]] = {
    "triggers": (
        "automation_change_new_trigger", "automation_change_no_trigger", "automation_change_other_trigger",
        "automation_change_inside_trigger",
    ),
    "conditions": (
        "automation_change_new_condition", "automation_change_no_condition", "automation_change_other_condition",
        "automation_change_inside_condition",
    ),
    "actions": (
        "automation_change_new_action", "automation_change_no_action", "automation_change_other_action",
        "automation_change_inside_action",
    ),
}  # fmt: skip
_TOLD = frozenset({"id", "alias", "mode", "triggers", "conditions", "actions", "description"})
_VARIABLES = frozenset({"trigger_variables", "variables"})
_VARIABLE_CHANGES: Mapping[tuple[bool, bool], str] = {
    (False, True): "automation_change_new_variable",
    (True, False): "automation_change_no_variable",
    (True, True): "automation_change_other_variable",
}
_DEFAULT_MODE = "single"
_USUAL_MOST: Mapping[str, int] = {"parallel": 10, "queued": 10}
_UNTOLD = frozenset({"blueprint", "max", "max_exceeded", "stored_traces", "trace", "use_blueprint"})
"""What else an automation may have that does nothing in the home, or is told as its mode."""
_INNER = frozenset({"variables", "alias", "enabled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomationWords:
    """An automation in phrases of one language, each without a capital letter and a full stop."""

    triggers: tuple[str, ...]
    conditions: tuple[str, ...]
    actions: tuple[str, ...]
    any_of: str = "{first}, {last}"
    """How a language joins the last of several that stand for each other."""
    all_of: str = "{first}, {last}"
    """How it joins the last of several that belong together."""
    more: str = "+{count}"
    """How it says how many are left out."""
    besides: str = ""
    """What comes of it where it is triggered while it is still running, if that is not as usual; and what else it says."""
    quotes: Sequence[str] = ("“", "”")
    """Its quotation marks: one that is opened is closed where a phrase is cut."""

    def sentence(self) -> str:
        """Return all of it as one sentence without a full stop: "when A opens, after 21:00: turn on B"."""
        return self._assembled(self.triggers, self.conditions, self.actions)

    def short(self, words: int = SHORT_WORDS) -> str:
        """Return it in at most about so many words, for a voice: long phrases are cut, the last ones are a number."""
        if len((full := self.sentence()).split()) <= words:
            return full
        most = 3
        parts = [
            [self._cut(phrase, _SHORT_PHRASE) for phrase in of] for of in (self.triggers, self.conditions, self.actions)
        ]
        while most > 1 and len(self._few(parts, most).split()) > words:
            most -= 1
        return self._cut(self._few(parts, most), words)

    def _few(self, parts: Sequence[Sequence[str]], most: int) -> str:
        cut = [
            [*of[:most], *([self.more.replace("{count}", str(len(of) - most))] if len(of) > most else [])]
            for of in parts
        ]
        return self._assembled(*cut)

    def _assembled(self, triggers: Sequence[str], conditions: Sequence[str], actions: Sequence[str]) -> str:
        begins = _row(told_apart(triggers, any_of=True), self.any_of)
        conditions, actions = (told_apart(parts, any_of=False) for parts in (conditions, actions))
        when = ", ".join(part for part in (begins, _row(conditions, self.all_of)) if part)
        does = f"{_row(actions, self.all_of)} ({self.besides})" if self.besides else _row(actions, self.all_of)
        return f"{when}: {does}" if when else does

    def _cut(self, text: str, words: int) -> str:
        said = text.split()
        if len(said) <= words:
            return text
        cut, (begin, end) = " ".join(said[:words]), (mark.strip() for mark in self.quotes)
        return f"{cut} …{end}" if cut.rfind(begin) > cut.rfind(end) else f"{cut} …"


def _row(parts: Sequence[str], joint: str) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return joint.replace("{first}", ", ".join(parts[:-1]), 1).replace("{last}", parts[-1], 1)


type _ToldPart = tuple[str, Any]
"""A phrase with the part of the automation that it tells of."""


async def async_words(hass: HomeAssistant, language: str, draft: AutomationDraft, *, knows: Knows) -> AutomationWords:
    """Return what triggers an automation, its conditions and what it does, each in a phrase of the language.

    Entities that `knows` refuses are "…". The language is English where ours are not translated into it.
    """
    phrases = await _async_phrases(hass, language, draft, knows)
    rows = await _async_rows(phrases, draft)
    told = {kind: [phrase or HIDDEN for phrase, part in of if not _is_inner(part)] for kind, of in rows.items()}
    for kind, of in told.items():
        if len(of) > MAX_PARTS:
            last = await phrases.text("confirm_more_names", count=str(len(of) - MAX_PARTS))
            told[kind] = [*of[:MAX_PARTS], last]
    return AutomationWords(
        triggers=tuple(told["triggers"]),
        conditions=tuple(told["conditions"]),
        actions=tuple(told["actions"]) or (await phrases.text("automation_word_nothing"),),
        any_of=await phrases.text("automation_word_or", first="{first}", last="{last}"),
        all_of=await phrases.text("automation_word_and", first="{first}", last="{last}"),
        more=await phrases.text("confirm_more_names", count="{count}"),
        quotes=data_of(phrases.language).quotes,
        besides=await _async_besides(phrases, draft),
    )


def _mode_of(draft: AutomationDraft) -> tuple[str, int | None]:
    """Return the mode of an automation, and how many runs there are at most where that is not as usual."""
    mode, most = str(draft.normalized.get("mode") or _DEFAULT_MODE), draft.normalized.get("max")
    return mode, most if mode in _USUAL_MOST and isinstance(most, int) and most != _USUAL_MOST[mode] else None


async def _async_mode(phrases: Narrator, draft: AutomationDraft) -> str:
    mode, most = _mode_of(draft)
    told = await phrases.text(_MODES.get(mode, _MODES[_DEFAULT_MODE]))
    return await phrases.text("automation_word_most_runs", what=told, count=str(most)) if most is not None else told


async def _async_besides(phrases: Narrator, draft: AutomationDraft) -> str:
    said = []
    if _mode_of(draft)[0] != _DEFAULT_MODE:
        said.append(await phrases.text("automation_word_meanwhile", mode=await _async_mode(phrases, draft)))
    if others := await phrases.rest(draft.written, _TOLD | _VARIABLES | _UNTOLD):
        said.append(others.strip(" ()"))
    return "; ".join(said)


def _is_inner(part: object) -> bool:
    """Return whether an action only sets variables, which does nothing in the home."""
    return isinstance(part, Mapping) and part.keys() <= _INNER and "variables" in part


async def _async_phrases(hass: HomeAssistant, language: str, draft: AutomationDraft, knows: Knows) -> Narrator:
    meanings = Meanings(hass, draft)
    phrases = Narrator(hass=hass, language=await async_spoken(hass, language), knows=knows, meanings=meanings)
    for place, trigger in enumerate(draft.triggers):
        phrases.triggers.setdefault(str(trigger.get("id", place)), []).append(trigger)
    return phrases


async def _async_rows(phrases: Narrator, draft: AutomationDraft) -> dict[str, list[_ToldPart]]:
    """Return every part of an automation with its phrase; parts beyond the bound have none."""

    async def rows(parts: Sequence[Any], tell: Callable[[Narrator, Any], Awaitable[str]]) -> list[_ToldPart]:
        found: list[_ToldPart] = []
        async for part in in_slices(parts):
            told = phrases.whole(await tell(phrases, part)) if len(found) < 2 * MAX_PARTS else HIDDEN
            found.append((told, plain(part)))
        return found

    return {
        "triggers": await rows(draft.triggers, async_trigger),
        "conditions": await rows(listed(draft.conditions), async_condition),
        "actions": await rows(draft.actions, async_action),
    }


async def async_difference(
    hass: HomeAssistant, language: str, before: AutomationDraft, after: AutomationDraft, *, knows: Knows
) -> list[str]:
    """Return sentences that say what changed from one automation to another; none only if nothing did."""
    old_phrases = await _async_phrases(hass, language, before, knows)
    phrases = await _async_phrases(hass, language, after, knows)
    said: list[str] = []
    if before.alias != after.alias:
        said.append(
            await phrases.text(
                "automation_change_name", before=phrases.quoted(before.alias), name=phrases.quoted(after.alias)
            )
        )
    if _mode_of(before) != _mode_of(after):
        told = [await _async_mode(phrases, one) for one in (before, after)]
        said.append(await phrases.text("automation_change_mode", before=told[0], mode=told[1]))
    old, new = await _async_rows(old_phrases, before), await _async_rows(phrases, after)
    for kind in _CHANGES:
        said += await _async_changes(phrases, kind, old[kind], new[kind])
    if before.written.get("description") != after.written.get("description"):
        said.append(await phrases.text("automation_change_description"))
    for kind in _VARIABLES:
        said += await _async_variables(old_phrases, phrases, before.written.get(kind), after.written.get(kind))
    if others := _other_keys(before, after):
        said.append(
            await phrases.text("automation_change_others", names=", ".join(phrases.cut(one, 30) for one in others))
        )
    if len(said) <= MAX_DIFFERENCES:
        return said
    return [*said[:MAX_DIFFERENCES], await async_more(hass, phrases.language, [], len(said) - MAX_DIFFERENCES)]


async def _async_variables(old_phrases: Narrator, phrases: Narrator, old: object, new: object) -> list[str]:
    """Return which variables are new, gone and other, with their values."""
    old, new = (given if isinstance(given, Mapping) else {} for given in (plain(old), plain(new)))
    said: list[str] = []
    for key in dict.fromkeys((*old, *new)):
        if key in old and key in new and old[key] == new[key]:
            continue
        name = phrases.quoted(key, MAX_KEY)
        before = await old_phrases.value(key, old.get(key)) if key in old else ""
        value = await phrases.value(key, new.get(key)) if key in new else ""
        sentence = _VARIABLE_CHANGES[key in old, key in new]
        said.append(await phrases.text(sentence, name=name, before=before, value=value))
    return said


def _other_keys(before: AutomationDraft, after: AutomationDraft) -> list[str]:
    """Return the names of what else differs, as variables, and of what only differs as it is written."""
    old, new = before.written, after.written
    told = _TOLD | _VARIABLES | ({"max"} if _mode_of(before) != _mode_of(after) else set())
    keys = [key for key in dict.fromkeys((*old, *new)) if key not in told]
    return [str(key) for key in keys if plain(old.get(key)) != plain(new.get(key))]


async def _async_changes(phrases: Narrator, kind: str, old: Sequence[_ToldPart], new: Sequence[_ToldPart]) -> list[str]:
    """Return what is new, gone and other among parts of one kind."""
    key_new, key_gone, key_other, key_inside = _CHANGES[kind]
    said: list[str] = []

    async def tell(key: str, **placeholders: str) -> None:
        said.append(await phrases.text(key, **{name: text or HIDDEN for name, text in placeholders.items()}))

    if kind != "actions":  # their order means nothing
        old, new = _without(old, new), _without(new, old)
    if old[MAX_COMPARED:] != new[MAX_COMPARED:]:
        await tell(key_inside, what="")
    old, new = old[:MAX_COMPARED], new[:MAX_COMPARED]
    identical = [repr(part) for _, part in old], [repr(part) for _, part in new]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, *identical, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        gone, come = old[i1:i2], new[j1:j2]
        for (was, _), (now, _) in zip(gone, come, strict=False):
            if was == now:
                await tell(key_inside, what=now)
            else:
                await tell(key_other, before=was, what=now)
        for was, _ in gone[len(come) :]:
            await tell(key_gone, what=was)
        for now, _ in come[len(gone) :]:
            await tell(key_new, what=now)
    return said


def _without(rows: Sequence[_ToldPart], others: Sequence[_ToldPart]) -> list[_ToldPart]:
    """Return the rows that are not among others, each as often as it is there more often."""
    left = Counter(repr(part) for _, part in others)
    found: list[_ToldPart] = []
    for row in rows:
        text = repr(row[1])
        if left[text]:
            left[text] -= 1
        else:
            found.append(row)
    return found
