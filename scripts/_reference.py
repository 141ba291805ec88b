"""Writes docs/reference from what the code and its English texts say: settings, actions, built-in tools, limits.

`python -m scripts._reference` writes the pages; with `--check` it only says which are out of date.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from importlib import import_module
import json
from pathlib import Path
import pkgutil
import re
import sys
from typing import Any

import yaml  # type: ignore[import-untyped]

from custom_components.home_agent import policy as policy_room, tools as tools_room
from custom_components.home_agent.agent import answerers, model_turn
from custom_components.home_agent.client import discovery, messages, stream
from custom_components.home_agent.flows import options, retrieval
from custom_components.home_agent.flows.fields import FIRST, TOPICS
from custom_components.home_agent.home.domains import DOMAINS, todo
from custom_components.home_agent.policy import confirmation, following, journal, pins, policy, undo, write
from custom_components.home_agent.policy.tool import HomeAgentTool
from custom_components.home_agent.prompt import history_text, providers, request, states, template
from custom_components.home_agent.search import files, knowledge, passage_search, passages, vectors
from custom_components.home_agent.services import search
from custom_components.home_agent.settings import profile
from custom_components.home_agent.settings.endpoint import PRESETS, EndpointConfig
from custom_components.home_agent.settings.memory import MemorySettings
from custom_components.home_agent.settings.profile import BUILT_IN, SETTINGS
from custom_components.home_agent.support import http, outages
from custom_components.home_agent.tools import arguments, documentation, ha_apis, history, query, sanitize
from custom_components.home_agent.tools.custom import limits, rest
from custom_components.home_agent.tools.custom.definition import SCHEMA
from custom_components.home_agent.tools.custom.provider import HANDLERS
from custom_components.home_agent.tools.mcp import provider, sdk, server, wire
from custom_components.home_agent.transcript import conversations
from custom_components.home_agent.turn import events
from custom_components.home_agent.wishes import waiting, wishes

ROOT = Path(__file__).parents[1]
COMPONENT = ROOT / "custom_components" / "home_agent"
FOLDER = ROOT / "docs" / "reference"
WRITTEN = "<!-- Written by scripts/reference; edit the code or its texts instead. -->\n"
PATTERNS = "_patterns"
"""The end of a field for the items of a list that its entity picker cannot show."""
PLACEHOLDER = re.compile(r"{\w+}")
FROM = re.compile(r"\n?{\w+_from}")
"""Where a form says where the value comes from."""
TEXTS: dict[str, Any] = json.loads((COMPONENT / "translations" / "en.json").read_text(encoding="utf-8"))


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table of Markdown; a cell is one line."""
    listed = [[*heads], *([PLACEHOLDER.sub("…", str(cell)) for cell in row] for row in rows)]
    lines = [f"| {' | '.join(' '.join(cell.replace('|', '&#124;').split()) for cell in row)} |" for row in listed]
    return "\n".join((lines[0], f"|{' --- |' * len(listed[0])}", *lines[1:], ""))


def shown(value: object) -> str:
    """Return a value as the reference writes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "empty"
    return "empty" if value in (None, "") or value == {} else str(value)


def fields_of(form: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield key, label and description of the fields of a form, those of its sections included."""
    for part in (form, *form.get("sections", {}).values()):
        described = part.get("data_description", {})
        for key, label in part.get("data", {}).items():
            yield key, label, FROM.sub("", described.get(key, ""))


def key_cell(key: str) -> str:
    """Return the key under which a field is stored: patterns are items of the same list."""
    return f"in `{key.removesuffix(PATTERNS)}`" if key.endswith(PATTERNS) else f"`{key}`"


