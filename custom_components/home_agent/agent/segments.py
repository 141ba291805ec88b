"""How a router splits a message: what it is told, and its answer read as parts for extensions; pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
import json
import re
from typing import Any

from ..prompt.system_prompt import DATA
from ..support.const import LOGGER
from ..support.text import fold
from ..tools.sanitize import cleaned

MOST = 6  # parts of a message; people ask for two or three things at once, and each is a whole turn with a model
MAX_READ = 8000  # characters of the router's answer; a list of parts has a few hundred
MAX_TRIES = 20  # brackets in it with which a list may begin
MAX_INTENT = 1000  # characters

# The instructions. Written for the model: in English in each home.

ROUTE = f"""\
You split the newest message of a user of a home into parts for the agents listed below. You do not answer it and you call nothing.
Answer with a JSON list and nothing else: [{{"extension": "name of the agent", "intent": "what it is to do"}}]
- One entry for each agent that the message concerns, in the order of the message; none for the others.
- The intent is in the language of the user and complete: what "it" or "there" means, names, numbers, times.
- If no agent fits, or it is only talk, answer [].
A message may have <house>…</house>: the time, where the user is, what is remembered. {DATA}"""
AGENTS = "## Agents"


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a message and whose it is."""

    extension: str
    intent: str


def segments_of(text: str, names: Sequence[str]) -> list[Segment]:
    """Return the parts that a router names, in the order of the text, at most `MOST`: JSON, else `Name (intent)`."""
    known = {fold(name.casefold()): name for name in names}
    text = text[:MAX_READ]
    joined: dict[str, list[str]] = {}
    for given, intent in [*_from_json(text)] or [*_from_words(text, names)]:
        name, words = known.get(fold(given.strip().casefold())), " ".join(cleaned(intent, MAX_INTENT).split())
        if name is None:
            LOGGER.debug("The router names an unknown extension")
        elif words and words not in joined.setdefault(name, []):
            joined[name].append(words)
    found = [Segment(name, "; ".join(intents)) for name, intents in joined.items() if intents]
    if len(found) > MOST:
        LOGGER.warning("The router split a message into %d parts; the first %d are answered", len(found), MOST)
    return found[:MOST]


def _from_json(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and intent of the objects of the first JSON in a text that has any."""
    decoder = json.JSONDecoder()
    for start in islice(re.finditer(r"[\[{]", text), MAX_TRIES):
        try:
            value, _ = decoder.raw_decode(text, start.start())
        except ValueError, RecursionError:
            continue
        if found := [*_pairs(value)]:
            yield from found
            return


def _pairs(value: Any, depth: int = 3) -> Iterator[tuple[str, str]]:
    match value:
        case {"extension": str(name), "intent": str(intent)}:
            yield name, intent
        case dict() | list() if depth:  # a list, or {"segments": [...]}
            for item in value.values() if isinstance(value, dict) else value:
                yield from _pairs(item, depth - 1)


def _from_words(text: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what stands as `Name (intent)`; an intent may have brackets of its own."""
    listed = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)({listed})[*_`\"]{{0,3}}\s{{0,3}}\(", re.IGNORECASE)
    for match in islice(pattern.finditer(text), MAX_TRIES):
        depth = 1
        for place in range(match.end(), min(len(text), match.end() + MAX_INTENT)):
            depth += {"(": 1, ")": -1}.get(text[place], 0)
            if not depth:
                yield match[1], text[match.end() : place]
                break


def route_prompt(schema: str) -> str:
    """Return what the router's requests begin with."""
    return f"{ROUTE}\n\n{AGENTS}\n\n{schema}"
