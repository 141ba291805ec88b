"""What words are about, in the languages that have concepts."""

import pytest

from custom_components.home_agent.languages.concepts import WIDER, meaning_of, names_in
from custom_components.home_agent.languages.data import all_data, data_of
from custom_components.home_agent.support.text import fold, normalized


@pytest.mark.parametrize(("language", "word", "concepts"), [
    ("en", "allergic", {"allergy"}), ("en-GB", "monday", {"weekday", "time"}),
    ("de", "haselnussallergie", {"food", "allergy"}), ("de", "Großmutter", {"family"}), ("ru", "бабушке", {"family"}),
    ("en", "cathedral", set[str]()), ("de", "Schweinsbraten", {"meat"}), ("ru", "городе", {"country"}),
])  # fmt: skip
def test_what_a_word_is_about(language: str, word: str, concepts: set[str]) -> None:
    found = meaning_of(language, fold(normalized(word)))
    assert concepts <= found.concepts if concepts else not found
    assert found.wider.isdisjoint(found.concepts)


def test_words_for_the_same_share_a_group() -> None:
    same = meaning_of("en", "mum").groups & meaning_of("en", "mother").groups
    assert same
    assert same.isdisjoint(meaning_of("en", "dad").groups)


def test_names() -> None:
    assert names_in("On Fridays Kelly's brother Bayo cooks", "en") == {"kellys", "bayo"}
    assert names_in("Im Keller steht Tareks Fahrrad", "de") == {"tareks"}


def test_concepts_are_those_of_english() -> None:
    known = set(data_of("en").concepts)
    assert len(known) > 80
    assert set(WIDER) | {name for names in WIDER.values() for name in names} <= known
    for code, data in all_data().items():
        assert set(data.concepts) <= known, code
        for concept, groups in data.concepts.items():
            for group in groups:
                entries = group.split()
                assert len(entries) == len(set(entries)), (code, concept, group)
