"""A model that makes the calls that a test wants; it needs nothing of Home Assistant."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.llm_replies import JSON
from tests.llm_server import Reply, text, tool_call


def calls(*wanted: tuple[str, Mapping[str, Any]]) -> Any:
    """Return a model that makes these calls, one after another, and is content with what comes of the last one."""

    def respond(body: JSON) -> Reply:
        done = sum(message["role"] == "tool" for message in since_user(body["messages"]))
        return tool_call(*wanted[done]) if done < len(wanted) else text("Good.")

    return respond


def since_user(messages: Sequence[JSON]) -> Sequence[JSON]:
    """Return the messages since the last one of the user."""
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    return messages[last:]
