"""What a voice says of an answer: the words, whatever the layout and however the model cut it."""

from collections.abc import AsyncGenerator
import random

from homeassistant.components.conversation import AssistantContentDeltaDict
from homeassistant.helpers import llm
import pytest

from custom_components.home_agent.speech import SpeechFilter, speakable, speakable_text

SPOKEN = {
    "plain": ("The light is on.", "The light is on."),
    "one word": ("On", "On"),
    "nothing": ("", ""),
    "only layout": ("***\n\n---\n", ""),
    "bold and italic": ("**Note:** the *red* light is ***off*** (*really*).", "Note: the red light is off (really)."),
    "emphasis with underscores": ('_Now_ and __here__, "_there_".', 'Now and here, "there".'),
    "emphasis left open": ("a **bold", "a bold"),
    "emphasis over two lines": ("**all\nof it** and on", "all of it and on"),
    "emphasis inside a word": ("**Wohn**zimmer", "Wohnzimmer"),
    "strikethrough": ("~~20~~ 21 degrees", "20 21 degrees"),
    "about, not strikethrough": ("~5 km", "~5 km"),
    "blank to fill in": ("Name: ____ .", "Name: ."),
    "arithmetic": ("2*3, 2 * 3, 2**3 and 4_000", "2*3, 2 * 3, 2**3 and 4_000"),
    "gender star": ("Bewohner*innen", "Bewohner*innen"),
    "footnote star": ("5 €*", "5 €*"),
    "entity ids": ("light.kitchen_lights, sensor.a_b_c", "light.kitchen_lights, sensor.a_b_c"),
    "code": ("Call `light.turn_on` with ``a`b`` now", "Call light.turn_on with a`b now"),
    "code keeps its characters": ("`a*b*c _d_`", "a*b*c _d_"),
    "code left open": ("`light.x and\nmore *text*", "light.x and more text"),
    "backtick as an apostrophe": ("It`s on", "It's on"),
    "fence": ("Here:\n```yaml\nalias: x\nmode: *single*\n```\nDone", "Here:\nalias: x\nmode: *single*.\nDone"),
    "picture in a fence": ("```\n💡on\n```", "on"),
    "address without a host": ("See https:/// there", "See there"),
    "fence of tildes": ("~~~\nx\n~~~\ny", "x.\ny"),
    "fence left open": ("```\nThe light is on.", "The light is on."),
    "fence on one line": ("```The light is on.```", "The light is on."),
    "shorter fence inside a fence": ("````\n```\nx\n````", "```\nx"),
    "heading": ("# Kitchen\nAll on", "Kitchen.\nAll on"),
    "heading closed": ("## Kitchen ##\n##Bath", "Kitchen.\nBath."),
    "number sign": ("C# is #1", "C# is #1"),
    "number sign first": ("#1 is on", "#1 is on"),
    "setext heading": ("Kitchen\n=======\nAll on", "Kitchen.\nAll on"),
    "list": ("Lights:\n- kitchen\n* bath\n+ hall.", "Lights:\nkitchen.\nbath.\nhall."),
    "list of signs": ("• one\n◦ two", "one.\ntwo."),
    "numbered list": ("1. One\n2. Two", "1. One.\n2. Two."),
    "numbered list with brackets": ("1) One\n2) Two", "1) One.\n2) Two."),
    "tasks": ("- [ ] milk\n- [x] bread", "milk.\nbread."),
    "nested list": ("- a\n  - b\n    c", "a.\nb c."),
    "list in lists": ("- - a", "a."),
    "list of links": ("- [a](http://b.c)", "a."),
    "item with an empty line after it": ("- a\n\n", "a."),
    "bullet without text": ("-\na", "a"),
    "negative number": ("-5 °C outside", "-5 °C outside"),
    "decimal first": ("1.5 kWh", "1.5 kWh"),
    "time first": ("12:30 is early", "12:30 is early"),
    "quote": ("> one\n> two\n>> three", "one two three"),
    "comparison first": (">= 5", ">= 5"),
    "rule": ("a\n\n---\n\nb", "a.\nb"),
    "paragraphs": ("One\n\nTwo!\n\nThree", "One.\nTwo!\nThree"),
    "lines of a paragraph": ("Kitchen: on\nBath: off\nand so on", "Kitchen: on, Bath: off and so on"),
    "windows lines": ("- a\r\n- b\r\n", "a.\nb."),
    "table": ("| Room | State |\n|:-----|---:|\n| Kitchen | on |\n| Bath | |", "Room, State.\nKitchen, on.\nBath."),
    "table without edges": ("a | b\n--|--\nc | d", "a, b.\nc, d"),
    "bar in a word": ("a|b", "a|b"),
    "link": ('See [the **docs**](https://a.com/b_(c) "T").', "See the docs."),
    "link with a bare text": ("[https://a.com/x](https://a.com/x)", "a.com"),
    "link by reference": ("See [docs][1].", "See docs."),
    "comment in a link": ("See [docs<!-- x](y) now", "See docs now"),
    "link cut off": ("See [docs](https://a", "See docs"),
    "brackets": ("[note] [x](not a link) [", "[note] [x](not a link) ["),
    "image": ("![a lamp](x.png)!", "a lamp!"),
    "linked image": ("[![lamp](x)](y)", "lamp"),
    "exclamation": ("Hi! [a", "Hi! [a"),
    "footnote": ("On[^1].", "On."),
    "address": ("See https://www.example.com/a?b=c#d.", "See example.com."),
    "address in brackets": ("(www.example.com/a_(b))", "(example.com)"),
    "address between signs": ("<https://example.com/a> or <me@example.com>", "example.com or me@example.com"),
    "address after unspaced text": ("请访问https://a.com。谢谢", "请访问a.com。谢谢"),
    "scheme as a word": ("http and www are words", "http and www are words"),
    "html": ('<b>On</b> H<sub>2</sub>O<br/>Off <a href="x">link</a>', "On H2O, Off link"),
    "html comment": ("a <!-- b\n c --> d", "a d"),
    "less than": ("a < b, a<b, <3, <", "a < b, a<b, <3, <"),
    "thinking": ("<think>\nThe user\n- wants\n</think>\n\nOn", "On"),
    "thinking about a letter that grows": ("<think>İİİİ</think>1. On", "1. On"),
    "thinking cut off": ("<think>The user", ""),
    "end of thinking alone": ("</think>On", "On"),
    "entities": ("Tom &amp; Jerry&nbsp;x &lt;3 AT&T &nonsense", "Tom & Jerry x <3 AT&T &nonsense"),
    "escapes": ("\\*not\\* 1\\. C:\\Users \\", "*not* 1. C:\\Users \\"),
    "emoji": ("Hi 👋🏽! On 💡. Family 👨‍👩‍👧 ❤️‍🔥 flag 🇩🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "Hi! On. Family flag"),
    "emoji between words": ("on💡off", "on off"),
    "emoji as bullets": ("✅ Light on\n❌ Heating off", "Light on, Heating off"),
    "keycaps": ("1️⃣ first #️⃣ *️⃣", "1 first"),
    "letters drawn as pictures": ("ℹ️ info ↔️ x ↔ y", "info x ↔ y"),
    "signs that are read": ("© ™️ ® ♯", "© ™ ® ♯"),
    "arrows": ("Kitchen → on", "Kitchen, on"),
    "units": ("21.5 °C, 50 %, 3.5 kWh, -3, $5, 1 000 €", "21.5 °C, 50 %, 3.5 kWh, -3, $5, 1 000 €"),
    "punctuation": ("Wait... what?! z. B. don't “so”", "Wait... what?! z. B. don't “so”"),
    "space before a mark": ("Il fait 21 °C !", "Il fait 21 °C !"),
    "spaces": ("a  b\t c ", "a b c"),
    "invisible": ("Wi\u00adFi \ufeffon\x00", "WiFi on"),
    "chinese": ("**客厅**的灯*打开*了\n\n- 卧室\n- 厨房", "客厅的灯打开了。\n卧室。\n厨房。"),
    "japanese picture letters": ("㊗️ 〰 はい", "〰 はい"),
    "persian": ("می\u200cخواهم", "می\u200cخواهم"),
    "hindi": ("क्\u200dष नमस्ते।", "क्\u200dष नमस्ते।"),
    "arabic": ("الضوء **مضاء** الآن؟", "الضوء مضاء الآن؟"),
    "russian": ("Свет *включён*", "Свет включён"),
}

ALPHABET = (
    *"*_`~[]()!<>|\n\\&#=-+.: a5。灯।💡",
    *("**", "```", "~~~", "\n\n", "- ", "1. ", "> ", "[x] ", "[^1]", "](", "<think>", "</think>", "<b>", "</", "<!--"),
    *(
        "-->", "\r", "\r\n", "https://", "www.", "a.b", "&amp;", "light.x_y", "\ufe0f", "\u200d", "\u20e3", "\u200c",
        "→", "---", "Wort",
    ),
)  # fmt: skip


def spoken(text: str, sizes: random.Random) -> str:
    """Return what the filter makes of a text that arrives in pieces."""
    speech = SpeechFilter()
    said, position = "", 0
    while position < len(text):
        size = sizes.choice((1, 1, 2, 3, 5, 8, 13))
        said += speech.feed(text[position : position + size])
        position += size
    return said + speech.flush()


def pieces(text: str, size: int) -> list[str]:
    speech = SpeechFilter()
    fed = [speech.feed(text[start : start + size]) for start in range(0, len(text), size)]
    return [piece for piece in (*fed, speech.flush()) if piece]


@pytest.mark.parametrize(("text", "expected"), SPOKEN.values(), ids=SPOKEN.keys())
def test_text_is_speakable(text: str, expected: str) -> None:
    assert speakable_text(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in SPOKEN.values()], ids=SPOKEN.keys())