def form_table(form: Mapping[str, Any], defaults: Mapping[str, Any], *, leave_out: Iterable[str] = ()) -> str:
    """Return the table of a form; a list of patterns stands below the list of entities that it is a part of."""
    fields = [field for field in fields_of(form) if field[0] not in leave_out]
    order = [key for key, *_ in fields]
    fields.sort(key=lambda field: order.index(field[0].removesuffix(PATTERNS)))
    rows = (
        (label, key_cell(key), shown(defaults[key]) if key in defaults else "", text) for key, label, text in fields
    )
    return table(("Setting", "Key", "Default", "What it does"), rows)


def bounds(key: str) -> str:
    """Return what a setting of an agent accepts."""
    match SETTINGS[key]:
        case profile.Setting(kind="number", least=least, most=most, unit=unit):
            return f"{least:g} to {most:g}{f' {unit}' if unit else ''}"
        case profile.Setting(kind="choice", options=choices):
            labels = TEXTS["selector"][key]["options"]
            return ", ".join(f"`{choice}` ({labels[choice]})" for choice in choices)
    return ""


def settings() -> str:
    """Return the page about settings."""
    sub, steps = TEXTS["config_subentries"], TEXTS["options"]["step"]
    forms = sub["profile"]["step"]
    parts = [
        "# Settings\n",
        WRITTEN,
        "Key: the name of a stored setting, also in [YAML](../PROFILES.md#as-yaml).\n",
        "## An agent\n",
    ]
    for topic, fields in {"user": FIRST, **TOPICS}.items():
        parts.append(f"### {'The first form' if topic == 'user' else forms[topic]['title']}\n")
        texts = {key: (label, text) for key, label, text in fields_of(forms[topic])}
        rows = [("Name", "`name`", "", "", texts["name"][1])] if topic == "user" else []
        for key in fields:
            default = shown(BUILT_IN[key]) if key in SETTINGS else ""
            rows.append((texts[key][0], key_cell(key), default, bounds(key) if key in SETTINGS else "", texts[key][1]))
        parts.append(table(("Setting", "Key", "Default", "Accepts", "What it does"), rows))
    parts += ["## A model\n", model_servers()]
    asked = sub["llm"]["step"]
    defaults = asdict(EndpointConfig(subentry_id="", title="", base_url="", model=""))
    for step in ("cloud", "endpoint", "model"):
        parts += [
            f"### {asked[step]['title']}{' (service with a key)' if step == 'cloud' else ''}\n",
            form_table(asked[step], defaults),
        ]
    parts.append("## Default settings\n")
    parts.append("Pages that are not listed here have the settings of an agent, as defaults of all agents.\n")
    values: dict[str, Mapping[str, Any]] = dict.fromkeys(retrieval.STEPS, retrieval.DEFAULTS)
    values |= dict.fromkeys(options.MEMORY_FIELDS, asdict(MemorySettings()))
    values |= dict.fromkeys(options.SAFETY_FIELDS, options.SAFETY)
    known: dict[str, object] = {
        "emit_events": True,
        "audit_log": False,
        "debug_logging": False,
        "allow_private_hosts": False,
    }
    known |= {"confirm_timeout": confirmation.TIMEOUT, "choose_in_conversations": False}
    listed = [step for step in steps if step in {*values, *options.OF_HOME, "agents", "confirmation", "network"}]
    for step in listed:
        left_out = (*SETTINGS,) if step in options.OF_HOME else ()
        parts += [f"### {steps[step]['title']}\n", form_table(steps[step], values.get(step, known), leave_out=left_out)]
    parts += ["## An MCP server\n"]
    asked = sub["mcp_server"]["step"]
    keys = {
        key: (label, f"`{key}`", text)
        for step in ("user", "bearer", "oauth2", "tools")
        for key, label, text in fields_of(asked[step])
    }
    parts.append(table(("Setting", "Key", "What it does"), keys.values()))
    return "\n".join(parts)


def model_servers() -> str:
    """Return the table of presets."""
    names = TEXTS["selector"]["preset"]["options"]
    return table(
        ("Server", "Suggested address", "Key", "Context window, unless the server tells it"),
        (
            (
                names[key],
                f"`{preset.base_url}`" if preset.base_url else "none",
                "required" if preset.needs_key else "if set",
                preset.context_window,
            )
            for key, preset in PRESETS.items()
        ),
    )


