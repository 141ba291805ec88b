"""Answers from outside, made readable and bounded."""

from typing import Any

import pytest

from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.support.http import HttpResponse
from custom_components.home_agent.tools.custom.rest import content_of


def response(body: bytes, content_type: str = "text/plain", charset: str | None = None) -> HttpResponse:
    return HttpResponse(status=200, content_type=content_type, charset=charset, body=body)


@pytest.mark.parametrize(("given", "content"), [
    pytest.param(response(b""), None, id="nothing"),
    pytest.param(response(b" \n"), None, id="blank"),
    pytest.param(response(b'{"a": [1]}', "application/json"), {"a": [1]}, id="JSON"),
    pytest.param(response(b'{"a": 1}', "application/vnd.api+json"), {"a": 1}, id="a kind of JSON"),
    pytest.param(response(b'{"a": 1}', "text/html"), {"a": 1}, id="JSON that is called otherwise"),
    pytest.param(response(b'{"a": 1', "application/json"), '{"a": 1', id="broken JSON is text"),
    pytest.param(response(b"5", "application/json"), 5, id="a number"),
    pytest.param(response(b"[draft]"), "[draft]", id="text in brackets"),
    pytest.param(response(b"hi", "application/octet-stream"), "hi", id="text without a type"),
    pytest.param(response(b"<a/>", "application/xml"), "<a/>", id="XML"),
    pytest.param(response("ä€".encode()), "ä€", id="UTF-8"),
    pytest.param(response(b"\xef\xbb\xbf[1]"), [1], id="byte order mark"),
    pytest.param(response(b"\xef\xbb\xbf[1]", charset="utf-8"), [1], id="byte order mark of a declared charset"),
    pytest.param(response("ä".encode("latin-1")), "ä", id="undeclared Latin-1"),
    pytest.param(response("ä".encode("cp1252"), charset="cp1252"), "ä", id="declared"),
    pytest.param(response(b"a\x1b[31mb\x07\tc\n"), "a[31mb\tc\n", id="control characters"),
    pytest.param(response(b'{"a\\u0000": "\\u001b"}', "application/json"), {"a": ""}, id="escaped ones"),
])  # fmt: skip
def test_content(given: HttpResponse, content: Any) -> None:
    assert content_of("host", given) == content


@pytest.mark.parametrize("given", [
    pytest.param(response(b"\x89PNG\r\n\x1a\n\x00\x00", "image/png"), id="image"),
    pytest.param(response(b"\x89PNG\r\n\x1a\n\x00\x00"), id="image that says it is text"),
    pytest.param(response(b"%PDF-1.7 text", "application/pdf"), id="PDF"),
    pytest.param(response(b"a\x00b"), id="text with zeros"),
    pytest.param(response(b"\xff\xfe\x00", charset="utf-8"), id="not in its charset"),
    pytest.param(response(b"a", charset="no-such-charset"), id="unknown charset"),
    pytest.param(response(b"a", charset="punycode"), id="charset of names"),
    pytest.param(response(b"a", "x" * 200), id="no type at all"),
    pytest.param(response(b"[" * 100 + b"]" * 100, "application/json"), id="nested without end"),
])  # fmt: skip
def test_what_is_not_told(given: HttpResponse) -> None:
    with pytest.raises(ToolRefusal):
        content_of("host", given)
