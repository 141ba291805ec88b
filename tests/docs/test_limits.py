"""Numbers that the pages name are those of the code."""

import pytest

from custom_components.home_agent.agent import answerers, model_turn
from custom_components.home_agent.client import chat_completions, discovery, messages, stream
from custom_components.home_agent.home.domains import todo
from custom_components.home_agent.policy import (
    confirmation,
    following,
    journal,
    pins,
    policy,
    undo,
    write,
)
from custom_components.home_agent.prompt import providers, request, states, template
from custom_components.home_agent.search import files, index, knowledge, passage_search, passages, ranking, vectors
from custom_components.home_agent.services import search
from custom_components.home_agent.settings import profile
from custom_components.home_agent.support import http, outages
from custom_components.home_agent.tools import arguments, ha_apis, history, query, sanitize
from custom_components.home_agent.tools.custom import limits, rest
from custom_components.home_agent.tools.mcp import provider, sdk, server, wire
from custom_components.home_agent.transcript import conversations
from custom_components.home_agent.turn import events

from .pages import DOCS, read

WORDS = {
    1: "one", 2: "two", 3: "three", 5: "five", 6: "six", 8: "eight", 9: "nine", 10: "ten", 20: "twenty", 30: "thirty",
}  # fmt: skip
ORDINALS = {6: "sixth"}
MEGABYTE = 2**20


def word(value: float) -> str:
    """Return a whole number as a word."""
    return WORDS[round(value)]


