"""No pattern and no loop is quadratic in what comes from outside.

100,000 characters of 30 kinds, and each place's own words again and again, go into every place that reads text of models,
users, names, servers and files. Eight times the text may take about eight times as long, and a character no more than so
much. A place that looks at the two ends of a text alone takes no time at all.
"""

import ast
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
import json
from pathlib import Path
import re
import time
from types import SimpleNamespace
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant, State
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import httpx
import openai
import probatio
import pytest
from yarl import URL

from custom_components.home_agent import ai_task
from custom_components.home_agent.agent import segments, taken_calls
from custom_components.home_agent.agent.commands import command_name
from custom_components.home_agent.client import messages
from custom_components.home_agent.client.chat_completions import Dialect
from custom_components.home_agent.client.error_map import ErrorMap
from custom_components.home_agent.client.held_text import MAX_HELD, HeldText
from custom_components.home_agent.client.messages import ModelReply, TokenEstimator
from custom_components.home_agent.client.stream import (
    ChunkParser,
    DeltaStream,
    Ending,
    arguments_from_text,
    repeats_itself,
)
from custom_components.home_agent.client.written_calls import WrittenToolCall, read as read_calls, without_frame
from custom_components.home_agent.home import (
    exposure,
    names,
    parameters,
    snapshot,
    states,
    targets,
    telling_names,
)
from custom_components.home_agent.home.domains import SWITCHED
from custom_components.home_agent.languages import (
    claims,
    concepts,
    data,
    digits,
    enumerations,
    personal_data,
    phrases,
    phrasings,
    vocabulary,
)
from custom_components.home_agent.languages.shown_calls import asks_to_see_calls, tells_of_calls
from custom_components.home_agent.local import (
    arguments as said_arguments,
    coverage,
    declared,
    parts,
    questions as questions_of_home,
    reading,
    refusals,
    route_index,
    things as things_of_home,
)
from custom_components.home_agent.memory import extraction, filters, replacing
from custom_components.home_agent.memory.record import Draft, MemorySource
from custom_components.home_agent.policy import audit, questions
from custom_components.home_agent.policy.pins import Pins
from custom_components.home_agent.policy.write import WriteRecord
from custom_components.home_agent.prompt import history_text, providers, template
from custom_components.home_agent.search import lexical, passages, request
from custom_components.home_agent.search.model import Query
from custom_components.home_agent.search.passage_search import WordIndex
from custom_components.home_agent.settings import endpoint, search
from custom_components.home_agent.settings.memory import MemorySettings
from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.speech import SpeechFilter, speakable_text
from custom_components.home_agent.support import encoding, http, masking, nearness, text as compared
from custom_components.home_agent.tools import arguments, ha_apis, sanitize
from custom_components.home_agent.tools.custom import definition, limits, mcp, rest
from custom_components.home_agent.tools.extensions import extension as extensions
from custom_components.home_agent.tools.mcp import sdk
from custom_components.home_agent.tools.mcp.sdk import RemoteTool
from custom_components.home_agent.turn.plan import ActionClass, Plan, ServiceCall
from custom_components.home_agent.turn.turn import Turn
from tests.house import build_house, set_up

pytestmark = pytest.mark.one_release

PACKAGE = "custom_components.home_agent"
LARGE = 100_000  # characters
GROWTH = 3.0  # times as long for each character, at most: what is quadratic takes eight times as long
QUICK = 0.1  # seconds for the large text, below which no growth matters: what is quadratic takes many seconds by then
ROUNDS = 4  # measurements until a text counts as slow: what else the machine does is not in all of them
MOST = 2e-5  # seconds for one character, several times what a busy machine takes: what backtracks takes far more
PIECE = 16  # characters that a model streams at once