KEYS_OF_TOOLS = {
    "read_only": "`true`: it changes nothing. GET, HEAD and templates only read without it.",
    "destructive": "`true`: each call needs a confirmation. `false` exempts a tool that would need one.",
    "handler": "Its `type` and the keys of that type.",
    "params": "The same as `query`.",
}
"""Keys that forms ask for in another way, or not at all."""


def custom_tools() -> str:
    """Return the page about the keys of custom tools."""
    asked = TEXTS["config_subentries"]["custom_tool"]["step"]
    parts = ["# Keys of custom tools\n", WRITTEN, "Examples: [custom tools](../CUSTOM_TOOLS.md).\n"]
    schemas = {
        "Every tool": (SCHEMA, ("user",)),
        "Handler `rest`": (HANDLERS["rest"].schema, ("rest", "body", "bearer", "basic", "oauth2")),
    }
    schemas |= {f"Handler `{kind}`": (HANDLERS[kind].schema, (kind,)) for kind in ("service", "template", "mcp")}
    for title, (schema, steps) in schemas.items():
        texts = {key: text for step in steps for key, _, text in fields_of(asked[step])} | KEYS_OF_TOOLS
        rows = (
            (f"`{key}`", "required" if type(key).__name__ == "Required" else "", texts.get(str(key), ""))
            for key in schema.schema
            if str(key) != "type"
        )
        parts += [f"## {title}\n", table(("Key", "", "What it is"), rows)]
    credentials = {
        key: (f"`{key}`", step, text)
        for step in ("bearer", "basic", "oauth2")
        for key, _, text in fields_of(asked[step])
        if key != "use_anyway"
    }
    parts += ["## Authentication\n", table(("Key", "`type`", "What it is"), credentials.values())]
    return "\n".join(parts)


def actions() -> str:
    """Return the page about actions."""
    described = yaml.safe_load((COMPONENT / "services.yaml").read_text(encoding="utf-8"))
    parts = ["# Actions\n", WRITTEN]
    for action, description in described.items():
        texts = TEXTS["services"][action]
        parts += [f"## home_agent.{action}\n", f"{texts['name']}. {texts['description']}\n"]
        if wanted := (description or {}).get("fields", {}):
            rows = (
                (
                    f"`{key}`",
                    "required" if field.get("required") else "",
                    texts["fields"][key]["description"],
                    f"`{field['example']}`" if "example" in field else "",
                )
                for key, field in wanted.items()
            )
            parts.append(table(("Field", "", "What it is", "Example"), rows))
    return "\n".join(parts)


def every_tool() -> Iterator[type[HomeAgentTool]]:
    """Yield the classes of the tools that the built-in providers name."""
    named = set[str]()
    for room in (tools_room, policy_room):
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for item in vars(import_module(found.name)).values():
                own = vars(item).get("names") if isinstance(item, type) else None
                if isinstance(own, tuple) and hasattr(item, "async_tools"):
                    named |= {*own}
    left = [HomeAgentTool]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if getattr(kind, "name", None) in named and vars(kind).get("title_key"):
            yield kind


