"""How a measured process tells the scripted model what to answer, and reads what it recorded."""

from http.client import HTTPConnection
import json
from typing import Any


class Control:
    """Blocking; called between the turns, from the executor."""

    def __init__(self, port: int) -> None:
        """Open a connection of its own, so that the one of the agent is left alone."""
        self._connection = HTTPConnection("127.0.0.1", port)

    def plan(self, **plan: Any) -> None:
        """Set what the model answers from now on."""
        self._post("/bench/plan", plan)

    def take(self) -> list[dict[str, Any]]:
        """Return the requests since the last call, and forget them."""
        records: list[dict[str, Any]] = self._post("/bench/take", {})["records"]
        return records

    def wait_until_idle(self) -> None:
        """Wait until a real server has answered all that it was asked."""
        self._post("/bench/idle", {})

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self._connection.request("POST", path, json.dumps(body))
        with self._connection.getresponse() as response:
            answer: dict[str, Any] = json.load(response)
            return answer
