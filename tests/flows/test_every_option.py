"""Every option of every form changes something that can be seen from outside, and a test shows it."""

import ast
import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields as dataclass_fields
from datetime import timedelta
import json
from pathlib import Path
import re
from typing import Any

from aiohttp import web
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import SOURCE_RECONFIGURE, SOURCE_USER
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser, async_fire_time_changed

from custom_components.home_agent.flows.custom_tool import BASICS as TOOL_BASICS, CREDENTIALS, FORMS as TOOL_FORMS
from custom_components.home_agent.flows.fields import TOPICS as AGENT_TOPICS
from custom_components.home_agent.flows.mcp_server import CONNECTION, CREDENTIALS as SERVER_CREDENTIALS, DETAILS
from custom_components.home_agent.flows.options import (
    ADVANCED_TOPICS,
    AGENTS,
    GUARDED as GUARDED_REASONS,
    NETWORK,
    SAFETY,
    TOPICS,
    field_of,
)
from custom_components.home_agent.flows.retrieval import REMOVE
from custom_components.home_agent.settings.endpoint import EndpointConfig
from custom_components.home_agent.settings.memory import MemorySettings
from custom_components.home_agent.settings.profile import SETTINGS, in_parts
from custom_components.home_agent.settings.search import RetrievalSettings
from custom_components.home_agent.support import const
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.tools.custom.provider import HANDLERS
from tests.flows.forms import (
    Result,
    arranged,
    change,
    fields,
    go_through,
    more,
    page,
    resend,
    resend_page,
    send,
    shown,
)
from tests.house import act, build_house, part_of, say, set_up, speech, subentry
from tests.llm_server import LLMServer, Reply, text, tool_call
from tests.tools.custom.conftest import server
from tests.tools.custom.rest_server import RestServer, answer

__all__ = ["server"]

NOWHERE = "http://127.0.0.1:9"
"""An address at which nothing listens: a form then offers to go on without the check."""


async def all_forms(hass: HomeAssistant, server: LLMServer) -> dict[tuple[str, str], set[str]]:
    """Return every field of every form by flow and step, read from the forms as a browser gets them."""
    found = dict[tuple[str, str], set[str]]()
    config, options, subentries = hass.config_entries.flow, hass.config_entries.options, hass.config_entries.subentries

    def note(result: Result) -> Result:
        assert result["type"] == "form", result
        found.setdefault((str(result["handler"]), result["step_id"]), set()).update(fields(result))
        return result

    for preset in ("custom", "azure", "ollama"):  # some have fields of their own
        form = note(await config.async_init(DOMAIN, context={"source": SOURCE_USER}))
        form = note(await config.async_configure(form["flow_id"], {"name": "A", "preset": preset}))
        key = {"api_key": "k", **({"api_version": "2024-10-21"} if preset == "azure" else {})}
        note(await config.async_configure(form["flow_id"], {"base_url": NOWHERE, **key}))
        form = await config.async_configure(form["flow_id"], {"base_url": NOWHERE, **key, "use_anyway": True})
        note(form)
        config.async_abort(form["flow_id"])

    secrets = {"chroma_token": "t", "embedding_key": "k", "chroma_host": "127.0.0.1", "chroma_port": 9}
    entry = await set_up(hass, server, options={"pins": {"unlock": "2468"}, "retrieval": secrets})
    reauth: Any = {"source": "reauth", "entry_id": entry.entry_id}
    note(await config.async_init(DOMAIN, context=reauth, data={"subentry_id": "llm-1"}))

    for topic in (*TOPICS, *ADVANCED_TOPICS):
        form = note(await page(hass, entry, topic))
        if topic == "retrieval":
            both = {"store": "chroma", "embedding": "endpoint"}
            for values in (
                both,
                {"chroma_port": 9},
                {"chroma_port": 9, "use_anyway": True},
                {"embedding_url": NOWHERE},
            ):
                form = note(await resend_page(hass, form, **values))
    check = await options.async_init(entry.entry_id)
    note(await options.async_configure(check["flow_id"], {"next_step_id": "check"}))

    def start(kind: str, **context: Any) -> Any:
        asked: Any = {"source": SOURCE_USER, **context}
        return subentries.async_init((entry.entry_id, kind), context=asked)

    menu = await start("profile")
    form = note(await subentries.async_configure(menu["flow_id"], {"next_step_id": "blank"}))
    menu = await more(hass, form, name="Other")
    for topic in (*AGENT_TOPICS, "yaml"):
        form = note(await send(hass, menu, next_step_id=topic))
        menu = await resend(hass, form) if topic != "yaml" else menu
    note(await change(hass, entry))
    note(await start("llm"))
    form = await start("llm", source=SOURCE_RECONFIGURE, subentry_id="llm-1")
    form = note(form)
    note(await subentries.async_configure(form["flow_id"], {"base_url": server.base_url}))
    for kind in HANDLERS:
        form = note(await start("custom_tool"))
        basics = {"name": f"tool_{kind}", "description": "d", "type": kind, "behaviour": "default"}
        form = note(await subentries.async_configure(form["flow_id"], basics))
        for way in CREDENTIALS if kind in ("rest", "mcp") else ():
            again = await start("custom_tool")
            where = {"url": NOWHERE, "method": "PUT", "server_url": NOWHERE, "auth": way, "body": "a"}
            form = await subentries.async_configure(again["flow_id"], basics)
            while form["type"] == "form" and form["step_id"] != way:
                form = note(form)
                form = await subentries.async_configure(form["flow_id"], arranged(form, where))
            note(form)
    form = note(await start("mcp_server"))
    where = {"name": "S", "url": NOWHERE, "transport": "auto", "auth": "none"}
    form = note(await go_through(subentries.async_configure, form, where))
    note(await go_through(subentries.async_configure, form, {**where, "use_anyway": True}))
    for auth in ("bearer", "oauth2"):
        form = await start("mcp_server")
        note(await go_through(subentries.async_configure, form, {**where, "auth": auth}))
    return found


