"""An agent that stands before the one under attack: it hands everything on, whatever the attack is.

`--front delegating`: an agent that delegates. `--front routing`: one with a router, whose only extension is the agent under attack;
its tools have other names there. What a test plans for the model is what the agent behind it does; that one has the settings and
the rules of the test, and so has the one before it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
import json
from typing import Any

from custom_components.home_agent.agent.segments import MAX_INTENT
from custom_components.home_agent.tools.extensions.extension import VERBS
from tests.house import subentry
from tests.llm_server import LLMServer, Reply, text, tool_call
from tests.routing import ROUTER, SYNTHESIZER, part_of_turn

FRONTS = ("delegating", "routing")
ASKS = "delegate_to_service"
DOMAIN = "DOMESTIC"
BEHIND = "behind"
"""The id of the agent behind it; a home may have others, by other names."""

DIFFERS = {
    "test_a_question_of_the_model_before_the_true_one": "what the agent behind it says is not heard beside the question",
    "test_a_closing_memory": "it counts the parts of a message, of which one more is the task",
    "test_a_page_wants_memory": "it looks for the name of a tool, which has two here",
    "test_a_memory_of_a_page": "it looks for the name of a tool, which has two here",
    "test_the_forbidden_is_not_kept": "nothing is learned of what is handed on, so what may be is not either",
    "test_what_a_caller_adds_to_the_instructions": "that is for whoever speaks to the user",
}
"""Attempts whose own checks are about something that is otherwise here, and what."""

type Take = Callable[[], Reply]


@dataclass(slots=True)
class Front:
    """One of both, on a server."""

    kind: str
    handed_on: int = 0
    """Messages that reached the agent behind it."""

    def set_up(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return what sets Home Agent up with both agents."""
        profile = dict(fields.get("profile") or {})
        behind = {"delegation_level": "unrestricted"}
        own_tools = bool(profile.get("offer_tools"))  # what it lends, it has
        patience = min(2 * profile.get("tool_timeout", 30), 300)  # it waits for all that the other one does
        first: dict[str, Any] = {
            "delegate_to": ["profile-9"], "native_tools": own_tools, "llm_apis": [], "mcp_servers": [],
        }  # fmt: skip
        first["tool_timeout"] = patience
        if self.kind == "routing":
            behind = {"extension_name": "Domestic", "description": "Takes care of the home."}
            first = {"routing": "router", "extensions": ["Domestic"]}
        worked = {"local_first": False, **profile, **behind, "profile_id": BEHIND}
        worker = subentry("profile", "Behind", "profile-9", worked)
        return {**fields, "profile": {**profile, **first}, "more": [*fields.get("more", ()), worker]}

    def stand_before(self, server: LLMServer) -> None:
        """Answer what the first agent's model is asked."""
        server.front = self._route if self.kind == "routing" else self._delegate

    def _delegate(self, body: Mapping[str, Any], take: Take) -> Reply:
        if ASKS not in _names(body):
            return take()
        if body["messages"][-1]["role"] == "tool":
            return text(json.loads(body["messages"][-1]["content"].partition("\n")[0])["result"] or "It did not work.")
        self.handed_on += 1
        return tool_call(ASKS, {"target_service_id": BEHIND, "user_request": _said(body)})

    def _route(self, body: Mapping[str, Any], take: Take) -> Reply:
        match part_of_turn(body):
            case part if part == ROUTER:
                self.handed_on += 1
                return text(json.dumps([{"extension": "Domestic", "intent": _said(body)}]))
            case part if part == SYNTHESIZER:
                told = body["messages"][-1]["content"].rpartition("<house>")[2].removesuffix("</house>")
                return text(json.loads(told)["returns"][0].get("result") or "It did not work.")
        reply, names = take(), _names(body)
        if not any(name.startswith(f"{DOMAIN}_") for name in names):
            return reply

        def renamed(name: str) -> str:
            letters = (sign if sign.isascii() and sign.isalnum() else " " for sign in name.removeprefix("ha_"))
            words = "_".join("".join(letters).upper().split())
            return next((f"{DOMAIN}_{verb}_{words}" for verb in VERBS if f"{DOMAIN}_{verb}_{words}" in names), name)

        message: Any = _renamed(reply.message, renamed)
        return replace(reply, message=message, pieces=_pieces(reply.pieces, renamed))


def _said(body: Mapping[str, Any]) -> str:
    """Return what the user said last, as it may be handed on."""
    said: str = body["messages"][-1]["content"]
    return " ".join(said.rpartition("</house>")[2].split())[:MAX_INTENT] or "Go on."


def _names(body: Mapping[str, Any]) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def _pieces(pieces: Iterable[Any], renamed: Callable[[str], str]) -> Iterable[Any]:
    """Yield pieces one by one: some streams have no end."""
    return (_renamed(piece, renamed) for piece in pieces)


def _renamed(value: Any, renamed: Callable[[str], str]) -> Any:
    """Return a reply in which tools have the names under which they are known here."""
    match value:
        case {"name": str(name), "arguments": _}:
            return {**value, "name": renamed(name)}
        case dict():
            return {key: _renamed(item, renamed) for key, item in value.items()}
        case list():
            return [_renamed(item, renamed) for item in value]
    return value
