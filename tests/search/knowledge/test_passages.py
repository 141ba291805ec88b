"""Text becomes passages: short enough, whole where possible, each with the headings above it."""

import pytest

from custom_components.home_agent.search.passages import (
    MAX_PASSAGE,
    DocumentSection,
    pieces,
    sections_of_markdown,
    split,
)

from .conftest import COFFEE


def test_each_heading_leads_the_way() -> None:
    found = [(item.heading, item.text) for item in split(sections_of_markdown(COFFEE))]
    assert [heading for heading, _ in found] == [
        "Coffee machine", "Coffee machine > Descaling", "Coffee machine > Grinder",
    ]  # fmt: skip
    assert found[2][1] == "Set the grinder to step 4 for espresso."


def test_a_sibling_ends_what_is_deeper() -> None:
    text = "# A\n## B\n### C\nx\n## D\ny"
    assert [item.heading for item in split(sections_of_markdown(text))] == ["A > B > C", "A > D"]


def test_code_and_front_matter_are_no_headings() -> None:
    text = "---\ntitle: x\n# no\n---\n# Yes\n```sh\n# a comment\n```\nafter"
    found = split(sections_of_markdown(text))
    assert [(item.heading, "# a comment" in item.text, "title" in item.text) for item in found] == [
        ("Yes", True, False)
    ]


@pytest.mark.parametrize("text", [
    "word " * 2000, "A sentence of eight words stands here alone. " * 100, "漢字。" * 1000, "x" * 5000, "a\n" * 3000,
], ids=["words", "sentences", "without spaces", "one word", "lines"])  # fmt: skip
def test_no_piece_is_too_long_and_nothing_is_lost(text: str) -> None:
    found = pieces(text)
    assert max(map(len, found)) <= MAX_PASSAGE
    assert "".join("".join(found).split()) == "".join(text.split())
    assert len(found) < 2 + 1.3 * len(text) / MAX_PASSAGE


def test_paragraphs_stay_whole_where_they_fit() -> None:
    paragraphs = [f"{number} " + "word " * 100 for number in range(5)]
    assert all(item.startswith(("0 ", "1 ", "2 ", "3 ", "4 ")) for item in pieces("\n\n".join(paragraphs)))


def test_pages_are_kept() -> None:
    assert [
        (item.page, item.text) for item in split([DocumentSection("", page=1), DocumentSection("Two", page=2)])
    ] == [(2, "Two")]


def test_a_heading_that_is_all_there_is() -> None:
    text = "# Codes\n## The gate: blue\n## The shed\nIt is green.\n# The attic: red\n"
    found = [(item.heading, item.text) for item in split(sections_of_markdown(text))]
    assert found == [("Codes", "The gate: blue"), ("Codes > The shed", "It is green."), ("", "The attic: red")]
