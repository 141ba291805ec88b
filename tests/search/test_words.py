"""Text as it is compared, in every script."""

import pytest

from custom_components.home_agent.support.nearness import likeness
from custom_components.home_agent.support.text import MAX_TEXT, MAX_WORD, fold, words


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("Küchenlicht AN!", ["küchenlicht", "an"], id="case and marks"),
    pytest.param("l'entrée", ["l", "entrée"], id="elision"),
    pytest.param("dell'ufficio, nell’angolo", ["dell", "ufficio", "nell", "angolo"], id="Italian elision"),
    pytest.param("they'll all'", ["theyll", "all"], id="no elision"),
    pytest.param("зв'язок", ["звязок"], id="an apostrophe that parts no words"),
    pytest.param("the kid’s room", ["the", "kids", "room"], id="genitive"),
    pytest.param("TV-Gerät_2", ["tv", "gerät", "2"], id="hyphen and underscore"),
    pytest.param("ｌｉｇｈｔ ①", ["light", "1"], id="wide and circled"),
    pytest.param("厨房灯", ["厨房", "房灯"], id="no spaces: pairs"),
    pytest.param("灯", ["灯"], id="one character"),
    pytest.param("Philips灯", ["philips", "灯"], id="two scripts in a row"),
    pytest.param("रसोई की लाइट", ["रसोई", "की", "लाइट"], id="vowel signs"),
    pytest.param("אור במטבח", ["אור", "במטבח"], id="right to left"),
    pytest.param("\u200eLamp\u200f \u202eone\u202c", ["lamp", "one"], id="marks of direction"),
    pytest.param("💡 Lamp", ["💡", "lamp"], id="emoji"),
    pytest.param("👨‍👩‍👧 room", ["👨", "👩", "👧", "room"], id="joined emoji"),
    pytest.param("\u0000\ud800", [], id="no text at all"),
    pytest.param("", [], id="empty"),
])  # fmt: skip
def test_words_of_a_text(text: str, expected: list[str]) -> None:
    assert [word for word in words(text) if word.strip("\u200d")] == expected


def test_long_texts_are_cut() -> None:
    assert len("".join(words("x" * 5000))) == MAX_WORD
    assert len(words("ab " * 5000)) <= MAX_TEXT // 3 + 1


@pytest.mark.parametrize(("one", "other"), [
    ("für", "fur"), ("Łódź", "lodz"), ("Straße", "strasse"), ("отопле́ние", "отопление"), ("مِصْباح", "مصباح"),
    ("שָׁלוֹם", "שלום"),
])  # fmt: skip
def test_marks_that_people_leave_out_are_folded(one: str, other: str) -> None:
    assert fold(words(one)[0]) == fold(words(other)[0])


def test_vowel_signs_are_not_accents() -> None:
    assert fold("की") != fold("का")


@pytest.mark.parametrize(("one", "other", "least"), [
    pytest.param("light", "lights", 0.9, id="plural"),
    pytest.param("кухня", "кухню", 0.85, id="case ending"),
    pytest.param("konyha", "konyhaban", 0.7, id="suffix"),
    pytest.param("kuchenlicht", "licht", 0.7, id="head of a compound"),
    pytest.param("thermostat", "termostat", 0.5, id="slip of the pen"),
])  # fmt: skip
def test_forms_of_a_word_are_alike(one: str, other: str, least: float) -> None:
    assert likeness(one, other) >= least
    assert likeness(other, one) == likeness(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("room", "roof"), ("lamp", "lock"), ("2", "22"), ("bed", "bedroom"), ("garage", "garden")]
)
def test_other_words_are_not(one: str, other: str) -> None:
    assert likeness(one, other) < 0.6
