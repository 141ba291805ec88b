"""A model that plays all parts of a routed turn: each part has replies of its own, whoever asks first."""

from collections import defaultdict, deque
from collections.abc import Mapping
import json
from typing import Any

from tests.llm_server import LLMServer, Reply, text

ROUTER, CHEF, COACH, SYNTHESIZER, ITSELF = "router", "ChefByte", "CoachByte", "synthesizer", "profile"
_BEGINS = {
    "You split the newest message": ROUTER, "You put together the one answer": SYNTHESIZER,
    "Manage kitchen inventory": CHEF, "Plan and track workouts": COACH,
}  # fmt: skip


def part_of_turn(body: Mapping[str, Any]) -> str:
    """Return who asks, by how the system message begins."""
    system = body["messages"][0]["content"]
    return next((part for begin, part in _BEGINS.items() if system.startswith(begin)), ITSELF)


def segments(**intents: str) -> Reply:
    listed = [{"extension": name, "intent": intent} for name, intent in intents.items()]
    return text(json.dumps(listed, ensure_ascii=False), usage=True)


class Parts:
    """Answers each part of a turn from its own list, and keeps who asked what."""

    def __init__(self, server: LLMServer) -> None:
        self.server = server
        self._plans: dict[str, deque[Reply]] = defaultdict(deque)
        server.respond(self._answer)

    def plan(self, part: str, *replies: Reply) -> None:
        self._plans[part].extend(replies)

    def forget(self) -> None:
        """Drop what nobody asked for."""
        self._plans.clear()

    def _answer(self, body: Mapping[str, Any]) -> Reply:
        part = part_of_turn(body)
        if not self._plans[part]:
            self.server.problems.append(f"unplanned request of {part}")
            return text("unplanned")
        return self._plans[part].popleft()

    @property
    def asked(self) -> list[str]:
        """Who asked, in order."""
        return [part_of_turn(request.body) for request in self.server.requests]

    def of(self, part: str) -> list[dict[str, Any]]:
        return [request.body for request in self.server.requests if part_of_turn(request.body) == part]

    def assert_done(self) -> None:
        """Fail when a reply was not asked for."""
        left = {part: len(plans) for part, plans in self._plans.items() if plans}
        assert not left, left