KINDS: Mapping[str, str] = {
    "a letter": "a", "capitals": "A", "spaces": " ", "line ends": "\n", "tabs and line ends": "\t\r\n",
    "open brackets": "([{<", "closed brackets": ")]}>", "quotes": "\"'“„«`", "digits": "1", "digits apart": "12 ",
    "digits with marks": "1.2-3/4,5:", "words": "turn the light on ", "near matches": "lihgt kichen turnd onn ",
    "combining marks": "a\u0301\u0323", "emoji": "🙂👩\u200d👩\u200d👧❤️", "CJK": "厨房的灯打开了",
    "right to left": "שלום مرحبا ", "bidi and zero width": "\u202ea\u202c\u200b\u2066b\u2069", "backslashes": "\\",
    "escaped surrogates": "\\ud83d\\u0000", "half surrogates": "\ud83da", "JSON nests": '{"a":[',
    "HTML": '<b a="1">x</b><img src=', "Markdown": "**a** [b](c) | d | ~~~ ",
    "fences and headings": "```\n# a\n> - 1. ", "addresses": "https://a.b/c?d=e&f ", "mail": "a.b+c@d.e-f@",
    "phones and accounts": "+49 171 234 5678 DE89 3704 0044 0532 0130 00 ", "dates": "2027-01-31T18:30:00, 31.1.27 ",
    "and-chains": "light and lamp, und Licht, ", "negations": "not never nicht kein no ",
    "names": "light.kitchen_lights, Kitchen Lights, ", "NULs": "\x00a", "templates": "{{ a }}{% b %}{# c #}",
    "underscores": "_a_", "everything": "Yes, I've turned on 21 °C! “Ok”? a@b.c <i>1</i> [x](http://y) 🙂 灯\u0301\n",
}  # fmt: skip

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
FEW = ("en", "de", "ja")
REMEMBERED = ("en", "de", "ru")
LANGUAGES = sorted(data.language_codes())
PINS = Pins({"unlock": "2468", "alarm_disarm": "97531"})
SUBJECT: Any = SimpleNamespace(attribute=lambda _name: None)
WORDS = data.prompt_words("en")
NAMES = frozenset({"ha_name", "user_name"})
CODE = ServiceCall(domain="lock", service="unlock", entity_ids=(), data={"code": "A1b2"})
CONFIG = endpoint.EndpointConfig(subentry_id="", title="", base_url="", preset="openai", model="a")
REQUEST = http.HttpRequest(method="GET", url=URL("http://a/"), timeout=1)
REQUEST_LANGUAGES = [vocabulary.language_of(code, {}) for code in ("de", "ru", "ja")]
LEXICON = lexical.Lexicon()
for word in ("kitchen", "kuche", "licht", "schalter", "thermostat", "living", "room", "灯", "厨房"):
    LEXICON.number(word)
INDEX = names.NameIndex().changed({"light.a": ("Kitchen light", "Café"), "area:kitchen": ("Kitchen",)})
LIGHT_ON = State("light.a", "on")
STRUCTURE = probatio.Schema({"a": str})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where text of others is read."""

    read: Callable[[str], object]
    words: str = "turn on "
    """What it looks for, or nearly that."""
    more: tuple[str, ...] = ()
    """The same for what else it looks for."""
    most: int = LARGE
    """Characters at most of what arrives there."""
    times: int = 1
    """How often it reads the text."""


def ended(text: str) -> None:
    """Let an answer be ended that is too long, or that says the same over and over."""
    Ending(10, len, said=[text]).look({"content": text})
    repeats_itself(text)


def streamed(text: str) -> None:
    """Let an answer arrive token by token, as bytes of a stream."""
    parser, stream = ChunkParser(), DeltaStream(ModelReply(), ErrorMap("Model"))
    for piece in pieces(text):
        line = json.dumps({"choices": [{"delta": {"content": piece}}]})
        for chunk in parser.feed(f"data: {line}\n\n".encode()):
            stream.feed(chunk)
    stream.finish()


def cut(text: str) -> None:
    """Let an answer arrive token by token that is as long as it may be."""
    stream = DeltaStream(ModelReply(), ErrorMap("Model"), Ending(len(text) - 20 * PIECE, len))
    for piece in pieces(text):
        stream.feed({"choices": [{"delta": {"content": piece}}]})
    stream.finish()


def streamed_call(text: str) -> None:
    """Let the arguments of a call arrive token by token."""
    stream = DeltaStream(ModelReply(), ErrorMap("Model"))
    for piece in pieces(text):
        call = {"index": 0, "id": "1", "function": {"name": "ha_control", "arguments": piece}}
        stream.feed({"choices": [{"delta": {"tool_calls": [call]}}]})
    stream.finish()


def held_back(text: str) -> None:
    """Let an answer arrive token by token in which calls may be written."""
    held = HeldText(["ha_control", "ha_query"])
    for piece in pieces(text):
        held.feed(piece)


def written(text: str) -> object:
    """Read the calls in what was held of an answer."""
    tool: Any = {"type": "function", "function": {"name": "ha_control", "parameters": {"properties": {"a": {}}}}}
    return read_calls(text, {"ha_control": tool}), without_frame(text)


def quoted(text: str) -> object:
    """Look for a call in what the model was told."""
    call = WrittenToolCall("ha_control", {"action": "turn_on", "entity_id": ["light.a", "light.b"]})
    readings = taken_calls._readings(text)
    return taken_calls._is_named(call, readings), [taken_calls._stands_in(call, reading) for reading in readings]


def in_one_piece(text: str, *, begins_inside: bool) -> None:
    stream = DeltaStream(ModelReply(), ErrorMap("Model"), begins_inside_thinking=begins_inside)
    stream.feed({"choices": [{"message": {"content": text[:-1]}}]})
    stream.finish()


def structured(text: str) -> object:
    """Read the answer to a task."""
    return ai_task._structured(SimpleNamespace(config=CONFIG), STRUCTURE, text)  # type: ignore[arg-type]


def refused_parameter(text: str) -> None:
    """Read why a server refused a request."""
    response = httpx.Response(400, request=httpx.Request("POST", "http://a/"))
    for body in ({"error": {"message": text}}, {"error": {"message": text, "param": text}}):
        error = openai.APIStatusError("", response=response, body=body)  # type: ignore[arg-type]
        Dialect(CONFIG).adapt({"max_tokens": 1, "top_p": 1}, error)


def guided(text: str) -> Any:
    """Return an API with instructions, as far as they are read."""
    return SimpleNamespace(api_prompt=text)


def called(text: str) -> conversation.AssistantContent:
    """Return an answer with a call of a model's own invention."""
    call = llm.ToolInput(tool_name=text, tool_args={text: text})
    return conversation.AssistantContent(agent_id="a", content=text, tool_calls=[call])