# What each option of an agent changes: it is set through the form of the agent, then through that of the default settings.


class World:
    """A home with one agent, as somebody sees it from outside."""

    def __init__(self, hass: HomeAssistant, server: LLMServer, entry: MockConfigEntry) -> None:
        self.hass = hass
        self.server = server
        self.entry = entry
        self.context = Context(user_id="")

    async def ask(self, words: str, *replies: Reply, said: str | None = None) -> tuple[str, str, list[dict[str, Any]]]:
        """Say something; return the answer, the conversation, and the bodies of the requests that were made for it."""
        before, left = len(self.server.requests), list(replies)
        self.server.respond(lambda _body: left.pop(0) if left else text("**Fine**, thanks."))
        result = await say(self.hass, words, said, context=self.context)
        await self.hass.async_block_till_done()
        bodies = [request.body for request in self.server.requests[before:]]
        return speech(result), str(result.conversation_id), bodies

    async def first(self, words: str = "Is the bed light on?") -> dict[str, Any]:
        """Return the body of the first request of a new conversation."""
        return (await self.ask(words))[2][0]

    async def system(self) -> str:
        return str((await self.first())["messages"][0]["content"])

    async def part(self, words: str = "Is the bed light on?") -> dict[str, Any]:
        return part_of((await self.first(words))["messages"][-1])

    async def tools(self) -> set[str]:
        return {tool["function"]["name"] for tool in (await self.first()).get("tools", ())}

    async def talk(self, *words: str) -> list[dict[str, Any]]:
        """Return the messages of the last request of a talk."""
        said: str | None = None
        bodies: list[dict[str, Any]] = []
        for sentence in words:
            _, said, bodies = await self.ask(sentence, said=said)
        return list(bodies[-1]["messages"])

    async def later(self) -> str:
        """Return the instructions of a conversation that goes on after a restart of the integration."""
        call = tool_call("ha_control", {"action": "turn_on", "entity_id": "light.bed_light"})
        _, said, _ = await self.ask("Bed light on, please", call, text("It is on."))
        await self.ask(
            "Thank you so much for that", text(" ".join(f"You are welcome, {n}." for n in range(30))), said=said
        )
        await self.hass.config_entries.async_reload(self.entry.entry_id)
        for when in (6, 0):
            async_fire_time_changed(self.hass, dt_util.utcnow() + timedelta(minutes=when))
            await self.hass.async_block_till_done()
        _, _, bodies = await self.ask("And now?", said=said)
        return str(bodies[0]["messages"][0]["content"])


