"""Chunks out of bytes, however they are cut and whatever servers put between them."""

from collections.abc import Sequence
import json

import pytest

from custom_components.home_agent.client.stream import ChunkParser


def parse(*reads: bytes) -> Sequence[object]:
    parser = ChunkParser()
    return [chunk for data in reads for chunk in parser.feed(data)] + parser.feed(b"\n")


@pytest.mark.parametrize("stream", [
    pytest.param(b'data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\n', id="as the standard says"),
    pytest.param(b'data:{"a":1}\n\ndata:{"b":2}\n\ndata:[DONE]\n\n', id="no space after the colon"),
    pytest.param(b'data: {"a":1}\r\n\r\ndata: {"b":2}\r\n\r\n', id="carriage returns"),
    pytest.param(b'data: {"a":1}\ndata: {"b":2}\n', id="no blank lines"),
    pytest.param(b'data: {"a":1}\n\ndata: {"b":2}', id="no line break at the end"),
    pytest.param(b': OPENROUTER PROCESSING\n\ndata: {"a":1}\n\n:\n\ndata: {"b":2}\n\n', id="keep-alives"),
    pytest.param(b'event: x\nid: 7\nretry: 3\ndata: {"a":1}\n\ndata: {"b":2}\n\n', id="other fields"),
    pytest.param(b'{"a":1}\n{"b":2}\n', id="bare JSON lines"),
    pytest.param(b'data: {"a":1}\n\ndata: {"b":\n\ndata: {"b":2}\n\ndata: 5\n\ndata:\n\n', id="broken JSON between"),
    pytest.param(b'data: {"a":1}\n\ndata: {"b":2}\n\ndata: [DONE]\n\ndata: {"c":3}\n\n', id="chunks after the end"),
])  # fmt: skip
def test_chunks_are_found(stream: bytes) -> None:
    expected = [{"a": 1}, {"b": 2}]
    assert parse(stream) == expected
    assert parse(*(stream[i : i + 1] for i in range(len(stream)))) == expected


def test_a_character_split_between_reads_stays_whole() -> None:
    stream = b"data: " + json.dumps({"text": "grün 💡"}, ensure_ascii=False).encode() + b"\n\n"
    assert parse(*(stream[i : i + 1] for i in range(len(stream)))) == [{"text": "grün 💡"}]


def test_the_end_is_noticed() -> None:
    parser = ChunkParser()
    parser.feed(b"data: [DO")
    assert not parser.done
    parser.feed(b"NE]\n\n")
    assert parser.done


def test_an_error_line_becomes_an_error_chunk() -> None:
    assert parse(b'error: {"code":500,"message":"boom"}\n\n') == [{"error": {"code": 500, "message": "boom"}}]
    assert parse(b'error: {"error":{"message":"boom"}}\n\n') == [{"error": {"message": "boom"}}]