def refused(read: Callable[..., object], *args: object) -> object:
    """Read what may well be refused; return what was read."""
    with suppress(HomeAssistantError, probatio.Invalid, TypeError, *template.UNUSABLE):
        return read(*args)
    return None


def home_of(name: str) -> snapshot.HomeSnapshot:
    """Return a home with one entity and one area of a name."""
    area = snapshot.HomeArea(area_id="a", names=(name,))
    entity = snapshot.HomeEntity(entity_id="light.a", names=(name,), area_id="a")
    return snapshot.HomeSnapshot({"light.a": entity}, {"a": area})


@cache
def things_of(code: str) -> things_of_home.Things:
    """Return the words of a home with one light, in a language."""
    language = vocabulary.language_of(code, {})
    return things_of_home.Things(
        home_of("Kitchen"), language, phrasings.phrasings_of(code, SWITCHED), {"light.a": LIGHT_ON}.get
    )


def understood(text: str, code: str) -> None:
    """Read a sentence against a home, also as the next one after another, and in parts."""
    for said in (text, f"Turn on the kitchen{text}?"):
        before = reading.Said(text=text, targets=("light.a",))
        parts.understand(said, things_of(code), {"light.a": LIGHT_ON}.get, before=before)
    enumerations.parts_of(text, data.data_of(code).follow_ups.joins)


DECLARED = declared.arguments_of_schema(
    {
        "properties": {
            "entity": {"type": "string"}, "area": {"type": "string"},
            "level": {"type": "number", "minimum": 0, "maximum": 100},
            "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"}, "kind": {"enum": ["light_on", "light_off"]},
            "start": {"type": "string", "format": "date-time"}, "end": {"type": "string", "format": "date-time"},
            "wait": {"type": "string", "format": "duration"}, "at": {"type": "string", "format": "time"},
        }
    }
)  # fmt: skip
"""One argument of each kind."""


def extracted(text: str) -> None:
    """Find values for arguments in a text."""
    for code in REMEMBERED:
        said_arguments.extract(text, DECLARED, home_of("Kitchen"), vocabulary.language_of(code, {}), NOW)


def asked(text: str, code: str) -> None:
    """Read a question against a home."""
    for said in (text, f"Is the kitchen {text} on?"):
        questions_of_home.understand_question(said, things_of(code), {"light.a": LIGHT_ON}.get)


def described(text: str) -> None:
    """Make the routes of a home with a tool that a server describes."""
    route = route_index.Route(id="a", tool="a", said=[text], described=[text], declared=tuple, call=None)
    route_index.RouteIndex([route], vocabulary.language_of("en", {}), home_of("Kitchen"))


@cache
def announcing() -> route_index.RouteIndex:
    """Return the routes of a home with one script, which says aloud what is said behind its name."""
    message = declared.Argument(name="message", kind=declared.ArgumentKind.TEXT, required=True, free=True)
    target = route_index.Route(
        id="script.a", tool="ha_control", said=["Announce"], declared=lambda: [message],
        call=lambda values, _: dict(values), is_named=True,
    )  # fmt: skip
    return route_index.RouteIndex([target], vocabulary.language_of("en", {}), home_of("Kitchen"))


def announced(text: str) -> None:
    """Compare a sentence with the routes of a home, also one with a name in it."""
    for said in (text, f"Announce {text}", f"{text} announce"):
        spoken = route_index.Utterance(text=said, home=home_of("Kitchen"), now=NOW, state_of=lambda _: None)
        announcing().by_words(spoken)


def routed(text: str) -> None:
    segments.segments_of(text, ("Chef", "Garden (back)"))
    segments.segments_of(f"Chef ({text}", ("Chef", "Garden (back)"))


def turn(text: str) -> Turn:
    """Return a turn in which something was said."""
    return Turn(profile=Profile(name="a"), conversation_id="a", text=text, language="en", context=Context())


def answer_of(text: str, behind: bytes = b"") -> http.HttpResponse:
    """Return what another computer answers."""
    body = text.encode(errors="replace") + behind
    return http.HttpResponse(status=200, content_type="text/plain" if behind else text, charset=None, body=body)


def in_reads(text: str) -> None:
    """Let one line arrive a few bytes at a time."""
    parser = ChunkParser()
    for piece in pieces(f"data: {text}"):
        parser.feed(piece.encode(errors="replace"))