type See = Callable[[World], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What is seen with an option as it is by default, and with another value."""

    value: Any
    see: See
    before: object
    after: object
    base: Mapping[str, Any] = field(default_factory=dict)
    """Other options of the agent without which this one has no meaning."""


async def requests(world: World) -> object:
    return len((await world.ask("Turn on the bed light", text("I cannot.")))[2]) > 0


async def instructions(world: World) -> object:
    system = await world.system()
    return next((word for word in ("Mine.", "Other.", "[en]", "[{language}]") if word in system), None)


def instructed(words: str) -> See:
    """Return a look for words in the instructions."""

    async def see(world: World) -> object:
        return words in await world.system()

    return see


def sees(key: str, usual: object = None) -> See:
    """Return a look at one key of the body."""

    async def see(world: World) -> object:
        return (await world.first()).get(key, usual)

    return see


async def clock(world: World) -> object:
    """Return the zones of the clock beside the question and of a time that a tool answers with."""
    call = tool_call("ha_query", {"entity_id": "light.bed_light"})
    _, _, bodies = await world.ask("Is the bed light on?", call, text("No."))
    told = part_of(bodies[0]["messages"][-1])["time"]
    tool = json.loads(bodies[1]["messages"][-1]["content"])
    zones = {name: dt_util.get_time_zone(name) for name in ("US/Pacific", "Asia/Tokyo")}
    now = dt_util.utcnow()
    zone = next(name for name, item in zones.items() if item and now.astimezone(item).strftime("%H:%M") == told)
    return zone, str(tool["result"]["last_changed"])[-6:]


async def states(world: World) -> object:
    home, _, below = str((await world.first())["messages"][0]["content"]).partition("\n\n## States\n")
    areas = [json.loads(line) for line in home.partition("## Home\n\n")[2].splitlines()]
    if named := [key for area in areas for key in area.get("states", {})]:
        return sorted({key.partition(".")[0] for key in named})
    lines = below.strip().splitlines()[3:] or [""]  # behind heading, date and language
    told = json.loads(lines[0]) if lines[0].startswith("{") else lines if lines[0] else None
    return sorted({key.partition(".")[0] for key in told}) if isinstance(told, dict) else type(told).__name__


async def matching(world: World) -> object:
    return len((await world.part("Which lights are there?"))["states"])


async def changes(world: World) -> object:
    world.hass.states.async_set("light.bed_light", "off")
    _, said, _ = await world.ask("Hello, how are you?")
    world.hass.states.async_set("light.bed_light", "on")
    _, _, bodies = await world.ask("Fine as well.", said=said)
    return "light.bed_light" in part_of(bodies[0]["messages"][-1]).get("states", {})


async def sent_again(world: World) -> object:
    return sum(message["role"] == "user" for message in await world.talk("One.", "Two.", "Three.", "Four."))


async def offered(world: World) -> object:
    names = await world.tools()
    return {
        tool
        for tool in ("ha_query", "weather", "HassTurnOn", "query_external_llm", "get_user_documentation_content")
        if any(tool in n for n in names)
    }


async def described(world: World) -> object:
    tools = (await world.first())["tools"]
    return next("Sums." in str(tool["function"]) for tool in tools if "external" in tool["function"]["name"])


async def lent(world: World) -> object:
    return [api.name for api in llm.async_get_apis(world.hass) if api.id.startswith(DOMAIN)]


async def switched(world: World) -> object:
    call = tool_call("ha_control", {"action": "turn_on", "entity_id": "switch.decorative_lights"})
    world.hass.states.async_set("switch.decorative_lights", "off")
    answer, _, _ = await world.ask("Decorative lights on", call, text("It is on."))
    return "?" in answer


async def carried_out(world: World) -> object:
    call = tool_call("ha_control", {"action": "turn_on", "entity_id": "switch.decorative_lights"})
    world.hass.states.async_set("switch.decorative_lights", "off")
    _, _, bodies = await world.ask("Decorative lights on", call, text("Well."))
    return json.loads(bodies[1]["messages"][-1]["content"])["success"]


async def unlocked(world: World) -> object:
    call = tool_call("ha_control", {"action": "unlock", "entity_id": "lock.front_door"})
    answer, _, _ = await world.ask("Unlock the front door", call, text("It is open."))
    return "?" in answer


async def spoken(world: World) -> object:
    return (await world.ask("How are you?"))[0]


async def length_heard(world: World) -> object:
    """Return how many sentences are heard, and whether it is said that there were more."""
    answer, _, _ = await world.ask("Tell me", text(" ".join(f"Number {number}." for number in range(100))))
    return answer.count("Number"), "reached the maximum length" in answer


async def waited_for(world: World) -> object:
    """Return whether an answer is heard that takes six seconds."""
    answer, _, _ = await world.ask("Tell me", text("At last.", delay=6))
    return answer == "At last."


async def rounds(world: World) -> object:
    """Return how often a model is asked that calls a tool whenever it may."""
    call = tool_call("ha_query", {"entity_id": "light.bed_light"})
    before = len(world.server.requests)
    world.server.respond(lambda body: text("Enough.") if body.get("tool_choice") == "none" else call)
    await say(world.hass, "Is the bed light on?", context=world.context)
    return len(world.server.requests) - before


async def pictured(world: World) -> object:
    agent = world.hass.states.get("conversation.home_agent")
    return agent and agent.attributes.get("icon")


HISTORY = {"prompt_additions": "Before:\n{{ message_history }}"}


async def remembered(world: World) -> object:
    told = (await world.later()).partition("Before:\n")[2]
    return tuple(word in told for word in ("Bed light on", "ha_control", "Thank you", "You are welcome"))


OWN_PROMPT = {"use_default_prompt": False, "custom_prompt": "Mine."}
SETTINGS_SEEN: dict[str, Effect] = {
    "llm": Effect(value="none", see=requests, before=True, after=False),
    "llm_model": Effect(value="other", see=sees("model"), before="scripted", after="other"),
    "language": Effect(value="de", see=instructed("Always answer in the language `de`"), before=False, after=True),
    "prompts": Effect(
        value={"rules": "Other."}, see=instructions, before="Mine.", after="Other.",
        base={"prompt_additions": "{{ prompts.rules }}", "prompts": {"rules": "Mine."}},
    ),
    "local_first": Effect(value=True, see=requests, before=True, after=False),
    "prompt_additions": Effect(value="Other.", see=instructions, before=None, after="Other."),
    "use_default_prompt": Effect(value=False, see=instructed("You are a helpful home assistant"), before=True, after=False, base={"custom_prompt": "Mine."}),
    "custom_prompt": Effect(value="Other.", see=instructions, before="Mine.", after="Other.", base=OWN_PROMPT),
    "use_prompt_context_service": Effect(
        value=False, see=instructions, before="[en]", after="[{language}]", base={"prompt_additions": "[{language}]"},
    ),
    "prompt_history_system": Effect(
        value=True, see=remembered, before=(True, False, True, True), after=(True, True, True, True), base=HISTORY,
    ),
    "system_documents": Effect(value=["USER_GUIDE.md"], see=instructed("## Documentation: USER_GUIDE.md\n\n# What the agent can do"), before=False, after=True),
    "timezone": Effect(value="Asia/Tokyo", see=clock, before=("US/Pacific", "-08:00"), after=("Asia/Tokyo", "+09:00")),
    "context_mode": Effect(value="off", see=states, before=["cover", "light", "lock", "switch"], after="NoneType"),
    "context_format": Effect(
        value="natural_language", see=states, before=["cover", "light", "lock", "switch"], after="list",
    ),
    "context_entities": Effect(
        value=["lock.front_door"], see=states, before=["cover", "light", "lock", "switch"], after=["lock"],
        base={"context_mode": "direct"},
    ),
    "context_entities_patterns": Effect(
        value=[{"entity_id": "lock.*"}], see=states, before=["cover", "light", "lock", "switch"], after=["lock"],
        base={"context_mode": "direct"},
    ),
    "exposed_areas": Effect(
        value=["kitchen"], see=states, before=["cover", "light", "lock", "switch"], after=["cover", "light"],
    ),
    "exposed_entities": Effect(
        value=["lock.front_door"], see=states, before=["cover", "light", "lock", "switch"], after=["lock"],
    ),
    "exposed_entities_patterns": Effect(
        value=["lock", "cover.*"], see=states, before=["cover", "light", "lock", "switch"], after=["cover", "lock"],
    ),
    "context_max_entities": Effect(value=1, see=matching, before=4, after=1, base={"context_mode": "retrieved"}),
    "context_update_interval": Effect(value=3600, see=changes, before=True, after=False),
    "history_enabled": Effect(value=False, see=sent_again, before=4, after=1),
    "history_max_messages": Effect(value=2, see=sent_again, before=4, after=2),
    "native_tools": Effect(value=False, see=offered, before={"ha_query", "weather"}, after={"weather"}),
    "custom_tools": Effect(value=["none"], see=offered, before={"ha_query", "weather"}, after={"ha_query"}),
    "llm_apis": Effect(
        value=["assist"], see=offered, before={"ha_query", "weather"}, after={"ha_query", "weather", "HassTurnOn"},
    ),
    "allowed_tools": Effect(value=["ha_q*"], see=offered, before={"ha_query", "weather"}, after={"ha_query"}),
    "max_iterations": Effect(value=2, see=rounds, before=6, after=2),
    "documentation_tool": Effect(
        value=True, see=offered, before={"ha_query", "weather"},
        after={"ha_query", "weather", "get_user_documentation_content"},
    ),
    "external_llm": Effect(
        value="llm-1", see=offered, before={"ha_query", "weather"}, after={"ha_query", "weather", "query_external_llm"},
    ),
    "external_llm_description": Effect(
        value="Sums.", see=described, before=False, after=True, base={"external_llm": "llm-1"},
    ),
    "offer_tools": Effect(value=True, see=lent, before=[], after=["Home Agent"]),
    "always_ask": Effect(value=["switch.decorative_lights"], see=switched, before=False, after=True),
    "always_ask_patterns": Effect(value=["switch"], see=switched, before=False, after=True),
    "never_ask": Effect(value=["lock.front_door"], see=unlocked, before=True, after=False),
    "never_ask_patterns": Effect(value=["lock"], see=unlocked, before=True, after=False),
    "never_offer": Effect(value=["switch.decorative_lights"], see=carried_out, before=True, after=False),
    "never_offer_patterns": Effect(value=["ha_query"], see=offered, before={"ha_query", "weather"}, after={"weather"}),
    "may_change": Effect(value=["light.bed_light"], see=carried_out, before=True, after=False),
    "may_change_patterns": Effect(value=["light"], see=carried_out, before=True, after=False),
    "icon": Effect(value="mdi:owl", see=pictured, before=None, after="mdi:owl"),
    "streaming": Effect(value=False, see=sees("stream", False), before=True, after=False),
    "max_answer_tokens": Effect(value=60, see=length_heard, before=(100, False), after=(15, True)),
    "spoken_wait": Effect(value=5, see=waited_for, before=True, after=False, base={"speech": "always"}),
    "speech": Effect(value="always", see=spoken, before="**Fine**, thanks.", after="Fine, thanks."),
}  # fmt: skip
"""Those that one look shows; the others stand in `SHOWN`."""


async def set_in_agent(world: World, key: str, value: object) -> None:
    result = await resend(world.hass, await change(world.hass, world.entry), **{key: value})
    assert result["type"] == "abort", result


async def set_in_defaults(world: World, key: str, value: object) -> None:
    for topic in (*TOPICS, *ADVANCED_TOPICS):
        form = await page(world.hass, world.entry, topic)
        if key in fields(form):
            result = await resend_page(world.hass, form, **{key: value})
            assert result["type"] == "menu", result
            return
        world.hass.config_entries.options.async_abort(form["flow_id"])
    pytest.fail(f"no form of the default settings has {key}")


WEATHER = {"name": "weather", "description": "Weather.", "handler": {"type": "template", "template": "Rain"}}
TOOL = subentry("custom_tool", "weather", "tool-1", WEATHER)


ONLY_IN_AGENTS = {"icon"} | {
    name for key in ("always_ask", "never_ask", "may_change") for name in (key, f"{key}_patterns")
}


@pytest.mark.parametrize(
    ("key", "setting"),
    [(key, set_in_agent) for key in SETTINGS_SEEN]
    + [(key, set_in_defaults) for key in SETTINGS_SEEN if key not in ONLY_IN_AGENTS],
)
async def test_an_option_of_an_agent_changes_what_it_says(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser, key: str, setting: Any
) -> None:
    effect = SETTINGS_SEEN[key]
    await build_house(hass)
    defaults = {"local_first": False, **effect.base}
    entry = await set_up(
        hass, llm_server, options={"default_profile_settings": in_parts(defaults)}, more=[TOOL], model_first=False
    )
    world = World(hass, llm_server, entry)
    world.context = Context(user_id=hass_admin_user.id)
    assert await effect.see(world) == effect.before
    await setting(world, key, effect.value)
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await effect.see(world) == effect.after


# What each option of a model changes in the requests that its server gets.


async def with_tools(world: World) -> object:
    return "tools" in await world.first()


async def answered(world: World) -> object:
    """Return the key that came along, and where the request went."""
    await world.first()
    return world.server.request.headers.get("Authorization")


MODEL_SEEN: dict[str, Effect] = {
    "temperature": Effect(value=0.35, see=sees("temperature"), before=None, after=0.35),
    "top_p": Effect(value=0.5, see=sees("top_p"), before=None, after=0.5),
    "max_tokens": Effect(value=77, see=sees("max_tokens"), before=None, after=77),
    "keep_alive": Effect(value="9m", see=sees("keep_alive"), before=None, after="9m"),
    "model": Effect(value="other", see=sees("model"), before="scripted", after="other"),
    "tool_calling": Effect(value=False, see=with_tools, before=True, after=False),
    "api_key": Effect(value="sk-new", see=answered, before="Bearer sk-house-key", after="Bearer sk-new"),
    "remove_key": Effect(value=True, see=answered, before="Bearer sk-house-key", after=None),
}


@pytest.mark.parametrize("key", MODEL_SEEN)
async def test_an_option_of_a_model_reaches_its_server(hass: HomeAssistant, llm_server: LLMServer, key: str) -> None:
    effect = MODEL_SEEN[key]
    await build_house(hass)
    world = World(hass, llm_server, await set_up(hass, llm_server))
    assert await effect.see(world) == effect.before
    flows, given = hass.config_entries.subentries, {key: effect.value}
    where: Any = {"source": SOURCE_RECONFIGURE, "subentry_id": "llm-1"}
    form: Any = await flows.async_init((world.entry.entry_id, "llm"), context=where)
    connection = {name: item for name, item in given.items() if name in fields(form)}
    form = await flows.async_configure(form["flow_id"], shown(form) | connection)
    listed = [str(marker) for marker in form["data_schema"].schema if marker != "advanced"]
    values = shown(form) | given
    sent = {name: values[name] for name in listed if name in values}
    advanced = {name: values[name] for name in fields(form) if name not in listed and name in values}
    result = await flows.async_configure(form["flow_id"], sent | {"advanced": advanced})
    assert result["type"] == "abort", result
    await hass.async_block_till_done(wait_background_tasks=True)
    assert await effect.see(world) == effect.after


# What each option of a request of one's own changes at the server that it asks, or in its result.

type Look = Callable[[RestServer, Mapping[str, Any]], object]


def asked(part: str) -> Look:
    return lambda server, _result: getattr(server.last, part)


def header(name: str) -> Look:
    return lambda server, _result: server.last.headers.get(name)


def came(key: str) -> Look:
    return lambda _server, result: result.get(key)


def whole(_server: RestServer, result: Mapping[str, Any]) -> object:
    return "x" * 3000 in str(result)


def asked_for_a_token(name: str) -> Look:
    """Return a look at what the token server was sent."""

    def look(server: RestServer, _result: Mapping[str, Any]) -> object:
        (asked,) = [asked for asked in server.asked if asked.target.startswith(("/token", "/other"))][-1:]
        if name == "target":
            return asked.target
        return asked.headers.get("Authorization") if name == "basic" else asked.form.get(name)

    return look


OAUTH = {"type": "oauth2", "token_url": "URL/token", "client_id": "me", "client_secret": "s1"}
BASIC = {"type": "basic", "username": "me", "password": "p1"}


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


REST_SEEN: dict[str, tuple[Mapping[str, Any], Any, Look, object, object]] = {
    "url": ({}, "URL/v2", asked("target"), "/v1", "/v2"),
    "method": ({}, "HEAD", asked("method"), "GET", "HEAD"),
    "headers": ({}, {"X-Room": "attic"}, header("X-Room"), None, "attic"),
    "query": ({}, {"room": "attic"}, asked("target"), "/v1", "/v1?room=attic"),
    "body": ({"method": "POST"}, {"a": 1}, asked("body"), b"", b'{"a":1}'),
    "content_type": (
        {"method": "POST", "body": "a"}, "text/csv", header("Content-Type"), "text/plain; charset=utf-8", "text/csv",
    ),
    "response": ({}, "It says {{ response.ok }}.", came("result"), {"ok": True}, "It says true."),
    "response_path": ({}, "ok", came("result"), {"ok": True}, True),
    "timeout": ({"url": "URL/slow"}, 1, came("success"), True, False),
    "max_response_bytes": ({"url": "URL/long"}, 1024, whole, True, False),
    "min_interval": ({}, 3600, came("success"), True, False),
    "auth.type": ({"auth": {"token": "t1"}}, "bearer", header("Authorization"), None, "Bearer t1"),
    "auth.token": (
        {"auth": {"type": "bearer", "token": "t1"}}, "t2", header("Authorization"), "Bearer t1", "Bearer t2",
    ),
    "auth.username": ({"auth": BASIC}, "you", header("Authorization"), basic("me", "p1"), basic("you", "p1")),
    "auth.password": ({"auth": BASIC}, "p2", header("Authorization"), basic("me", "p1"), basic("me", "p2")),
    "auth.token_url": ({"auth": OAUTH}, "URL/other", asked_for_a_token("target"), "/token", "/other"),
    "auth.client_id": ({"auth": OAUTH}, "you", asked_for_a_token("basic"), basic("me", "s1"), basic("you", "s1")),
    "auth.client_secret": ({"auth": OAUTH}, "s2", asked_for_a_token("basic"), basic("me", "s1"), basic("me", "s2")),
    "auth.scope": ({"auth": OAUTH}, "read", asked_for_a_token("scope"), None, ["read"]),
    "auth.audience": ({"auth": OAUTH}, "house", asked_for_a_token("audience"), None, ["house"]),
    "auth.credentials_in": ({"auth": OAUTH}, "body", asked_for_a_token("client_id"), None, ["me"]),
}  # fmt: skip
"""By field: the other fields, the other value, where it is seen, and what with and without it."""


def at(server: RestServer, value: Any) -> Any:
    """Return a value with the address of the server."""
    if isinstance(value, dict):
        return {key: at(server, item) for key, item in value.items()}
    return value.replace("URL", server.url) if isinstance(value, str) else value


async def slow(_request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(1.2)
    return web.json_response({"ok": True})


async def token(_request: web.Request) -> web.StreamResponse:
    return web.json_response({"access_token": "a", "token_type": "bearer", "expires_in": 3600})


@pytest.mark.parametrize("key", REST_SEEN)
async def test_an_option_is_sent(hass: HomeAssistant, hass_admin_user: MockUser, server: RestServer, key: str) -> None:
    given, value, look, before, after = REST_SEEN[key]
    server.answers |= {"/slow": slow, "/long": answer("x" * 3000), "/token": token, "/other": token}
    entry = await set_up(hass)

    async def seen(name: str, handler: Mapping[str, Any]) -> object:
        """Enter a tool, use it twice, and look."""
        flows = hass.config_entries.subentries
        form = await flows.async_init((entry.entry_id, "custom_tool"), context={"source": SOURCE_USER})
        basics = {"name": name, "description": "d", "type": "rest", "behaviour": "read_only"}
        form = await flows.async_configure(form["flow_id"], basics)
        values = at(server, dict(handler))
        auth = values.pop("auth", {"type": "none"})
        values |= auth | {"auth": auth.get("type", "none")}
        values.setdefault("body", "")  # asked for where the method has one
        result = await go_through(flows.async_configure, form, values)
        assert result["type"] == "create_entry", result
        await hass.async_block_till_done()
        for _ in range(2):
            told = await act(hass, "execute_tool", Context(user_id=hass_admin_user.id), tool_name=name, parameters={})
        return look(server, told)

    base: dict[str, Any] = {"url": "URL/v1", **given}
    assert await seen("one", base) == before
    section, _, name = key.rpartition(".")
    assert await seen("two", base | ({section: base[section] | {name: value}} if section else {name: value})) == after
    await asyncio.sleep(0.3 if key == "timeout" else 0)  # the server ends with what nobody waited for


@pytest.mark.parametrize("verify_ssl", [True, False])
async def test_the_certificate_of_a_request_is_looked_at_unless_told(
    hass: HomeAssistant, hass_admin_user: MockUser, tls_server: LLMServer, verify_ssl: bool
) -> None:
    tls_server.models = ["attic"]
    entry = await set_up(hass)
    flows = hass.config_entries.subentries
    form = await flows.async_init((entry.entry_id, "custom_tool"), context={"source": SOURCE_USER})
    basics = {"name": "ask", "description": "d", "type": "rest", "behaviour": "read_only"}
    form = await flows.async_configure(form["flow_id"], basics)
    given = {"url": f"{tls_server.base_url}/models", "limits": {"verify_ssl": verify_ssl}}
    assert (await flows.async_configure(form["flow_id"], given))["type"] == "create_entry"
    await hass.async_block_till_done()
    told = await act(hass, "execute_tool", Context(user_id=hass_admin_user.id), tool_name="ask", parameters={})
    assert ("attic" in str(told)) is not verify_ssl


GUARDED: dict[str, tuple[str, str, str, Mapping[str, Any]]] = {
    "pin_unlock": ("lock.front_door", "unlock", "locked", {}),
    "pin_open_door": ("cover.garage", "open", "closed", {"device_class": "garage", "supported_features": 3}),
    "pin_open_valve": ("valve.water", "open", "closed", {"device_class": "water", "supported_features": 3}),
    "pin_disarm": ("alarm_control_panel.home", "disarm", "armed_away", {"supported_features": 3}),
}


@pytest.mark.parametrize("key", GUARDED)
async def test_a_pin_is_asked_for_by_what_it_guards(
    hass: HomeAssistant, llm_server: LLMServer, hass_admin_user: MockUser, key: str
) -> None:
    entity_id, action, state, attributes = GUARDED[key]
    await build_house(hass)
    for domain in ("valve", "alarm_control_panel"):
        assert await async_setup_component(hass, domain, {})
    hass.states.async_set(entity_id, state, attributes)
    async_expose_entity(hass, "conversation", entity_id, True)
    world = World(hass, llm_server, await set_up(hass, llm_server))
    world.context = Context(user_id=hass_admin_user.id)
    call = tool_call("ha_control", {"action": action, "entity_id": entity_id})
    assert "?" in (before := (await world.ask("Do it", call))[0])
    assert "PIN" not in before
    await set_in_defaults(world, key, "2468")
    await hass.async_block_till_done(wait_background_tasks=True)
    assert "PIN" in (await world.ask("Do it", call))[0]


# What one look does not show has tests of its own. Here it is derived that no form asks for what nothing reads or tests.

PACKAGE, TESTS = Path("custom_components/home_agent"), Path("tests")
STORED = {
    *SETTINGS,
    *(item.name for kind in (MemorySettings, RetrievalSettings, EndpointConfig) for item in dataclass_fields(kind)),
    *(*SAFETY, *AGENTS, *NETWORK),
    *("emit_events", "audit_log", "debug_logging", "confirm_timeout", "extensions_off", "pins"),
}
"""What options and subentries store, by key."""
WRITTEN = {key for forms in TOOL_FORMS.values() for part in forms.values() for key in part} | {
    *(*TOOL_BASICS.keys() - {"behaviour"}, *CONNECTION, *DETAILS, "allowed_tools"),
    *(key for part in SERVER_CREDENTIALS.values() for key in part),
}
"""What tools and servers of the owner's are made of, by key."""
BY_TYPE = {"fact_ttl", "preference_ttl", "context_ttl", "event_ttl"}
"""Read with a name that is put together from the type of a memory."""
ASKED = {"automations", "behaviour", "try_model", "use_anyway", "more", "yaml", "sentence"}
"""What forms ask for besides, for themselves."""


def read_by(path: Path) -> set[str]:
    """Return the attributes, constants of keys and texts that a module uses."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(attr=name, ctx=ast.Load()):
                found.add(name)
            case ast.Name(id=name) if isinstance(key := getattr(const, name, None), str):
                found.add(key)
            case ast.Constant(value=str(text)) if path.is_relative_to(PACKAGE / "tools"):
                found.add(text)
    return found


@pytest.fixture(scope="module")
def read() -> set[str]:
    """Return what the package uses outside of its forms and constants."""
    modules = (path for path in PACKAGE.rglob("*.py") if not path.is_relative_to(PACKAGE / "flows"))
    return set().union(*(read_by(path) for path in modules if path.name != "const.py"))


@pytest.fixture(scope="module")
def tested() -> set[str]:
    """Return the words of all other tests, and what is looked at above."""
    others = (path.read_text(encoding="utf-8") for path in TESTS.rglob("*.py") if path.name != Path(__file__).name)
    return set(re.findall(r"\w+", "\n".join(others))) | SETTINGS_SEEN.keys() | MODEL_SEEN.keys()


@pytest.mark.parametrize("option", sorted(STORED | WRITTEN))
def test_an_option_is_read_and_has_a_test(option: str, read: set[str], tested: set[str]) -> None:
    assert option in read | BY_TYPE
    assert option in tested


@pytest.fixture
async def forms(hass: HomeAssistant, llm_server: LLMServer) -> dict[tuple[str, str], set[str]]:
    return await all_forms(hass, llm_server)


async def test_no_form_asks_for_anything_else(forms: dict[tuple[str, str], set[str]]) -> None:
    asked = {name.removesuffix("_patterns") for names in forms.values() for name in names}
    pins, removals = {field_of(reason) for reason in GUARDED_REASONS}, {*REMOVE.values(), "remove_key"}
    assert asked - STORED - WRITTEN == ASKED | pins | removals


NOT_ASKED = {
    "subentry_id": "Home Assistant makes it.",
    "pins": "Each kind of confirmation has a field of its own, pin_unlock and others.",
}
"""Options that no form asks for by their name, and why. What only YAML says: an empty text or list of an agent."""


async def test_every_option_is_in_a_form_or_has_a_reason(forms: dict[tuple[str, str], set[str]]) -> None:
    asked = {name.removesuffix("_patterns") for names in forms.values() for name in names}
    assert STORED - asked == NOT_ASKED.keys()


async def test_no_form_is_longer_than_a_family_reads(forms: dict[tuple[str, str], set[str]]) -> None:
    """An agent's form has ten fields at most, each other form twelve; the gear has eight topics at most."""
    counts = {where: len(names) for where, names in forms.items()}
    first = [counts[where] for where in counts if "profile" in where[0] and where[1] in ("user", "reconfigure")]
    assert len(first) == 2
    assert max(first) <= 10
    assert max(counts.values()) <= 12, counts
    assert len(TOPICS) <= 8
    assert len(counts) >= 50