def built_in_tools() -> str:
    """Return the page about built-in tools and what entities can do."""
    parts = ["# Built-in tools\n", WRITTEN]
    for kind in sorted(every_tool(), key=lambda kind: str(kind.name)):
        notes = kind.annotations
        title = TEXTS["exceptions"][kind.title_key]["message"]
        behaviour = "Only reads." if notes.read_only else "Changes something."
        parts += [f"## {kind.name}\n", f"{title}. {behaviour}\n"]
        wire = getattr(kind, "wire_parameters", None)
        if isinstance(wire, dict) and wire.get("properties"):
            required = wire.get("required", [])
            rows = (
                (
                    f"`{key}`",
                    "required" if key in required else "",
                    item.get("description", "") or ", ".join(map(str, item.get("enum", ()))),
                )
                for key, item in wire["properties"].items()
            )
            parts.append(table(("Argument", "", "What it is"), rows))
    parts += [
        "## What entities can do\n",
        "At most; an entity can do what its features and Home Assistant actions allow.\n",
    ]
    kinds = []
    for name, record in sorted(DOMAINS.items()):
        if record.actions:
            fields = [field for value in record.values for field in record.actions[value].fields]
            others = set(record.actions) - {*record.on, *record.off, *record.toggle, *record.values}
            cells = (record.on, record.off, dict.fromkeys(fields), sorted(others))
            kinds.append((f"`{name}`", *(", ".join(f"`{item}`" for item in cell) for cell in cells)))
    parts.append(table(("Domain", "`turn_on`", "`turn_off`", "`set_value` with", "Other actions"), kinds))
    return "\n".join(parts)