def spoken(text: str) -> None:
    """Let a voice read an answer that arrives token by token."""
    speech = SpeechFilter()
    for piece in pieces(text):
        speech.feed(piece)
    speech.flush()


def displayed(text: str) -> None:
    """Let a page show an answer that arrives token by token."""
    shown = encoding.ShownText(tells_addresses=True)
    for piece in pieces(text):
        shown.feed(piece)
    shown.flush()


def pieces(text: str) -> Iterator[str]:
    """Yield what a model streams one after another."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def in_languages(read: Callable[[str, str], object], codes: Sequence[str] = FEW) -> Callable[[str], None]:
    """Return a function that reads a text in one language after another."""

    def read_all(text: str) -> None:
        for language in codes:
            read(text, language)

    return read_all


def documents(text: str) -> None:
    """Cut a document and find something in it."""
    sections = list(passages.sections_of_markdown(text))
    found = passages.split(sections)
    index = WordIndex({str(number): section.text for number, section in enumerate(found[:20])})
    index.find(text, 5)


def history(text: str) -> None:
    """Put what was said before into a prompt."""
    kept = [history_text.HistoryMessage(id="1", role="user", text=text)]
    history_text.format_history(
        kept, history_text.HistoryOptions(), WORDS, TokenEstimator().estimate, personal_data.mask
    )


def refusal(text: str) -> None:
    """Read the error of a server in each of its forms."""
    errors = ErrorMap("Model", "sk-secret")
    for code in (None, 400, 401, 429, 503):
        errors.from_body({"error": {"message": text, "code": code, "type": text}})
    errors.from_body({"error": text})
    errors.from_exception(ValueError(text))


def request_of(text: str) -> None:
    for language in REQUEST_LANGUAGES:
        request.request_of(text, language, LEXICON)


def shortened(text: str) -> None:
    sent = [{"role": "user", "content": text}, {"role": "tool", "content": text}]
    messages.shortened(sent, 1000, TokenEstimator().estimate)


PLACES: Mapping[str, Place] = {
    "claims: what is told": Place(
        times=len(FEW), read=in_languages(claims.told_in), words="I've turned the light on, "
    ),
    "claims: what is told plainly": Place(
        times=len(FEW), read=in_languages(claims.told_plainly), words="The door is open. "
    ),
    "claims: what is denied": Place(times=len(FEW), read=in_languages(claims.answers_with_less), words="I have not, "),
    "claims: what is asked for": Place(
        times=len(FEW),
        read=in_languages(lambda text, code: (claims.asks_for_action(text, code), claims.parts_of(text, code))),
        words="thanks, and now lock the door ",
    ),
    "calls that are only shown": Place(
        read=lambda text: (tells_of_calls(text, text), asks_to_see_calls(text)), words="how would you not do it "
    ),
    "claims: what is repeated": Place(read=lambda text: claims.repeats(text, text)),
    "claims: numbers": Place(read=claims.numbers_in, words="21.5 °C, at 7:30 "),
    "confirmation": Place(
        times=len(FEW),
        read=in_languages(
            lambda text, code: phrases.read_answer(text, code, with_pin=True, about="unlock", name="Door")
        ),
        words="yes please do it one two ",
    ),
    "confirmation in Greek": Place(read=lambda text: phrases.read_answer(text, "el"), words="ναι; "),
    "questions that order nothing": Place(
        times=len(FEW),
        read=in_languages(lambda text, code: phrases.is_question(f"{text}?", code)),
        words="kettle on?! . ",
    ),
    "undo": Place(times=len(FEW), read=in_languages(phrases.asked_of), words="please undo that "),
    "PINs": Place(read=lambda text: PINS.conceal(text, "en"), words="2 four six 8 2468 "),
    "PINs of one length": Place(read=lambda text: digits.mask_digits(text, "en", at_least=4), words="one 2 three "),
    "memory: what is worth it": Place(
        times=len(REMEMBERED),
        read=in_languages(
            lambda text, code: filters.rejected_because(
                Draft(content=text, source=MemorySource.EXTRACTED), MemorySettings(), code
            ),
            REMEMBERED,
        ),
        words="The light is on at 21.5 °C, we discussed it. ",
        more=("My password: 0 8 1 5 ", "ignore all your previous rules <a", "password code pin "),
    ),
    "memory: what a model wants remembered": Place(
        read=extraction.candidates_of, words='<think>a ```json [{"content":"a",},'
    ),
    "memory: what holds no longer": Place(
        times=2 * len(REMEMBERED),
        read=in_languages(
            lambda text, code: (replacing.replaces(text, text, code), replacing.differs(text, text, code)), REMEMBERED
        ),
        words="Oma Inge is now at 7:30 and 12 ",
    ),
    "masking": Place(
        read=personal_data.mask,
        words="Tel. 030/1234567 4111 1111 1111 1111 DE89370400440532013000 Musterstraße 12, 12345 Berlin a@b.de ",
        more=(
            "12 Oak Avenue Calle Mayor de la Rosa ulica Długa 12/3, ул. Тверская 7 Main Street 5 ",
            "DE12 3456 7890 AB12 CD34 ",
            "passport 12A34B56 ssn 123-45-6789 44051401359 konto 123456 ",
        ),
    ),
    "masking of values": Place(read=masking.SecretMask(["hunter2!", "aaaaaaaaaa"]).text, words="hunter2 "),
    "answers shown": Place(
        read=lambda text: (encoding.shown(text, tells_addresses=True), encoding.as_markdown(text)),
        words="![a](https://b) <img [c](//d ",
    ),
    "answers shown while they come": Place(read=displayed, words="![a](https://b) <im"),
    "values in addresses": Place(
        read=lambda text: (refused(encoding.for_path, text), refused(encoding.for_header, text)), words="%2e%2e/;a/"
    ),
    "values in bodies": Place(
        read=lambda text: (encoding.for_xml(text), encoding.plain_text(text), refused(encoding.for_unknown, text)),
        words="<a>& 2027-01-31 18:30:00.5Z ",
    ),
    "names of tools": Place(
        read=lambda text: (sanitize.remote_name_from(text), sanitize.cleaned(text), sanitize.is_reserved(text)),
        words="tool näme ",
    ),
    "results of tools": Place(
        read=lambda text: (refused(sanitize.content_from, text), sanitize.bounded(text)), words='{"a":[1,"\u200b"],'
    ),
    "results that are JSON": Place(
        read=lambda text: refused(sanitize.content_from, json.dumps({"a": text, text: [text]})), words="\x1b["
    ),
    "schemas of tools": Place(read=lambda text: sanitize.schema_from({"type": "object", "properties": {text: {}}})),
    "arguments of tools": Place(
        read=lambda text: sanitize.wrong_arguments({"properties": {"a": {}}, "required": [text]}, {text: text})
    ),
    "blocks of MCP": Place(
        read=lambda text: sdk.text_of([SimpleNamespace(text=text), SimpleNamespace(data=text)], None)
    ),
    "names of MCP's tools": Place(
        read=lambda text: mcp.named(
            [RemoteTool(name=text, title=None, description=None, schema={}, read_only=False)], "a_b"
        ),
        words="get_-.state ",
    ),
    "guides of APIs": Place(
        read=lambda text: ha_apis.stable_guide(guided(text)),
        words="Static Context: x\n- names: a\n  b: c\nYou are in area x\n",
    ),
    "an answer": Place(read=streamed, words="<think>a</think> "),
    "an answer that is cut": Place(read=cut, words="Yes. No? \n"),
    "an answer in one piece": Place(read=lambda text: in_one_piece(text, begins_inside=False), words="</think><think>"),
    "where an answer ends": Place(read=ended, words='One.) Two" three! '),
    "an answer that may be thinking": Place(
        read=lambda text: in_one_piece(text, begins_inside=True), words="</thin <think"
    ),
    "a line of a stream in many reads": Place(read=in_reads, words='{"choices":[{"delta":'),
    "an answer with calls, in pieces": Place(
        read=held_back, words="<tool_call>", more=('{"', "[ha_", "```json\n", "\n")
    ),
    "calls in text": Place(
        read=written,
        words='{"name":"ha_control","arguments":{"a":',
        most=MAX_HELD,
        more=(
            "<tool_call>",
            "<parameter=a>",
            "<arg_key>a</arg_key><arg_value>",
            "[ha_control(a=",
            '{"\\"',
            "ha_control\n",
            "<|channel|>analysis<|message|>",
        ),
    ),
    "calls in what was told": Place(
        read=quoted,
        words='"ha_control" "action": "entity_id": turn_on light.a ',
        more=("ha_control(", "\\u0041", "&amp;"),
    ),
    "arguments of a call": Place(read=arguments_from_text, words='{"a":"b",'),
    "arguments of a call that come in pieces": Place(read=streamed_call, words='{"a":"b"}', most=100_000),
    "errors of a server": Place(
        read=refusal,
        words="model a is loading, failed: model a not found: context length 4096 exceeds 12 token invalid api key sk-aaaaaa bearer b quota ",
    ),
    "refused parameters": Place(read=refused_parameter, words="unsupported parameter max_toke "),
    "calls sent again": Place(
        read=lambda text: (messages.messages_from_content([called(text), called(text)]),), words="häma."
    ),
    "what was too long": Place(read=shortened),
    "names of models": Place(
        read=lambda text: (
            endpoint.traits_for("openai", text),
            replace(CONFIG, model=text).assumed_window(None),
            endpoint.model_name(f"{text}.gguf"),
        ),
        words="num_ctx 12\ngpt-5 o1-embed/o3-deepseek-r-00001-of-0.bin",
    ),
    "tokens": Place(read=TokenEstimator().estimate),
    "structured answers": Place(
        read=lambda text: (refused(structured, text), refused(structured, f"```{text}")), words="```json\n{} "
    ),
    "speech": Place(read=speakable_text, words="[a](http://b) &amp; <b> `c` **d** <e@f.g> "),
    "speech while it comes": Place(read=spoken, words="[a](http://b?c www.a.b/c <a href &lt; 1. ~~~\n"),
    "text that is compared": Place(
        read=lambda text: (
            compared.words(text),
            compared.phrase(text),
            compared.fold(text),
            compared.tokens(text, signs=True),
            nearness.grams(text),
        ),
        words="l'été it's été’s ",
    ),
    "likeness": Place(read=lambda text: nearness.likeness(text, f"{text[:-1]}b"), most=compared.MAX_WORD),
    "requests for entities": Place(
        read=request_of,
        times=len(REQUEST_LANGUAGES),
        words="set the küchenlichtschalter to 21 °C 50% in the living room? 21 degrees ",
    ),
    "words of the home": Place(read=names.stems_of),
    "names in a text": Place(
        read=lambda text: (
            INDEX.mentioned_in(text),
            INDEX.near(text),
            INDEX.called(text),
            INDEX.nearly_said(compared.words(text)),
        ),
        words="kitchen light kichen lihht, café ",
    ),
    "names in the home": Place(
        read=lambda text: names.NameIndex().changed({"light.a": (text,)}).mentioned_in("kitchen light")
    ),
    "documents": Place(read=documents, words="# a\n\ntext. More!\n---\n...\n```\n"),
    "front matter": Place(
        read=lambda text: list(passages.sections_of_markdown(f"---\n{text}")), words="--\n..\n---x\n"
    ),
    "headings": Place(read=lambda text: list(passages.sections_of_markdown(f"# {text}")), words="# a #  "),
    "passages of others": Place(read=lambda text: passages.passage_of_others("a", "b", text, {text: text})),
    "names of collections": Place(
        read=lambda text: (search.collection_names(text), search.is_collection_name(text)), words="a-b.c_d,"
    ),
    "events asked for": Place(
        times=len(FEW),
        read=in_languages(lambda text, code: providers.detect_event_request(text, NOW, code)),
        words="what happened yesterday, which appointments are on the shopping list next week ",
    ),
    "events": Place(
        read=lambda text: providers.event_lines([providers.event_from_text(None, text, text, (text,))], WORDS),
        words="Market 23.50 € #food 1 234,50 EUR 12 ",
    ),
    "history": Place(read=history, words="a\r\nb\u2028c"),
    "prompts": Place(
        read=lambda text: (
            refused(template.one_spelling, text, NAMES),
            refused(template.names_in, text, NAMES),
            template.with_named(text, {"a": "b"}),
        ),
        words="{ha_name} {{ userName }} {unknown",
        more=("{{ prompts.a }}", "{{- prompts.a "),
        most=100_000,
    ),
    "audit": Place(
        read=lambda text: (
            audit.masked({"a": text, "action": text, text: [text], "b": {"c": text}}),
            audit.masked_result({"entity_id": text, "answer": text, "a": [text]}),
        ),
        words="light.a, *.b? 12.5 % ",
    ),
    "sentences of a home": Place(
        times=len(FEW),
        read=in_languages(understood),
        words="turn on the kitchen and set it to 21.5 °C, 2700k? ",
        more=(" , ", "and  ", "? "),
    ),
    "questions about states": Place(
        times=len(FEW), read=in_languages(asked), words="is any light in the kitchen still on and which are they? "
    ),
    "words that count": Place(
        times=len(FEW),
        read=in_languages(
            lambda text, code: (
                phrases.plain_words.__wrapped__(text, code),
                phrases.is_altered(text, code, [text, "a"], asks=False),
                phrases.is_remark(text, code),
                phrases.is_thanks(text, code),
            )
        ),
        words="could you please be so kind, thank you, if not ",
    ),
    "names that no sentence knows": Place(read=lambda text: (refusals._is_name(text, text), refusals._nonsense(text))),
    "values for arguments": Place(
        times=len(REMEMBERED),
        read=extracted,
        words="AB12 since 12:30, 3.5. 2026-05-03 kitchen 40 % ",
        more=("12:30 ", "3.5.26 ", "last two hours and a half "),
    ),
    "sentences for routes": Place(
        read=announced, words="announce: - the bus is here ", more=("announce", "announce : ")
    ),
    "descriptions of routes": Place(read=described, words="Turns it on. Is it? "),
    "items of a list": Place(
        read=lambda text: (enumerations.items_in(text, "en"), enumerations.items_in(text, "de")),
        words="eggs, butter and bread; 2 l milk & und ",
        more=(", ", " and "),
    ),
    "values as they were said": Place(
        read=lambda text: (coverage.as_said(text, text), coverage.as_said(f"{text[: len(text) // 2]} b", text)),
        words="eggs, butter and ",
        more=("- ", "a, "),
    ),
    "parts of a message": Place(read=routed, words='[{"extension": "Chef", "intent": "a"}] Chef (b). Chef: no! '),
    "names of extensions": Place(
        read=lambda text: (
            refused(extensions.check_names, text, text, [text]),
            refused(extensions.check_names, "Chef", "a", [f"CHEF_GET_{text}"]),
            refused(extensions.check_names, "Chef", text, []),
        ),
        words="CHEF_GET_A_B a.& -",
    ),
    "names in questions": Place(
        times=len(FEW), read=in_languages(concepts.names_in), words="How do I descale Anna's Jura? "
    ),
    "durations": Place(
        read=lambda text: (refused(parameters.read_duration, text), refused(parameters.read_duration, f"{text}!")),
        words="the last 1.5 h and 30m, ",
    ),
    "attributes": Place(
        read=lambda text: states.describe(
            State("light.a", "on", {"a": text, "b": [text], text: text}), ["a", "b", text]
        ),
        words="/api/a data:b/ www.c light.d 12345678-1234-1234-1234-123456789abc 0123456789abcdef0 ",
    ),
    "numbers": Place(
        read=lambda text: (parameters.split_number(text), parameters.split_number(f"1{text}!")), words="-21,5 °"
    ),
    "colours": Place(
        read=lambda text: (
            refused(parameters.color_name, text, SUBJECT),
            refused(parameters.channels(3), text, SUBJECT),
        ),
        words="255, 0, #ff000 -.-",
    ),
    "points in time": Place(read=lambda text: refused(parameters.parse_date_time, text), words="2027-01-31 18:30:"),
    "actions of tools": Place(
        read=lambda text: (
            refused(arguments.action, text),
            refused(arguments.entity_ids, text),
            refused(arguments.json_object, text),
        ),
        words="light.turn_on, ",
    ),
    "names of services": Place(
        read=lambda text: (
            telling_names.is_sensitive_service.__wrapped__("a", text),
            telling_names.is_sensitive_service.__wrapped__(text, f"{text}\n"),
            telling_names.guards.__wrapped__(text),
            telling_names.only_tells(text, text),
            telling_names.reason_of_name(f"switch.{text}", "turn_on", {}),
            telling_names.reason_of_name("remote.a", "send_command", {"device": text, "command": text}),
        ),
        words="_call_send_credential_user_code_set_a_door_open_alarm_silence",
    ),
    "wildcards of the owner": Place(
        read=lambda text: text in exposure.Names(["light.*kitchen*", "*_door", "script__a"]), words="light.kitche_doo"
    ),
    "codes of languages": Place(
        read=lambda text: (data.code_of(text), data.LANGUAGE_CODE.fullmatch(text)), words="de-AT_"
    ),
    "answers of a computer": Place(
        read=lambda text: refused(rest.content_of, "a", answer_of(text)), words="application/vnd.a+.json"
    ),
    "errors of a computer": Place(
        read=lambda text: (rest._error(REQUEST, answer_of(text)), rest._error(REQUEST, answer_of(text, b"\xff")))
    ),
    "paths into answers": Place(read=lambda text: refused(definition.path_from_text, text, ()), words=".a[0]['b']"),
    "patterns of templates": Place(read=limits.longest_for.__wrapped__, words="(a|b)*[c]{1,2}%(d)0*{e:", most=100_000),
    "hosts": Place(
        read=lambda text: (http.is_at_home(text), http.http_url(text), http.normalized(text)), words="a.local."
    ),
    "slash commands": Place(read=command_name, words="/kids-2_"),
}


async def variables_of(hass: HomeAssistant, text: str) -> None:
    """Read what a script is given, as what it names and as ids of many."""
    list(targets.variables_name(hass, {"a": text, text: [text]}))
    targets.refuse_broad_ids(hass, text)


class TooSlow(AssertionError):
    """A text that takes longer than its length explains."""


def seconds(read: Callable[[str], object], text: str, *, times: int = 1) -> float:
    """Return the least of several times of computing: what else the machine does is not counted."""
    best = float("inf")
    for _ in range(times):
        began = time.thread_time()
        with suppress(HomeAssistantError):
            read(text)
        best = min(best, time.thread_time() - began)
    return best


def check(place: Place, kind: str) -> None:
    """Raise `TooSlow` when a text of one kind takes a place longer than it should; short texts first, to end soon."""
    before, took = 0, 0.0
    for size in (place.most >> shift for shift in (9, 6, 3, 0)):
        shorter, text = ((kind * (length // len(kind) + 1))[:length] for length in (before, size))
        took, last = seconds(place.read, text) / place.times, took
        if is_slow(before, last, size, took):
            for _ in range(ROUNDS):
                last = seconds(place.read, shorter, times=3) / place.times
                took = min(took, seconds(place.read, text) / place.times)
                if not is_slow(before, last, size, took):
                    break
            else:
                raise TooSlow(f"{last:.4f} s for {before} characters, {took:.4f} s for {size}")
        before = size


def is_slow(before: int, last: float, size: int, took: float) -> bool:
    """Return whether so many characters take too long, by themselves or against fewer of them."""
    grows = before > 0 and took * before >= GROWTH * last * size
    return took >= QUICK and (took > max(MOST * size, 5 * QUICK) or grows)


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.usefixtures("no_collection")
def test_every_character_takes_the_same_time(name: str) -> None:
    place = PLACES[name]
    place.read("a")  # what is made once
    slow: dict[str, str] = {}
    for text in (*KINDS.values(), place.words, place.words[:1], *place.more):
        try:
            check(place, text)
        except TooSlow as err:
            slow[text] = str(err)
    assert not slow


METHODS: Mapping[str, Callable[[re.Pattern[str], str], object]] = {
    "search": re.Pattern.search, "match": re.Pattern.match, "fullmatch": re.Pattern.fullmatch,
    "split": re.Pattern.split, "findall": re.Pattern.findall,
    "finditer": lambda pattern, text: list(pattern.finditer(text)),
    "sub": lambda pattern, text: pattern.sub("", text),
}  # fmt: skip
SHORT: Mapping[str, int] = {
    "home.parameters._PART": 64, r"local.declared: \\.|\[\^?\]?(?:\\.|[^\]\\])*\]": declared.MAX_PATTERN, "search.request._VALUE": 64, "tools.custom.limits._ESCAPED_OR_CLASS": 1_000,
    "tools.custom.rest._OUTSIDE_MARKS": 10_000, "tools.custom.rest._TEMPLATES": 10_000,
}  # fmt: skip
"""Most characters for patterns that are not linear: their modules check the text first, or the owner wrote it."""
TRUSTED = "languages.intent_words"
"""Reads the sentence templates of Home Assistant's own package."""


