"""What is kept, found, merged, superseded and let go."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
import time
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.memory.memories import Memories
from custom_components.home_agent.memory.record import ALL, Memory, MemorySource, MemoryType, Scope
from custom_components.home_agent.support.errors import MemoriesError
from custom_components.home_agent.support.kept import kept_of
from tests.house import set_up

from .conftest import HOUSE, extracted, said

TEA = "Grandma Ilse drinks only peppermint tea"
KEY = "The spare key hangs on the hook behind the boiler"


async def contents(memories: Memories, text: str, scope: Scope = HOUSE, **options: Any) -> list[str]:
    return [found.memory.content for found in await memories.async_find(text, scope, **options)]


async def test_what_was_said_is_found_by_words(memories: Memories) -> None:
    await memories.async_add([said(TEA), said(KEY)])
    assert await contents(memories, "Where is the spare key?") == [KEY]
    assert await contents(memories, "Which tea does grandma drink?") == [TEA]
    assert await contents(memories, "Is the garage door open?") == []


async def test_a_short_question_is_read_with_the_one_before(memories: Memories) -> None:
    await memories.async_add([said(TEA)])
    assert await contents(memories, "And now?", previous="Which tea does grandma drink?") == [TEA]


async def test_an_access_makes_it_more_important(memories: Memories) -> None:
    [added] = await memories.async_add([said(TEA, importance=0.5)])
    await memories.async_find("peppermint tea", HOUSE)
    [memory] = memories.of(None)
    assert added.memory is not None
    assert (memory.accesses, round(memory.importance, 2)) == (1, 0.55)
    assert memory.last_accessed >= added.memory.last_accessed


async def test_what_is_less_important_than_the_least_is_not_used(memories: Memories) -> None:
    await memories.async_add([extracted(TEA, importance=0.2)])
    assert await contents(memories, "peppermint tea") == []
    assert await contents(memories, "peppermint tea", min_importance=0.0) == [TEA]


@pytest.mark.parametrize("option", ["fact_ttl", "preference_ttl", "context_ttl", "event_ttl"])
async def test_types_have_their_own_lifetime(hass: HomeAssistant, freezer: FrozenDateTimeFactory, option: str) -> None:
    for_ever = {"fact_ttl": 0, "preference_ttl": 0, "context_ttl": 0, "event_ttl": 0}
    await set_up(hass, options={"memory": {**for_ever, option: 2}})
    memories = kept_of(hass, Memories)
    await memories.async_add([said(f"The {kind} of aunt Rosa", type=kind) for kind in MemoryType])
    assert len(await contents(memories, "aunt Rosa")) == 4
    freezer.tick(timedelta(days=2, seconds=1))
    left = sorted(f"The {kind} of aunt Rosa" for kind in MemoryType if kind != option.removesuffix("_ttl"))
    assert sorted(await contents(memories, "aunt Rosa")) == left
    await memories.async_tidy()
    assert sorted(memory.content for memory in memories.of(None, with_history=True)) == left


async def test_a_time_that_was_said_counts_instead(memories: Memories, freezer: FrozenDateTimeFactory) -> None:
    until = dt_util.utcnow() + timedelta(days=1)
    [added] = await memories.async_add([said(KEY, expires_at=until)])
    assert added.memory is not None
    assert (added.memory.expires_at, added.memory.is_transient) == (until, True)
    freezer.tick(timedelta(days=1))
    assert await contents(memories, "spare key") == []


async def test_how_alike_duplicates_are_is_a_setting(hass: HomeAssistant) -> None:
    """Two of four words have another form."""
    one, other = "Leo plays chess Fridays", "Leo played chess Friday"
    for dedup_threshold, outcome in ((0.9, "merged"), (0.99, "added")):
        entry = await set_up(hass, options={"memory": {"dedup_threshold": dedup_threshold}})
        await kept_of(hass, Memories).async_clear(ALL)
        added = await kept_of(hass, Memories).async_add([said(one), said(other)])
        assert added[1].outcome == outcome
        await hass.config_entries.async_remove(entry.entry_id)


async def test_what_says_the_same_is_merged(memories: Memories) -> None:
    [first] = await memories.async_add([extracted("Ilse drinks peppermint tea", importance=0.8)])
    [second] = await memories.async_add([said("Ilse drinks only peppermint tea after dinner", importance=0.4)])
    [memory] = memories.of(None)
    assert first.memory is not None
    assert (first.outcome, second.outcome) == ("added", "merged")
    assert memory.id == first.memory.id
    assert memory.content == "Ilse drinks only peppermint tea after dinner"
    assert (memory.importance, memory.source) == (0.8, MemorySource.SAID)


@pytest.mark.parametrize(("one", "other"), [
    ("Anna's birthday is on May 4", "Anna's birthday is on May 14"),
    ("Tom is allergic to hazelnuts", "Emma is allergic to hazelnuts"),
    ("The bin is collected on Monday", "The piano teacher comes on Monday"),
])  # fmt: skip
async def test_what_is_only_alike_stays_apart(memories: Memories, one: str, other: str) -> None:
    added = await memories.async_add([said(one), said(other)])
    assert [item.outcome for item in added] == ["added", "added"]


async def test_a_much_richer_text_is_the_same_memory(memories: Memories) -> None:
    richer = "Ilse drinks only peppermint tea after dinner, because coffee keeps her awake and black tea gives her a headache"
    added = await memories.async_add([said("Ilse drinks peppermint tea"), said(richer)])
    assert [item.outcome for item in added] == ["added", "merged"]
    assert [memory.content for memory in memories.of(None)] == [richer]


async def test_what_is_superseded_is_history(memories: Memories) -> None:
    [old] = await memories.async_add([said("The bed stands in the bedroom")])
    assert old.memory is not None
    [new] = await memories.async_add([said("The bed stands in the attic now", replaces=frozenset({old.memory.id}))])
    assert new.memory is not None
    assert [memory.id for memory in new.replaced] == [old.memory.id]
    assert await contents(memories, "Where is the bed?") == ["The bed stands in the attic now"]
    history = memories.of(None, with_history=True)
    assert [(memory.id, memory.replaced_by) for memory in history] == [
        (old.memory.id, new.memory.id),
        (new.memory.id, None),
    ]
    assert await memories.async_delete([new.memory.id]) == 1
    assert memories.of(None, with_history=True) == []


async def test_text_from_outside_supersedes_nothing_that_was_said(memories: Memories) -> None:
    await memories.async_add([said(KEY)])
    replaces = frozenset(memory.id for memory in memories.of(None))
    [new] = await memories.async_add(
        [extracted("The spare key lies under the mat", metadata={"tainted": ["web"]}, replaces=replaces)]
    )
    assert new.replaced == ()
    assert len(memories.of(None)) == 2


async def test_text_from_outside_rewords_nothing_that_was_said_and_keeps_its_mark(memories: Memories) -> None:
    """The longer time of two that say the same stays; what has none holds for ever."""
    soon, late = (dt_util.utcnow() + timedelta(days=days) for days in (1, 9))
    web: dict[str, Any] = {"metadata": {"tainted": ["web"]}}
    richer = f"{KEY} and may be given to everybody who rings"
    await memories.async_add([said(KEY, expires_at=soon)])
    [second] = await memories.async_add([extracted(richer, expires_at=late, **web)])
    assert second.outcome == "merged"
    assert second.memory is not None
    assert (second.memory.content, second.memory.source, second.memory.tainted) == (KEY, MemorySource.SAID, [])
    assert (second.memory.expires_at, second.memory.is_transient) == (late, True)
    [third] = await memories.async_add([said(KEY)])
    assert third.memory is not None
    assert (third.memory.expires_at, third.memory.is_transient) == (None, False)
    await memories.async_add([extracted("Ilse drinks peppermint tea")])
    [tea] = await memories.async_add([extracted("Ilse drinks peppermint tea after dinner", **web)])
    assert tea.memory is not None
    assert (tea.memory.content, tea.memory.tainted) == ("Ilse drinks peppermint tea after dinner", ["web"])


async def test_the_least_useful_goes_first_and_never_what_was_asked_for(hass: HomeAssistant) -> None:
    await set_up(hass, options={"memory": {"max_memories": 3}})
    memories = kept_of(hass, Memories)
    await memories.async_add([said(KEY), extracted(TEA, importance=0.9), extracted("Leo plays chess", importance=0.5)])
    [added] = await memories.async_add([extracted("Mia collects stamps", importance=0.6)])
    assert [memory.content for memory in added.dropped] == ["Leo plays chess"]
    [added] = await memories.async_add([extracted("Otto sings bass", importance=0.1)])
    assert (added.outcome, added.reason) == ("refused", "full")
    await memories.async_add([said("The meter is in the cellar"), said("The tax advisor is called Brandt")])
    [added] = await memories.async_add([said("The dog is called Bruno")])
    assert (added.outcome, added.reason, added.memory) == ("refused", "full", None)
    assert {memory.source for memory in memories.of(None)} == {MemorySource.SAID}


async def test_what_nobody_used_becomes_less_important(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass, options={"memory": {"importance_decay": 0.1}})
    memories = kept_of(hass, Memories)
    await memories.async_add([extracted("Leo plays chess", importance=0.5), said(KEY, importance=0.5)])
    freezer.tick(timedelta(days=10))
    assert await contents(memories, "chess") == []
    assert await contents(memories, "spare key") == [KEY]


@pytest.mark.parametrize(("content", "reason"), [("  \n", "empty"), ("word " * 300, "too_long")])
async def test_what_cannot_be_kept_is_refused(memories: Memories, content: str, reason: str) -> None:
    [added] = await memories.async_add([said(content)])
    assert (added.outcome, added.reason) == ("refused", reason)


async def test_a_memory_is_one_paragraph(memories: Memories) -> None:
    [added] = await memories.async_add([said(" The dog\n\nis called\tBruno\x00 ")])
    assert added.memory is not None
    assert added.memory.content == "The dog is called Bruno"


@pytest.mark.parametrize(("language", "memory", "question"), [
    ("en", "Anna is allergic to nuts", "What may Anna not eat?"),
    ("en", "Mum takes her coffee black", "How does my mother want her espresso?"),
    ("de", "Der Ersatzschlüssel hängt im Keller", "Wo ist der Schlüssel aufbewahrt?"),
    ("de", "Jonas hat eine Haselnussallergie", "Was darf Jonas nicht essen?"),
    ("ru", "У бабушки день рождения 4 мая", "Когда родилась бабуля?"),
])  # fmt: skip
async def test_asked_in_other_words(memories: Memories, language: str, memory: str, question: str) -> None:
    """Words that are about the same find a memory that has none of them."""
    others = ("Leo plays the violin", "Der Rasenmäher ist bei Robert", "Интернет у нас от Ростелекома")
    for text, code in ((memory, language), *zip(others, ("en", "de", "ru"), strict=True)):
        await memories.async_add([said(text, language=code)])
    found = await memories.async_find(question, HOUSE, language=language)
    assert [item.memory.content for item in found][:1] == [memory]


async def test_a_name_alone_is_less_than_what_is_asked(memories: Memories) -> None:
    """A memory that only has the name in a question does not answer it."""
    for text in ("At home Kelly sings loudly", "On Fridays Kelly works until ten"):
        await memories.async_add([said(text)])
    found = await memories.async_find("When does Kelly finish work?", HOUSE)
    assert found[0].memory.content.endswith("until ten")
    assert await memories.async_find("Which shoe size and which jacket size does Kelly have?", HOUSE) == []


async def test_of_two_equally_near_the_newest_is_first(memories: Memories, freezer: FrozenDateTimeFactory) -> None:
    """Else chance decides which is told where there is room for one."""
    days = ("Mondays", "Fridays", "Sundays")
    for day in days:
        freezer.tick(60)
        await memories.async_add([said(f"Leo has judo on {day}")])
    told = await contents(memories, "When does Leo have judo?", limit=2)
    assert told == [f"Leo has judo on {day}" for day in reversed(days[1:])]


async def test_changed_and_deleted(memories: Memories) -> None:
    [added] = await memories.async_add([said(TEA)])
    assert added.memory is not None
    told: list[int] = []
    stop = memories.async_listen(lambda _: told.append(len(memories.of(None))))
    await memories.async_update(added.memory.id, content="Grandma Ilse drinks only cocoa", importance=0.9)
    assert await contents(memories, "cocoa") == ["Grandma Ilse drinks only cocoa"]
    assert await contents(memories, "mint") == []
    assert await memories.async_delete([added.memory.id, "no such"]) == 1
    assert [*dict.fromkeys(told)] == [1, 0]
    stop()
    with pytest.raises(MemoriesError):
        await memories.async_update(added.memory.id, importance=1.0)


async def test_an_owner_is_cleared(memories: Memories) -> None:
    await memories.async_add([said(KEY), said(TEA, owner="anna"), said("Leo plays chess", owner="leo")])
    assert [memory.owner for memory in memories.of(Scope(owners=frozenset({None, "anna"}), owner="anna"))] == [
        None,
        "anna",
    ]
    assert await memories.async_clear("anna") == 1
    assert await memories.async_clear(None) == 1
    assert await memories.async_clear(ALL) == 1
    assert memories.is_empty


async def test_a_search_stays_in_its_scope(memories: Memories) -> None:
    await memories.async_add([said("The piano code word is tulip", owner="anna")])
    assert await contents(memories, "piano code word") == []
    assert await contents(memories, "piano code word", Scope(owners=frozenset({"leo", None}), owner="leo")) == []
    assert await contents(memories, "piano code word", Scope(owners=frozenset({"anna"}), owner="anna"))


def test_every_field_comes_back_as_it_was_written() -> None:
    now = dt_util.utcnow()
    memory = Memory(
        id="1",
        type=MemoryType.EVENT,
        content=KEY,
        owner="anna",
        source=MemorySource.SERVICE,
        importance=0.25,
        extracted_at=now,
        last_accessed=now,
        accesses=3,
        expires_at=now,
        is_transient=True,
        source_conversation_id="2",
        language="de",
        metadata={"topics": ["keys"], "tainted": ["web"]},
        replaced_by="3",
        replaced_at=now,
    )
    assert Memory.from_dict(memory.as_dict()) == memory
    assert set(memory.as_dict()) == set(Memory.__slots__)


async def test_what_has_expired_goes_first_for_room(hass: HomeAssistant, freezer: FrozenDateTimeFactory) -> None:
    await set_up(hass, options={"memory": {"max_memories": 2}})
    memories = kept_of(hass, Memories)
    until = dt_util.utcnow() + timedelta(hours=1)
    await memories.async_add([said("Uncle Karl sleeps in the attic this week", expires_at=until), said(KEY)])
    [full] = await memories.async_add([said("Leo collects stamps of Brazil")])
    assert full.reason == "full"
    freezer.tick(timedelta(hours=2))
    [added] = await memories.async_add([extracted("Leo collects stamps of Brazil", importance=0.1)])
    assert added.outcome == "added"
    assert sorted(item.content for item in memories.of(None)) == ["Leo collects stamps of Brazil", KEY]


async def test_topics_of_a_memory_are_words_that_find_it(hass: HomeAssistant, memories: Memories) -> None:
    topics: dict[str, Any] = {"topics": ["allergie", "nourriture"]}
    content = "Rosa ne digère pas les noix de cajou"
    await memories.async_add([extracted(content, language="fr", metadata=topics)])
    await memories.async_add([extracted("Le vélo de Leo est dans la cave", language="fr")])
    question = "Qui a une allergie ?"
    assert [item.memory.content for item in await memories.async_find(question, HOUSE, language="fr")] == [content]
    [merged] = await memories.async_add([extracted(content, language="fr", metadata={"topics": ["cacahuètes"]})])
    assert merged.outcome == "merged"
    found = await memories.async_find("Qui parle de cacahuètes ?", HOUSE, language="fr")
    assert [item.memory.content for item in found] == [content]


async def test_a_word_is_found_within_a_longer_one(memories: Memories) -> None:
    spare, bike = "De reservesleutel hangt achter de ketel", "De fiets van Leo staat in de kelder"
    await memories.async_add([extracted(line, language="nl") for line in (spare, bike)])
    assert await contents(memories, "Waar ligt de sleutel?", language="nl") == [spare]
    [key] = [memory for memory in memories.of(None) if memory.content == spare]
    await memories.async_delete([key.id])
    assert await contents(memories, "Waar ligt de sleutel?", language="nl") == []


@pytest.mark.usefixtures("no_collection")
async def test_a_long_history_is_dropped_in_linear_time(hass: HomeAssistant, memories: Memories) -> None:
    """Each of them replaced the one before; the last one is deleted."""

    async def seconds(length: int) -> float:
        now = dt_util.utcnow()
        drafts = [said(f"The key number {one} hangs in the hall").as_memory(now, days=0) for one in range(length)]
        followed = [replace(one, replaced_by=after.id, replaced_at=now) for one, after in pairwise(drafts)]
        memories.put(*followed, drafts[-1])
        begun = time.thread_time()
        await memories.async_delete([drafts[-1].id])
        taken = time.thread_time() - begun
        assert not memories.of(None, with_history=True)
        return taken

    short, long = [min([await seconds(length) for _ in range(3)]) for length in (500, 4000)]
    assert long < 24 * short + 0.02


async def test_a_stored_interval_that_is_no_number_is_the_default(
    hass: HomeAssistant, caplog: pytest.LogCaptureFixture
) -> None:
    entry = await set_up(hass)
    hass.config_entries.async_update_entry(entry, options={**entry.options, "memory": {"cleanup_interval": "x"}})
    await hass.async_block_till_done()
    assert kept_of(hass, Memories).settings.cleanup_interval == 24
    assert caplog.text.count("memory.cleanup_interval") == 1
    assert "Traceback" not in caplog.text
