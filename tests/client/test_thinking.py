"""Thinking and answer in one text, cut anywhere."""

import time

import pytest

from custom_components.home_agent.client.stream import Delta, ThinkingSplitter


def split(*pieces: str, begins_inside: bool = False) -> tuple[str, str]:
    splitter = ThinkingSplitter(undecided=begins_inside)
    deltas = [delta for piece in pieces for delta in splitter.feed(piece)] + splitter.finish()
    assert all(text for delta in deltas for text in delta.values())
    return "".join(delta.get("thinking_content") or "" for delta in deltas), said(deltas)


def said(deltas: list[Delta]) -> str:
    return "".join(delta.get("content") or "" for delta in deltas)


@pytest.mark.parametrize(("text", "thinking", "answer"), [
    ("It is on.", "", "It is on."),
    ("<think>Hm.</think>\n\nIt is on.", "Hm.", "It is on."),
    ("\n<think>\nHm. 1 < 2</think>It is on.", "\nHm. 1 < 2", "It is on."),
    ("On.<think>Hm.</think> Off.<think>Ah.</think>", "Hm.Ah.", "On. Off."),
    ("<think></think>It is on.", "", "It is on."),
    ("1 < 2 and <b>bold</b> <thin", "", "1 < 2 and <b>bold</b> <thin"),
    ("<think>Hm. </thin", "Hm. </thin", ""),
], ids=["none", "first", "blank before", "twice", "empty", "look-alikes", "unclosed"])  # fmt: skip
def test_every_way_of_cutting_gives_the_same(text: str, thinking: str, answer: str) -> None:
    assert split(text) == (thinking, answer)
    assert split(*text) == (thinking, answer)
    for cut in range(len(text)):
        assert split(text[:cut], text[cut:]) == (thinking, answer)


def test_text_is_passed_on_at_once() -> None:
    splitter = ThinkingSplitter()
    assert splitter.feed("It is") == [{"content": "It is"}]
    assert splitter.feed(" on <") == [{"content": " on "}]
    assert splitter.feed("3 lights") == [{"content": "<3 lights"}]


def test_an_answer_that_begins_inside_thinking_is_told_apart() -> None:
    for pieces in (["Hm.</think>It is on."], list("Hm.</think>It is on.")):
        assert split(*pieces, begins_inside=True) == ("Hm.", "It is on.")
    assert split("<think>Hm.</think>", "It is on.", begins_inside=True) == ("Hm.", "It is on.")
    assert split("It is", " on.", begins_inside=True) == ("", "It is on.")


def test_a_closing_tag_alone_is_remembered_and_not_said() -> None:
    splitter = ThinkingSplitter()
    first = splitter.feed("Hm. ")
    rest = splitter.feed("So.</think>It is on.")
    assert splitter.stray_close
    assert said([*first, *rest]) == "Hm. So.It is on."
    assert split("Hm.</think>It is on.") == ("Hm.", "It is on.")


@pytest.mark.usefixtures("no_collection")
def test_what_is_held_back_is_searched_once() -> None:
    def seconds(pieces: int) -> float:
        splitter = ThinkingSplitter(undecided=True)
        began = time.process_time()
        for _ in range(pieces):
            splitter.feed("a word ")
        took = time.process_time() - began
        assert splitter.finish() == [{"content": "a word " * pieces}]
        return took

    assert seconds(40_000) < 1  # searched again and again: ten seconds and more


def test_nothing_is_held_back_once_the_server_separates_thinking_itself() -> None:
    splitter = ThinkingSplitter(undecided=True)
    splitter.begins_outside()
    assert splitter.feed("It is") == [{"content": "It is"}]
    late = ThinkingSplitter(undecided=True)
    assert late.feed("It ") == late.feed("is <") == []
    late.begins_outside()
    assert late.feed(" on") == [{"content": "It is < on"}]