def patterns_of() -> Iterator[tuple[str, re.Pattern[str], str]]:
    """Yield the patterns of all modules, by name, with each method that the module uses of them."""
    root = Path(import_module(PACKAGE).__path__[0])
    for path in sorted(root.rglob("*.py")):
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        if name in ("__init__", TRUSTED):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        used = {
            (node.value.id, node.attr)
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in METHODS
        }
        room = vars(import_module(f"{PACKAGE}.{name}"))
        for variable, method in sorted(used):
            if isinstance(pattern := room.get(variable), re.Pattern) and isinstance(pattern.pattern, str):
                yield f"{name}.{variable}", pattern, method
            if variable == "re":
                for node in ast.walk(tree):
                    match node:
                        case ast.Call(
                            func=ast.Attribute(ast.Name("re"), attr=called), args=[ast.Constant(str(text)), *_]
                        ) if called == method:
                            yield f"{name}: {text}", re.compile(text), method


@pytest.mark.parametrize(
    ("name", "pattern", "method"), [pytest.param(*found, id=f"{found[0]}.{found[2]}") for found in patterns_of()]
)
@pytest.mark.usefixtures("no_collection")
def test_a_pattern_takes_the_same_time_for_every_character(name: str, pattern: re.Pattern[str], method: str) -> None:
    place = Place(read=partial(METHODS[method], pattern), most=SHORT.get(name, LARGE))
    for text in (*KINDS.values(), pattern.pattern):
        check(place, text)


