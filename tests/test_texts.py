"""What people read: the rules of Home Assistant's checker and style, and the words that were given up."""

from copy import deepcopy
from pathlib import Path
import re
from typing import Any

import pytest

from scripts import _texts

EN = _texts.translations()["en"]


def test_nothing_is_wrong_with_the_texts() -> None:
    assert _texts.problems() == []


@pytest.mark.parametrize(("path", "text", "problem"), [
    pytest.param("config.step.user.title", "Set up Home Agent", None, id="a label"),
    pytest.param("config.step.user.title", " Set up", "blank", id="a blank in front"),
    pytest.param("config.step.user.title", "", "empty", id="nothing"),
    pytest.param("config.step.user.title", "Set up.", "full stop", id="a label with a full stop"),
    pytest.param("config.step.user.data.url", "Address:", "full stop", id="a label with a colon"),
    pytest.param("options.step.init.menu_options.url", "Network.", "full stop", id="a choice of a menu"),
    pytest.param("config.step.user.title", "Set Up Home Agent", "sentence case", id="a label in title case"),
    pytest.param("issues.x.title", "{host} is Failing", "sentence case", id="a title in title case"),
    pytest.param("config.step.user.title", "set up", "small letter", id="a small letter at the start"),
    pytest.param("issues.x.title", "{host} is failing", None, id="a placeholder at the start"),
    pytest.param("exceptions.x.message", "Nothing was done", "like a sentence", id="a sentence without its end"),
    pytest.param("exceptions.confirm_unlock.message", "unlock {names}", None, id="a part of a sentence"),
    pytest.param("exceptions.x.message", "Failed: {detail}", None, id="a reason at the end"),
    pytest.param("config.step.user.data_description.x", "The <b>name</b>.", "HTML", id="HTML"),
    pytest.param("config.step.user.description", "See https://example.com.", "address", id="an address"),
    pytest.param("exceptions.x.message", "No '{name}' here.", "quotes", id="a placeholder in quotes"),
    pytest.param("exceptions.x.message", "No “{name}” here.", "quotes", id="a placeholder in curved quotes"),
    pytest.param("exceptions.x.message", "No {} here.", "placeholder without", id="a placeholder without a name"),
    pytest.param("exceptions.x.message", "No { here.", "cannot be filled in", id="a brace alone"),
    pytest.param("exceptions.Big.message", "No.", "lower case", id="a key in capitals"),
    pytest.param("exceptions.x.message", "[%key:common::x%].", "common text", id="a common text"),
])  # fmt: skip
def test_rules_of_one_text(path: str, text: str, problem: str | None) -> None:
    texts: dict[str, Any] = {}
    *above, last = path.split(".")
    inner = texts
    for key in above:
        inner = inner.setdefault(key, {})
    inner[last] = text
    found = list(_texts.wrong_texts("en", texts))
    assert (problem or "") in "".join(found)
    assert bool(found) == bool(problem)


def test_capitals_are_only_counted_in_english() -> None:
    nouns = {"config": {"step": {"user": {"title": "Dein Neues Zuhause"}}}}
    assert list(_texts.wrong_texts("en", nouns))
    assert not list(_texts.wrong_texts("de", nouns))


def without(texts: dict[str, Any], *path: str) -> dict[str, Any]:
    """Return a copy of the texts that lacks one."""
    copy = deepcopy(texts)
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return copy


def test_german_may_lack_nothing_and_another_language_a_little() -> None:
    shorter = without(EN, "exceptions", "llm_auth")
    assert list(_texts.wrong_against_english("de", shorter, EN)) == ["de: exceptions.llm_auth.message is missing"]
    assert not list(_texts.wrong_against_english("fi", shorter, EN))
    (problem,) = _texts.wrong_against_english("fi", {"exceptions": EN["exceptions"]}, EN)
    assert "scripts/texts fi lists them" in problem


def test_a_text_that_english_does_not_have() -> None:
    assert list(_texts.wrong_against_english("fi", EN, without(EN, "exceptions", "llm_auth"))) == [
        "fi: exceptions.llm_auth.message is not in English"
    ]


def test_placeholders_are_the_same_in_each_language() -> None:
    other = deepcopy(EN)
    other["exceptions"]["llm_auth"]["message"] = "{server} hat den Schlüssel abgelehnt."
    (problem,) = _texts.wrong_against_english("de", other, EN)
    assert "exceptions.llm_auth.message has other placeholders" in problem


@pytest.mark.parametrize(("texts", "problem"), [
    ({"config": {"step": {"user": {"data": {}, "data_description": {"name": "N."}}}}}, "does not ask for: name"),
    ({"options": {"step": {"init": {"menu_option_descriptions": {"a": "A"}}}}}, "does not offer: a"),
    ({"config": {"step": {"user": {"sections": {"more": {"data": {}}}}}}}, "a section without a name"),
    ({"config_subentries": {"llm": {"entry_type": "Model"}}}, "initiate_flow.user"),
    ({"issues": {"x": {"title": "X", "description": "X.", "fix_flow": {}}}}, "either a description or a fix_flow"),
    ({"issues": {"x": {"title": "X"}}}, "either a description or a fix_flow"),
    ({"services": {"x": {"name": "X"}}}, "services.x needs a name and a description"),
    (
        {"services": {"x": {"name": "X", "description": "X.", "fields": {"y": {"name": "Y"}}}}},
        "services.x.fields.y needs",
    ),
    ({"exceptions": {"x": {"message": "X.", "title": "X"}}}, "something else than a message"),
])  # fmt: skip
def test_parts_of_a_form(texts: dict[str, Any], problem: str) -> None:
    (found,) = (*_texts.wrong_steps("en", texts), *_texts.wrong_parts("en", texts))
    assert problem in found