def test_pieces_say_what_the_whole_says(text: str) -> None:
    assert {spoken(text, random.Random(seed)) for seed in range(30)} == {speakable_text(text)}


@pytest.mark.parametrize("text", [
    "5€# `,\n> 1. \n~~[>.é> ", "1. \r\nword", "a\r\nb", "_ \r\n\n50%(", "|---|\r\r\n5€word", "```\r\nx\r\n```\r\ny\r",
    "# \r  | a | b |",
])  # fmt: skip
def test_a_line_s_end_may_come_in_two_halves(text: str) -> None:
    whole = speakable_text(text)
    for cut in range(1, len(text)):
        speech = SpeechFilter()
        assert speech.feed(text[:cut]) + speech.feed(text[cut:]) + speech.flush() == whole
    speech = SpeechFilter()
    assert "".join(speech.feed(char) for char in text) + speech.flush() == whole


@pytest.mark.parametrize("seed", range(200))
def test_any_text_in_any_pieces_says_what_the_whole_says(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(chance.choices(ALPHABET, k=chance.randint(1, 30)))
    assert {spoken(text, chance) for _ in range(4)} == {speakable_text(text)}


def test_first_piece_comes_early_and_later_ones_are_worth_speaking() -> None:
    said = pieces("The lights in the kitchen are on and those in the living room have been off since this morning", 1)
    assert said[0] == "The lights in"
    assert all(len(piece) >= 32 for piece in said[1:-1])
    assert all(piece.startswith(" ") for piece in said[1:])


def test_sentence_comes_when_it_ends() -> None:
    assert pieces("Ja. Das Licht ist an. Die Heizung steht auf 21.5 Grad. Ok", 1) == [
        "Ja. Das Licht", " ist an.", " Die Heizung steht auf 21.5 Grad.", " Ok",
    ]  # fmt: skip


def test_script_without_spaces_flows() -> None:
    said = pieces(
        "客厅的灯已经打开了现在的温度是二十一度还需要别的帮助吗我可以关闭卧室的灯或者调整空调的温度以及窗帘的位置", 1
    )
    assert [len(piece) for piece in said[:-1]] == [12, 32]


def test_bracket_that_never_closes_does_not_hold_the_answer_back() -> None:
    speech = SpeechFilter()
    said = speech.feed("[" + "word " * 100)
    assert said.startswith("[word word")


def test_filter_starts_over_after_a_message() -> None:
    speech = SpeechFilter()
    assert speech.feed("```\na") + speech.flush() == "a"
    assert speech.feed("**b**") + speech.flush() == "b"


async def _stream(*deltas: AssistantContentDeltaDict) -> AsyncGenerator[AssistantContentDeltaDict]:
    for delta in deltas:
        yield delta


async def test_stream_keeps_its_order() -> None:
    call = llm.ToolInput(tool_name="ha_control", tool_args={})
    stream = _stream(
        {"role": "assistant"},
        {"thinking_content": "**Hm**"},
        {"content": "**One"},
        {"content": " moment**"},
        {"content": None, "tool_calls": [call]},
        {"role": "assistant", "content": "Do"},
        {"content": "ne 👍"},
        {"content": "", "native": {"id": 1}},
    )
    assert [delta async for delta in speakable(stream)] == [
        {"role": "assistant"}, {"thinking_content": "**Hm**"}, {"content": "One moment"}, {"tool_calls": [call]},
        {"role": "assistant"}, {"native": {"id": 1}}, {"content": "Done"},
    ]  # fmt: skip


async def test_stream_of_two_messages_ends_the_first_before_the_second() -> None:
    stream = _stream({"role": "assistant", "content": "One"}, {"role": "assistant", "content": "Two, and a long one"})
    assert [delta async for delta in speakable(stream)] == [
        {"role": "assistant"}, {"content": "One"}, {"role": "assistant"}, {"content": "Two, and a long"},
        {"content": " one"},
    ]  # fmt: skip


async def test_message_without_words_has_no_text() -> None:
    assert [delta async for delta in speakable(_stream({"role": "assistant"}, {"content": "👍"}))] == [
        {"role": "assistant"}
    ]


async def test_stream_is_closed_with_its_reader() -> None:
    closed = False

    async def endless() -> AsyncGenerator[AssistantContentDeltaDict]:
        nonlocal closed
        try:
            while True:
                yield {"content": "A sentence that is long enough. "}
        finally:
            closed = True

    reader = speakable(endless())
    await anext(reader)
    await reader.aclose()
    assert closed
