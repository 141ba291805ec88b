"""A request to another computer with templates in it.

Scheme, host, port, the shape of the path and the names of headers, parameters and keys are the owner's text. What a model
passes becomes values in them, each encoded for its place (encoding.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
import re
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import hdrs
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonValueType, json_loads
from yarl import URL

from ..client.wire import dump
from ..errors import CustomToolError
from ..outside.encoding import (
    Encode,
    check_path,
    for_header,
    for_path,
    for_query,
    for_xml,
    owners_text,
    plain,
    query_string,
)
from ..outside.http import Request
from .definition import Definition, Kit, check_host
from .templates import Text, Tree, Values, compile_tree, render_tree

_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_SERVER = re.compile(r"(https?://[^/?#{}\s\\]+)(?:$|(?=[/?#]))", re.IGNORECASE)
_OUTSIDE_MARKS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|([?#])", re.DOTALL)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})
_SECRET = re.compile(r"pass|secret|token|api_?-?key|appid|key$|credential|authorization|cookie", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A request with templates in it."""

    method: str
    server: str
    """Scheme, host and port as the owner wrote them."""
    path: Text
    query_in_url: Text
    query: dict[str, Tree]
    headers: dict[str, Text]
    body: Tree
    content_type: str
    frame: Request
    """Everything that is the same for each call."""

    def request(self, values: Values) -> Request:
        """Return the request of one call. Raises `ToolRefusal` for values that cannot be sent."""
        path = check_path(owners_text(self.path.text(values, for_path)))
        query = [
            owners_text(self.query_in_url.text(values, for_query)),
            query_string(_object(render_tree(self.query, values))),
        ]
        headers = {name: for_header(text.text(values, for_header)) for name, text in self.headers.items()}
        body = self._body(values)
        if body is not None:
            headers.setdefault(hdrs.CONTENT_TYPE, self.content_type)
        address = f"{self.server}{path or '/'}?{'&'.join(part for part in query if part)}".removesuffix("?")
        url = URL(address, encoded=True)
        return replace(
            self.frame, url=url, headers={name: value for name, value in headers.items() if value}, body=body
        )

    @property
    def written_out(self) -> set[str]:
        """Return what the owner wrote out where a name says that it is secret."""
        in_url = parse_qsl("" if self.query_in_url.template else self.query_in_url.source)
        named = {**self.query, **self.headers, "": self.body}
        return {
            *(text for name, item in named.items() for text in _literals(name, item)),
            *(value for name, value in in_url if _SECRET.search(name)),
        }

    def _body(self, values: Values) -> bytes | None:
        if self.body is None:
            return None
        if isinstance(self.body, Text) and not _is_json(self.content_type):
            return self.body.text(values, _encoder(self.content_type)).encode()
        rendered = render_tree(self.body, values)
        if self.content_type == _FORM and isinstance(rendered, dict):
            return query_string(rendered).encode()
        return dump(rendered)


def parts_from(definition: Definition, kit: Kit) -> Parts:
    """Compile what the owner wrote. Raises `CustomToolError`."""
    handler = definition.handler
    server, path, query = _split(handler["url"], ("handler", "url"))
    origin = check_host(server, kit, ("handler", "url")).origin()
    content_type = _content_type(handler)
    query_key = "params" if "params" in handler else "query"

    def compiled(value: object, *at: str) -> Tree:
        return compile_tree(kit.templates, value, definition.names, ("handler", *at))

    query_tree = compiled(handler.get(query_key) or {}, query_key)
    assert isinstance(query_tree, dict)
    parts = Parts(
        method=handler["method"],
        server=str(origin),
        path=kit.templates.compile(path, definition.names, ("handler", "url")),
        query_in_url=kit.templates.compile(query, definition.names, ("handler", "url")),
        query=query_tree,
        headers={
            str(name): kit.templates.compile(str(value), definition.names, ("handler", "headers", name))
            for name, value in _headers(handler)
        },
        body=compiled(_structured(handler.get("body"), content_type), "body"),
        content_type=content_type,
        frame=Request(
            method=handler["method"],
            url=origin,
            timeout=handler["timeout"],
            max_response=handler["max_response_bytes"],
            interval=handler["min_interval"],
            verify_ssl=handler["verify_ssl"],
            tool=definition.title,
        ),
    )
    if isinstance(parts.body, Text) and _is_json(content_type) and not parts.body.native:
        raise CustomToolError("custom_tool_body", ("handler", "body"))
    return parts


def _object(value: JsonValueType) -> dict[str, JsonValueType]:
    assert isinstance(value, dict)  # a mapping stays one
    return value


def _split(url: str, at: tuple[str, ...]) -> tuple[str, str, str]:
    """Return server, path and query of the owner's text; the server has to be written out."""
    if not (match := _SERVER.match(url.strip())) or "@" in match[1]:
        raise CustomToolError("custom_tool_url", at)
    rest = url.strip()[match.end() :]
    marks = {found[1]: found.start() for found in reversed([*_OUTSIDE_MARKS.finditer(rest)]) if found[1]}
    rest = rest[: marks.get("#")]
    query_at = min(marks.get("?", len(rest)), len(rest))
    path = rest[:query_at]
    if any(segment in (".", "..") for segment in path.split("/")):
        raise CustomToolError("custom_tool_url", at)
    return match[1], path, rest[query_at + 1 :]


def _headers(handler: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the headers that the owner sets himself, the content type apart."""
    for name, value in handler["headers"].items():
        if not _HEADER.fullmatch(name) or name.casefold() in _OURS:
            raise CustomToolError("custom_tool_header", ("handler", "headers", name), name=name)
        if name.casefold() == "authorization" and handler["auth"]["type"] != "none":
            raise CustomToolError("custom_tool_two_auths", ("handler", "auth"))
        if name.casefold() != "content-type":
            yield name, value


def _content_type(handler: Mapping[str, Any]) -> str:
    """Return the type of the body: what the owner says, else what the body looks like."""
    said: dict[tuple[str, ...], object] = {("handler", "content_type"): handler.get("content_type")}
    said |= {
        ("handler", "headers", name): value
        for name, value in handler["headers"].items()
        if name.casefold() == "content-type"
    }
    for at, content_type in said.items():
        if content_type is None:
            continue
        if "{" in str(content_type) or not str(content_type).isprintable():
            raise CustomToolError("custom_tool_header", at, name=hdrs.CONTENT_TYPE)
        return str(content_type)
    body = handler.get("body")
    return _JSON if not isinstance(body, str) or _looks_like_json(body) else "text/plain; charset=utf-8"


def _looks_like_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "[")) and not text.lstrip().startswith(("{{", "{%", "{#"))


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().casefold().endswith("json")


def _structured(body: object, content_type: str) -> object:
    """Return JSON in a text as what it says, so that values get into it as values."""
    if isinstance(body, str) and _is_json(content_type):
        try:
            return json_loads(body)
        except JSON_DECODE_EXCEPTIONS:
            return body
    return body


def _encoder(content_type: str) -> Encode:
    if content_type == _FORM:
        return for_query
    return for_xml if content_type.partition(";")[0].endswith(("xml", "html")) else plain


def _literals(name: str, tree: Tree) -> Iterator[str]:
    """Yield what the owner wrote out where a name says that it is secret."""
    match tree:
        case dict():
            for key, item in tree.items():
                yield from _literals(key, item)
        case list():
            for item in tree:
                yield from _literals(name, item)
        case Text() if tree.template is None and _SECRET.search(name):
            yield tree.source
            yield from tree.source.split()
