"""The words of all entities in memory."""

import pytest

from custom_components.home_agent.search.entity_documents import EntityDocument
from custom_components.home_agent.search.lexical import Lexicon
from custom_components.home_agent.search.ranking import Ranker


def light(object_id: str, name: str, **more: object) -> EntityDocument:
    return EntityDocument(entity_id=f"light.{object_id}", names=(name,), **more)  # type: ignore[arg-type]


def test_the_word_itself_is_nearer_than_its_forms() -> None:
    lexicon = Lexicon()
    exact, plain, other = lexicon.number("küche"), lexicon.number("kuche"), lexicon.number("küchen")
    alike = lexicon.alike("küche")
    assert alike[exact] > alike[plain] > alike[other] > 0.8


def test_a_new_word_is_found_at_once() -> None:
    lexicon = Lexicon()
    assert not lexicon.alike("zeppelin")
    number = lexicon.number("zeppelin")
    assert lexicon.alike("zeppelin") == {number: 1.0}


def test_an_entity_is_replaced_and_removed() -> None:
    index = Ranker([light("one", "Desk")])
    index.change((), [light("one", "Shelf")])
    assert [document.names for document in index.table.documents] == [("Shelf",)]
    index.change(["light.one"], ())
    index.change(["light.one"], ())
    assert index.table.size == 0


def test_rare_words_weigh_more() -> None:
    lights = [light(f"l{number}", "Ceiling light") for number in range(20)]
    index = Ranker([*lights, light("z", "Zeppelin light")])
    weight = {word: index.table.weights[index.lexicon.number(word)] for word in ("zeppelin", "ceiling", "light")}
    assert weight["zeppelin"] > weight["ceiling"] >= weight["light"] > 0


def test_names_of_all_sorts_can_be_indexed() -> None:
    names = ("", "   ", "!!!", "x" * 500, "💡💡💡", "{{ states('lock.door') }}", "\u202eabc", "灯" * 500, "a\nb\tc")
    index = Ranker(light(f"l{number}", name) for number, name in enumerate(names))
    assert index.table.size == len(names)


@pytest.mark.parametrize("count", [1, 50])
def test_more_names_than_anyone_says_are_cut(count: int) -> None:
    names = tuple(f"Lamp {number}" for number in range(count * 10))
    index = Ranker([EntityDocument(entity_id="light.a", names=names)])
    assert index.table.name_words.size <= 40