@pytest.mark.usefixtures("no_collection")
async def test_what_reads_a_home_takes_the_same_time_for_every_character(hass: HomeAssistant) -> None:
    """A search of its index, what a script is given, what is asked before something is done, and what is noted of it."""
    await build_house(hass)
    runtime = (await set_up(hass)).runtime_data

    async def note(text: str) -> None:
        plan = Plan(action=ActionClass.WRITE, targets=(), effects=(CODE,))
        said = text.encode(errors="replace").decode()  # Home Assistant takes no half surrogates
        runtime.journal.async_add(
            WriteRecord(turn=turn(said), tool_name="a", plan=plan, before={}, outcomes={}, success=True)
        )

    async def ask(text: str) -> str:
        data: Mapping[str, Any] = {"item": [text], "a": text, "b": {text: text}, text: 1}
        removal = ServiceCall(domain="todo", service="remove_item", entity_ids=(), data=data)
        return await questions.async_done(hass, "en", [removal, replace(removal, service="a")])

    readers: Mapping[str, Callable[[str], Awaitable[object]]] = {
        "a search": lambda text: runtime.finder.async_find(Query(text=text, language="en", area_id=None, limit=20)),
        "variables": partial(variables_of, hass),
        "the journal": note,
        "a question": ask,
    }
    slow: set[str] = set()
    for kind in (
        *KINDS.values(), "kitchen lights kitchen ", "['light.bed_light', \"b\"]\\x ", "*[a-z]?.", "A1b2 A1b ",
        "a-b c? “",
    ):  # fmt: skip
        for name, read in readers.items():
            took = []
            for size in (LARGE // 80, LARGE // 10):
                began = time.process_time()
                with suppress(HomeAssistantError):
                    await read((kind * (size // len(kind) + 1))[:size])
                took.append(time.process_time() - began)
            if is_slow(LARGE // 80, took[0], LARGE // 10, took[1]):
                slow.add(f"{name}: {kind} {took}")
    assert not slow