SAID = {
    "TOOLS.md": [
        f"at most {write.MAX_RESULTS} of them one by one",
        f"is given up to {word(write.DEFAULT_SECONDS)} seconds",
        f"has at most about {query.MAX_CHARACTERS:,} characters",
        f"At most {history.MAX_ENTITIES} entities, and about {history.MAX_POINTS} points in all",
        f"beyond the {journal.MAX_ENTITIES:,} of one action",
        f"is watched for {word(following.SECONDS)} seconds",
        f"at most {word(following.MOST / 60)} minutes",
        f"ran for more than {word(following.MOST / 60)} minutes",
        f"A script that still runs is given {word(undo.PATIENCE)} seconds",
        f"Names are cut to {sanitize.MAX_NAME} characters",
        f"Results longer than {sanitize.MAX_RESULT:,} characters",
        f"does not answer within {word(ha_apis.TIMEOUT)} seconds",
        f"| Texts in one `entity_id` | {arguments.MAX_TARGETS} |",
        f"| Length of a text that is set | {arguments.MAX_LENGTH} characters |",
        f"| Items of a to-do list in one call | {todo.MAX_ITEMS} |",
        f"| Result of a tool of others | {sanitize.MAX_RESULT:,} characters |",
        f"| At once at one host or MCP server | {outages.AT_ONCE} requests",
        f"| {http.MAX_RESPONSE:,} bytes, or what the tool says |",
        f"| {wire.MAX_BYTES // MEGABYTE} MB on the way, {sanitize.MAX_RESULT:,} characters for the model |",
        f"[{policy.THROTTLE_TURNS} a minute](SECURITY.md#automations-that-talk)",
    ],
    "SECURITY.md": [
        f"at most {journal.MAX_ACTIONS} actions, {journal.MAX_ENTITIES:,} entities of one and {journal.MAX_KEPT:,} of all",
        f"and for {confirmation.TIMEOUT} seconds unless",
        f"after {word(confirmation.TRIES)} wrong ones the question is dropped",
        f"who gets {word(pins.WRONG)} wrong within an hour",
        f"after {pins.WRONG_IN_ALL} wrong ones within 24 hours",
        f"only {word(pins.COMPARED)} different numbers as long as a PIN are compared in 24 hours",
        f"only {word(pins.CODES)} different ones are accepted within 24 hours",
        f"cut at {events.MAX_RESULT:,} characters",
        f"{policy.THROTTLE_TURNS} unless you [set another number]",
    ],
    "CONFIGURATION.md": [
        f"At most {conversations.MAX_MESSAGES} messages of a conversation are stored",
        f"stored, {conversations.MAX_OF_OWNER} conversations of a person and {conversations.MAX_CONVERSATIONS:,} of the home",
        f"makes at most {word(model_turn.MORE_REQUESTS)} requests more than this",
        f"after half an hour or {stream.MAX_TEXT:,} characters",
        f"at most {request.MAX_BLOCKS_TOKENS} tokens",
    ],
    "CONTEXT.md": [
        f"take at most {profile.AUTO_TOKENS} tokens together",
        f"what fits less than {ranking.CLOSE:.0%} as well as the best is left out after the {ORDINALS[ranking.FEW]}".replace(
            "%", " %"
        ),
        f"within {word(states.LOOKUP_TIMEOUT)} seconds, the model is told of the area",
        f"and has {word(providers.TIMEOUT)} seconds",
    ],
    "PROMPTS.md": [
        f"brings up to {providers.LIMIT} of them along",
        f"it is the last {providers.WEEK_DAYS} days",
        f"*month* or *{providers.MONTH_DAYS} days*",
        f"takes longer than {word(template.RENDER_TIMEOUT)} seconds",
    ],
    "TROUBLESHOOTING.md": [
        f"{word(messages.PATIENCE).capitalize()} seconds are waited for that, {word(model_turn.TASK.patience / 60)} minutes for an AI task",
        f"An answer has at most {stream.MAX_TEXT:,} characters and half an hour",
        f"may have {answerers.MAX_MESSAGE:,} characters, one to an agent without a model {answerers.MAX_SENTENCE}",
        f"A yes counts for {confirmation.TIMEOUT} seconds",
        f"{word(discovery.TIMEOUT).capitalize()} seconds are allowed",
        f"{word(discovery.TIMEOUT * discovery.PATIENT_SHARE).capitalize()} seconds are waited for",
    ],
    "API_REFERENCE.md": [
        f"at most {events.MAX_IDS} ids",
        f"at most {events.MAX_IDS} |",
        f"cut at {events.MAX_RESULT:,} characters",
        f"up to {search.MAX_TEXT:,} characters, Markdown or plain",
        f"up to {search.MAX_METADATA} texts, numbers or truth values",
        f"After {word(confirmation.TRIES)} wrong ones the confirmation is dropped, after {word(pins.WRONG)} within an hour",
    ],
    "KNOWLEDGE.md": [
        f"passages of up to {passages.MAX_PASSAGE} characters",
        f"At most {files.MAX_FILES:,} files and {knowledge.MAX_PASSAGES:,} passages",
        f"{files.MAX_TEXT_BYTES // 1_000_000} MB",
        f"{files.MAX_PDF_BYTES // 1_000_000} MB, {files.MAX_PAGES:,} pages",
        f"up to {passage_search.MAX_DOCUMENTS:,} documents each",
        f"at least {passage_search.LEAST:.0%} of the question".replace("%", " %"),
        f"takes longer than {vectors.QUERY_TIMEOUT} seconds",
    ],
    "MCP.md": [
        f"cut after {sanitize.MAX_RESULT:,} characters",
        f"At most {word(server.AT_ONCE)} calls run at one server at a time",
        f"More than {wire.MAX_BYTES // MEGABYTE} MB of one answer",
        f"of a server's tools the first {sdk.MAX_TOOLS} are taken",
        f"Descriptions are cut after {provider.MAX_DESCRIPTION:,} characters",
        f"schema has more than {sanitize.MAX_SCHEMA:,},",
        f"after {provider.MAX_TOLD:,} characters of one server's tools",
        f"asked every {server.CHECK:.0f} seconds",
        f"after {server.FIRST_DELAY:.0f} seconds, then less and less often, at least every {server.LONGEST_DELAY / 60:.0f} minutes",
    ],
    "CUSTOM_TOOLS.md": [
        f"longer than {sanitize.MAX_RESULT:,} characters is cut",
        f"a text of more than {limits.MAX_OUTPUT // 1024} KB",
        f"Seconds for everything, {rest.DEFAULT_TIMEOUT:.0f} if left out",
        f"{http.MAX_RESPONSE} if left out",
        f"at most {word(http.MAX_REDIRECTS)}",
        f"at most {word(outages.AT_ONCE)} requests at once to one host",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("page", "sentence"), [(page, one) for page, said in SAID.items() for one in said])
def test_numbers_are_those_of_the_code(page: str, sentence: str) -> None:
    assert sentence in " ".join(read(DOCS / page).split())


def test_half_an_hour_is_what_an_answer_has() -> None:
    assert chat_completions.MAX_SECONDS == 30 * 60
    assert knowledge.COMPARE == passage_search.AGE == 60 * 60
    assert index.CATCH_UP < states.LOOKUP_TIMEOUT
