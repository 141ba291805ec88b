"""What of an answer is shown at once, and what waits because a tool call may begin there."""

import pytest

from custom_components.home_agent.client.held_text import MAX_HELD, HeldText

NAMES = ["ha_control", "ha_query"]


def fed(*pieces: str) -> tuple[list[str], HeldText]:
    text = HeldText(NAMES)
    return [text.feed(piece) for piece in pieces], text


@pytest.mark.parametrize("answer", [
    "The light is on.", "All lights are off.", "have a look", "It is 21 °C.", "Action is needed.", "Printing works.",
    "1. One\n2. Two", "* One", "- One\n- Two", "| a | b |", "# Title", "a < b and b > c", "[1] is a note", "> A quotation",
    "Der Flur ist hell.", "„Ja“, sagt sie.", "(No.)", "$5", "5 {sic}", "Use `ha_control` for that.", "**Bold**",
])  # fmt: skip
def test_an_answer_is_shown_as_it_comes(answer: str) -> None:
    pieces = [f"{word} " for word in answer.split(" ")]
    shown, text = fed(*pieces)
    assert "".join(shown) == "".join(pieces)
    assert all(shown)
    assert not text.held


@pytest.mark.parametrize("answer", [
    "```yaml\nlight: on\n```", "```bash\nls\n```", "[a link](https://example.com)", "<b>bold</b>", "[x] done", "``code``",
    "hall lights are on", "<3",
])  # fmt: skip
def test_what_only_resembles_a_call_is_shown_when_that_is_certain(answer: str) -> None:
    shown, text = fed(*answer, *" and more of it")
    assert "".join(shown) == f"{answer} and more of it"
    assert not text.is_holding


@pytest.mark.parametrize("begin", [
    "{", "{\n", '{"name', "[", "[{", "[ha", "<", "<tool", "<|", "<｜tool", "`", "``", "```", "```json", "```json\n", "```json\n{",
    "[TOOL", "[TOOL_CALLS]", ">", ">>>ha", "A", "Action:", "functools[", "ha_control", "ha_control\n{", "  {", "\n\n{", "```tool_code\nha",
])  # fmt: skip
def test_what_may_begin_a_call_is_never_shown(begin: str) -> None:
    shown, text = fed(*begin)
    assert not "".join(shown).strip()
    assert text.held.strip() == begin.strip()


def test_text_before_a_call_is_shown_and_the_call_held() -> None:
    shown, text = fed("I'll do ", "that.\n", "<tool", "_call>", "\n{", '"name"')
    assert shown == ["I'll do ", "that.\n", "", "", "", ""]
    assert text.held == '<tool_call>\n{"name"'
    assert text.shown == "I'll do that.\n"


def test_a_text_that_goes_on_and_on_is_no_call() -> None:
    shown, text = fed("{", *['"a": 1, ' * 100] * 20)
    assert not "".join(shown)
    assert text.overflowed
    assert len(text.held) == MAX_HELD