MEGABYTE = 2**20
LIMITS: Mapping[str, Mapping[str, object]] = {
    "Questions and answers": {
        "Characters of a message": f"{answerers.MAX_MESSAGE:,}; {answerers.MAX_SENTENCE} to an agent without a model",
        "Characters of an answer": f"{stream.MAX_TEXT:,}, and half an hour",
        "Model requests beyond the tool calls": model_turn.MORE_REQUESTS,
        "Questions per minute from automations, to one agent": f"{policy.THROTTLE_TURNS}, configurable",
        "Questions per minute of a person or device, to all agents": f"{policy.THROTTLE_TURNS * policy.PEOPLE}: {policy.PEOPLE} times as many",
        "Wait for a model that is being loaded": f"{messages.PATIENCE} s; {model_turn.TASK.patience} s for an AI task",
        "Wait for a model server in a form": f"{discovery.TIMEOUT} s",
    },
    "Context": {
        "Tokens of names and states with which Automatic lists all": profile.AUTO_TOKENS,
        "Tokens of passages, memories and events": request.MAX_BLOCKS_TOKENS,
        "Wait for the index": f"{states.LOOKUP_TIMEOUT} s",
        "Wait for documents, memories, calendars": f"{providers.TIMEOUT} s",
        "Events sent with a question": providers.LIMIT,
        "Time to render a prompt": f"{template.RENDER_TIMEOUT} s",
        "History in a prompt": f"{history_text.HistoryOptions().max_messages} messages, {history_text.HistoryOptions().max_length} characters, {history_text.HistoryOptions().max_tokens} tokens",
    },
    "Stored conversations": {
        "Messages of a conversation": conversations.MAX_MESSAGES,
        "Conversations of a user, of the home": f"{conversations.MAX_OF_OWNER}, {conversations.MAX_CONVERSATIONS:,}",
    },
    "Tools": {
        "Texts in one entity_id": arguments.MAX_TARGETS,
        "Characters of a text that is set": arguments.MAX_LENGTH,
        "Items of a to-do list in one call": todo.MAX_ITEMS,
        "Entities told one by one in a result": write.MAX_RESULTS,
        "Wait for devices to respond": f"{write.DEFAULT_SECONDS} s, configurable",
        "Characters of a result of ha_query": f"{query.MAX_CHARACTERS:,}",
        "Entities and points of a history": f"{history.MAX_ENTITIES}, {history.MAX_POINTS}",
        "Characters of a result of other tools": f"{sanitize.MAX_RESULT:,}",
        "Characters of a name": sanitize.MAX_NAME,
        "Wait for Home Assistant tools": f"{ha_apis.TIMEOUT} s",
        "Characters of a document per call": f"{documentation.MAX_CONTENT:,}",
    },
    "Journal and undo": {
        "Actions; entities of one, of all": f"{journal.MAX_ACTIONS}; {journal.MAX_ENTITIES:,}, {journal.MAX_KEPT:,}",
        "Watch of what scripts change": f"{following.SECONDS} s; while they run, {following.MOST} s",
        "Wait for a running script before undo": f"{undo.PATIENCE} s",
    },
    "Wishes": {
        "Wishes of a person, of the home": f"{wishes.MOST_OF_USER}, {wishes.MOST:,}",
        "Wishes of a person for the same at the same time": wishes.MOST_SAME,
        "Days ahead": wishes.FARTHEST.days,
        "Actions of one wish": wishes.MOST_STEPS,
        "Characters of what is told or asked": wishes.MAX_TEXT,
        "Wishes that are done at the same time": waiting.AT_ONCE,
    },
    "Confirmation": {
        "Time to confirm": f"{confirmation.TIMEOUT} s, configurable",
        "Wrong PINs until the question is dropped": confirmation.TRIES,
        "Wrong PINs of a person within an hour": pins.WRONG,
        "Wrong PINs of all within 24 hours": pins.WRONG_IN_ALL,
        "Numbers compared with PINs in 24 hours": pins.COMPARED,
        "Codes accepted within 24 hours": pins.CODES,
    },
    "Documents": {
        "Files, passages": f"{files.MAX_FILES:,}, {knowledge.MAX_PASSAGES:,}",
        "Characters of a passage": passages.MAX_PASSAGE,
        "Size of a text, of a PDF": f"{files.MAX_TEXT_BYTES // 1_000_000} MB, {files.MAX_PDF_BYTES // 1_000_000} MB and {files.MAX_PAGES:,} pages",
        "Characters of home_agent.add_document": f"{search.MAX_TEXT:,}",
        "Metadata of a document": search.MAX_METADATA,
        "Documents of a collection that are found by words": f"{passage_search.MAX_DOCUMENTS:,}",
        "Share of a question that a passage must cover": f"{passage_search.LEAST:.0%}",
        "Wait for a vector": f"{vectors.QUERY_TIMEOUT} s",
    },
    "Requests and MCP servers": {
        "Requests at once at one host": outages.AT_ONCE,
        "Time of a request": f"{rest.DEFAULT_TIMEOUT:.0f} s, configurable",
        "Bytes of an answer": f"{http.MAX_RESPONSE:,}, configurable; {wire.MAX_BYTES // MEGABYTE} MB from an MCP server",
        "Redirects": http.MAX_REDIRECTS,
        "Bytes of a rendered template": f"{limits.MAX_OUTPUT:,}",
        "Tools of an MCP server": sdk.MAX_TOOLS,
        "Characters of a description, of a schema, of all": f"{provider.MAX_DESCRIPTION:,}, {sanitize.MAX_SCHEMA:,}, {provider.MAX_TOLD:,}",
        "Calls at once at one MCP server": server.AT_ONCE,
        "Check of an MCP server": f"every {server.CHECK:.0f} s; when away, after {server.FIRST_DELAY:.0f} s to {server.LONGEST_DELAY:.0f} s",
    },
    "Events": {
        "Ids in one event": events.MAX_IDS,
        "Characters of a result in an event": f"{events.MAX_RESULT:,}",
    },
}  # fmt: skip
"""By heading and name, taken from the code that enforces them."""


def all_limits() -> str:
    """Return the page about limits."""
    parts = ["# Limits\n", WRITTEN]
    for heading, listed in LIMITS.items():
        parts += [f"## {heading}\n", table(("What", "Limit"), listed.items())]
    return "\n".join(parts)


PAGES = {
    "settings.md": settings,
    "custom-tools.md": custom_tools,
    "actions.md": actions,
    "tools.md": built_in_tools,
    "limits.md": all_limits,
}


def main() -> int:
    """Write the pages, or say which differ; return the exit code."""
    outdated = []
    for name, write_page in PAGES.items():
        path, text = FOLDER / name, write_page().rstrip() + "\n"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            outdated.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if "--check" in sys.argv and outdated:
        print(f"docs/reference is out of date, run scripts/reference: {', '.join(outdated)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
