"""Passages are found by words, in any language, and what is about something else is not."""

import pytest

from custom_components.home_agent.search import passage_search
from custom_components.home_agent.search.passage_search import WordIndex

TEXTS = {
    "coffee": "Coffee machine > Descaling\nPour the descaler into the tank and hold the steam button for five seconds.",
    "wifi": "The guest network is called Garden. Its password is sunflower-seven.",
    "waste": "Die Papiertonne wird jeden zweiten Dienstag geleert, die Biotonne jeden Mittwoch.",
    "boiler": "Нажмите кнопку сброса на котле и подождите пять минут.",
    "heating": "暖房のフィルターは毎月掃除してください。",
    "pool": "La pompe de la piscine tourne quatre heures par jour en été.",
}


@pytest.mark.parametrize(("question", "wanted"), [
    ("How do I descale the coffee machine?", "coffee"), ("what is the wifi password for guests", "wifi"),
    ("Wann wird die Papiertonne geleert?", "waste"), ("как сбросить котёл кнопкой сброса", "boiler"),
    ("暖房のフィルターの掃除", "heating"), ("combien d'heures tourne la pompe de la piscine", "pool"),
])  # fmt: skip
def test_the_passage_that_answers_comes_first(question: str, wanted: str) -> None:
    assert [key for key, _ in WordIndex(TEXTS).find(question, 5)][:1] == [wanted]


@pytest.mark.parametrize(
    "request_", ["turn on the bedroom light", "Wie spät ist es?", "", "🎉", "set a timer for ten minutes"]
)
def test_what_is_about_something_else_finds_nothing(request_: str) -> None:
    assert WordIndex(TEXTS).find(request_, 5) == []


def test_words_that_say_nothing_do_not_count() -> None:
    index = WordIndex({"wifi": TEXTS["wifi"]})
    assert index.find("what is the temperature in the garden", 5, {"is", "the", "in"}) == []
    assert index.find("is the in", 5, {"is", "the", "in"}) == []


def test_a_word_of_all_passages_is_found_where_there_are_few() -> None:
    index = WordIndex({"plumber": "Plumber\nThe plumber is Hans.", "invoice": "What the plumber charged: 120 euros."})
    assert {key for key, _ in index.find("who is our plumber?", 5, {"is", "who"})} == {"plumber", "invoice"}
    assert index.find("what is our weather?", 5, {"is", "what"}) == []


def test_what_changed_or_is_gone_is_not_found_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_search, "_SPARE", 2)
    index = WordIndex(TEXTS)
    now = {**TEXTS, "wifi": "The guest network is called Meadow."}
    del now["coffee"]
    gone, new = index.difference(now)
    assert (gone, new) == (["coffee"], ["wifi"])
    for _ in range(20):  # often enough for everything to be numbered anew
        index.change(gone, {key: now[key] for key in new})
    assert index.difference(now) == ([], [])
    assert index.find("descaler steam button", 5) == []
    assert index.find("garden", 5) == []
    assert [key for key, _ in index.find("guest meadow", 5)] == ["wifi"]
    assert [key for key, _ in index.find("Wann wird die Papiertonne geleert?", 5)] == ["waste"]


def test_the_limit_holds() -> None:
    index = WordIndex({str(number): f"pump number {number}" for number in range(50)})
    assert len(index.find("pump", 5)) == 5
