"""Bytes of a streamed answer to chunks; pure.

More forgiving than the server-sent events standard, because servers are: `data:` with or without a space, bare JSON
lines, llama.cpp's `error:` lines, comments and keep-alives, a last line without a line break. Every `data:` line is a
chunk of its own, so a missing blank line joins nothing. What is not JSON is passed over.
"""

from homeassistant.util.json import JsonObjectType
import orjson

END = b"[DONE]"


class ChunkParser:
    """Puts lines together across reads."""

    __slots__ = ("_rest", "done")

    def __init__(self) -> None:
        """Start with nothing read."""
        self._rest = b""
        self.done = False
        """Whether the server said that the answer has ended."""

    def feed(self, data: bytes) -> list[JsonObjectType]:
        """Return the chunks that `data` completes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [chunk for line in lines if line and (chunk := self._chunk(line)) is not None]

    @property
    def held(self) -> int:
        """Bytes of a line that has not ended yet."""
        return len(self._rest)

    def finish(self) -> list[JsonObjectType]:
        """Return the chunk of a last line that has no line break."""
        return self.feed(b"\n")

    def _chunk(self, line: bytes) -> JsonObjectType | None:
        if line.startswith(b"data:"):
            payload, failed = line[5:].strip(), False
        elif line.startswith(b"error:"):
            payload, failed = line[6:].strip(), True
        elif line.startswith(b"{"):
            payload, failed = line, False
        else:
            return None
        if payload == END:
            self.done = True
        if self.done or not payload.startswith(b"{"):
            return None
        try:
            chunk: JsonObjectType = orjson.loads(payload)
        except orjson.JSONDecodeError:
            return None
        return {"error": chunk} if failed and "error" not in chunk else chunk