def test_actions_are_described_twice() -> None:
    texts: dict[str, Any] = {"services": {"one": {"fields": {"a": {}}}}}
    assert not list(_texts.wrong_actions(texts, {"one": {"fields": {"a": {}}}}))
    assert len(list(_texts.wrong_actions(texts, {"one": {"fields": {"b": {}}}}))) == 2
    assert len(list(_texts.wrong_actions(texts, {"two": None}))) == 2


@pytest.mark.parametrize(("language", "text", "found"), [
    ("en", "Ask the house first", ["Ask the house first", "house"]),
    ("en", "Settings of the house", ["Settings of the house", "house"]),
    ("en", "Actions of Home Assistant", ["Actions of Home Assistant"]),
    ("en", "Choose a voice assistant of Home\nAssistant.", []),
    ("en", "How the assistant is called", ["How the assistant is called", "assistant"]),
    ("en", "Unlock Front Door, now locked?", [", now locked"]),
    ("en", "It says what it will do.", []),
    ("en", "Any server will do.", ["will do"]),
    ("de", "Eine Vorlage", ["Vorlage"]),
    ("de", "Einstellungen > Geräte & Dienste", []),
    ("de", "Ein Dienst und ein Sprachassistent", ["Dienst"]),
    ("de", "Einstellungen des Hauses", ["Einstellungen des Hauses", "Hauses"]),
])  # fmt: skip
def test_words_that_were_given_up(language: str, text: str, found: list[str]) -> None:
    words = _texts.old_words()[language]
    assert [written for word in words for _, written in word.found(text)] == found


def test_words_are_looked_for_in_documents_but_not_in_code() -> None:
    page = "One\n\n```text\nAsk the house first\n```\n\n[`house`](house.md) and\nthe house"
    words = _texts.old_words()["en"]
    assert list(_texts.old_words_in("page", _texts.prose(page), words, dialog=False)) == [
        "page:8: 'house' is called 'home' now"
    ]


GIVEN_UP = {
    "en": """Settings of the house|Who answers|What the model knows of the house|Other computers|Looking things up|Ask the house first
The first model|None: the house answers by itself|How the assistant is called|Anything that speaks the API of OpenAI will do
it has to know tool calls|Longest silence|Outside the house|Continue without this check|Fields show what applies now
Only these|Time to follow|Questions by automations|Request to another computer|Action of Home Assistant|What its kind suggests
Tools of Home Assistant|Sum up what is dropped|Unlock Front Door, now locked?|As before again: the light.|Already as before: the light.
I know nothing called all the doors.|Please say yes together with the PIN.|In fact I have not carried out anything
Agent is asked without end|does not come to an end of its answer|has a problem of its own|Lets conversations start anew
What every assistant is told about your home and its manners|Word by word, events|Names may lead into the house|Open to all
A small house is told whole|Take that back.""",
    "de": """Einstellungen des Hauses|Wer antwortet|Andere Rechner|Front Door entriegeln, jetzt verriegelt?|Vorlage|Dienste (Sicherheit)
Verzeichnisdatei|ID der Unterhaltung|Zeit zum Folgen|Längste Stille|Zurückgestellt, aber nicht bestätigt|Ich kenne nichts namens Und.""",
}


@pytest.mark.parametrize(
    ("language", "text"), [(language, text) for language, rows in GIVEN_UP.items() for text in re.split(r"[|\n]", rows)]
)
def test_each_text_that_was_given_up_is_found(language: str, text: str) -> None:
    assert any(word.found(text) for word in _texts.old_words()[language])


def test_a_contributor_sees_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    _texts.show_missing("xx")
    shown = capsys.readouterr()
    assert "config.step.user.title\n    Set up Home Agent" in shown.out
    assert shown.err.startswith("xx: 0 of ")
    _texts.show_missing("de")
    assert capsys.readouterr().out == ""


def _module(tmp_path: Path, source: str) -> Path:
    room = tmp_path / "somewhere"
    room.mkdir()
    (room / "module.py").write_text(source, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("source", [
    pytest.param('"""Return what whoever asks may see."""\n', id="a docstring"),
    pytest.param("LIMIT = 3  # nobody waits longer\n", id="a comment"),
    pytest.param('said = "Nobody can be asked."\n', id="a text for a model"),
    pytest.param('said = f"{name}: somebody has to say it."\n', id="a text with a placeholder"),
    pytest.param('def read():\n    """Read it.\n\n    None when it is\n    none.\n    """\n', id="across two lines"),
])  # fmt: skip
def test_words_given_up_in_code_are_found(tmp_path: Path, source: str) -> None:
    problem, line = _texts.wrong_code(_module(tmp_path, source))
    assert problem.startswith("somewhere: 1 words")
    assert line.startswith("somewhere/module.py:")


def test_names_in_code_are_no_words(tmp_path: Path) -> None:
    assert not list(_texts.wrong_code(_module(tmp_path, "nobody = whoever(somebody)\n")))
