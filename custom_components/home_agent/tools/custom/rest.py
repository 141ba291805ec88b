"""Handler `rest`: an HTTP request."""

import codecs
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
import re
from typing import Any, TypeIs, override
from urllib.parse import parse_qsl

from aiohttp import hdrs
from homeassistant.core import HomeAssistant
from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, JsonValueType, json_loads
import probatio
from yarl import URL

from ...support.auth import FixedHeader
from ...support.bounds import as_float
from ...support.encoding import (
    Encode,
    check_path,
    dump,
    for_header,
    for_path,
    for_query,
    for_unknown,
    for_xml,
    owners_text,
    plain,
    query_string,
)
from ...support.errors import CustomToolError, HomeAgentError, ToolRefusal
from ...support.http import MAX_RESPONSE, HttpRequest, HttpResponse
from ...turn.plan import Plan
from ...turn.turn import Turn
from ..sanitize import content_from
from .definition import OUTCOME, CustomTool, Definition, ToolContext, auth_from, auth_schema, check_host, outcome_from
from .templates import Text, Tree, Values, compile_tree, render_tree

DEFAULT_TIMEOUT = 30.0  # seconds
MAX_EXCERPT = 300  # characters of an error page for a model
TRIAL = 10.0  # seconds for a request before a tool is stored
_WEB_PAGES = ("text/html", "application/xhtml+xml")
MARGIN = 0.25  # seconds before the policy's time-out, for a better message
_READING = frozenset({hdrs.METH_GET, hdrs.METH_HEAD})
_JSON, _FORM, _PLAIN = "application/json", "application/x-www-form-urlencoded", "text/plain"
_BLANKS = re.compile(r".*\b(csv|yaml|yml)|multipart/.*|text/tab-separated-values")
"""Content types in which a blank separates nothing."""
_TEMPLATES = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_COOKIE = "cookie"
_QUERY = "query"  # the key of a GraphQL query in JSON; its values belong into `variables`
_SERVER = re.compile(r"(https?://[^/?#{}\s\\]+)(?:$|(?=[/?#]))", re.IGNORECASE)
_OUTSIDE_MARKS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|([?#])", re.DOTALL)
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})
_SECRET = re.compile(r"pass|secret|token|api_?-?key|appid|key$|credential|authorization|cookie", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_TEXT = re.compile(r"text/.*|application/(.*[+.])?(json|xml|yaml|javascript|x-www-form-urlencoded|x-ndjson|csv)")
_NO_TEXTS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})
"""Encodings that servers do not use for texts; some take quadratic time."""
_UNKNOWN = "application/octet-stream"  # aiohttp's default

LIMITS = {
    probatio.Optional("timeout", default=DEFAULT_TIMEOUT): probatio.All(as_float, probatio.Range(min=1, max=300)),
    probatio.Optional("min_interval", default=0): probatio.All(as_float, probatio.Range(min=0, max=86400)),
    probatio.Optional("verify_ssl", default=True): bool,
}
"""Keys of every handler that asks a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTemplate:
    """A request; arguments become values in it, each encoded for its place. The rest is the owner's text."""

    path: Text
    query_in_url: Text
    query: dict[str, Tree]
    headers: dict[str, Text]
    body: Tree
    content_type: str
    frame: HttpRequest  # the constant parts; its URL has scheme, host and port only

    def request(self, values: Values) -> HttpRequest:
        """Return the request of one call. Raises `ToolRefusal` for values that must not be sent."""
        path = check_path(owners_text(self.path.text(values, for_path)))
        parameters = _rendered(self.query, values)
        assert isinstance(parameters, dict)  # a mapping stays one
        in_url = self.query_in_url
        checked = _for_unknown(in_url) if _is_graphql(in_url) else plain
        quoted = in_url.text(values, lambda value: for_query(checked(value)))
        query = [owners_text(quoted), query_string(parameters)]
        headers: dict[str, str] = {}
        for name, text in self.headers.items():  # a cookie ends where the next one begins
            encode = _for_unknown(text) if name.casefold() == _COOKIE else for_header
            headers[name] = for_header(text.text(values, encode))
        body = self._body(values)
        if body is not None:
            headers.setdefault(hdrs.CONTENT_TYPE, self.content_type)
        address = f"{self.frame.url}{path or '/'}?{'&'.join(part for part in query if part)}".removesuffix("?")
        url = URL(address, encoded=True)
        return replace(
            self.frame, url=url, headers={name: value for name, value in headers.items() if value}, body=body
        )

    @property
    def written_out(self) -> set[str]:
        """Return literal values whose name says that they are secret."""
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
            return self.body.text(values, _encoder(self.content_type, self.body)).encode()
        rendered = _rendered(self.body, values)
        if _media_type(self.content_type) == _FORM and isinstance(rendered, dict):
            return query_string(rendered).encode()
        return dump(rendered)


def request_template_from(definition: Definition, tool_context: ToolContext) -> RequestTemplate:
    """Return the compiled request of a handler. Raises `CustomToolError`."""
    handler = definition.handler
    server, path, query = _split(handler["url"], ("handler", "url"))
    origin = check_host(server, tool_context, ("handler", "url")).origin()
    content_type = _content_type(handler)
    query_key = "params" if "params" in handler else "query"

    def compiled(value: object, *at: str) -> Tree:
        return compile_tree(tool_context.templates, value, definition.names, ("handler", *at))

    query_tree = compiled(handler.get(query_key) or {}, query_key)
    assert isinstance(query_tree, dict)
    body = handler.get("body")
    if isinstance(body, str) and _is_json(content_type):
        with suppress(*JSON_DECODE_EXCEPTIONS):  # so that values in it stay values
            body = json_loads(body)
    parts = RequestTemplate(
        path=tool_context.templates.compile(path, definition.names, ("handler", "url")),
        query_in_url=tool_context.templates.compile(query, definition.names, ("handler", "url")),
        query=query_tree,
        headers={
            str(name): tool_context.templates.compile(str(value), definition.names, ("handler", "headers", name))
            for name, value in _headers(handler)
        },
        body=compiled(body, "body"),
        content_type=content_type,
        frame=HttpRequest(
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


def _split(url: str, at: tuple[str, ...]) -> tuple[str, str, str]:
    """Return server, path and query of the owner's text; the server must be literal."""
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
    """Yield the owner's headers without the content type. Raises `CustomToolError`."""
    for name, value in handler["headers"].items():
        if not _HEADER.fullmatch(name) or name.casefold() in _OURS:
            raise CustomToolError("custom_tool_header", ("handler", "headers", name), name=name)
        if name.casefold() == "authorization" and handler["auth"]["type"] != "none":
            raise CustomToolError("custom_tool_two_auths", ("handler", "auth"))
        if name.casefold() != "content-type":
            yield name, value


def _content_type(handler: Mapping[str, Any]) -> str:
    """Return the content type of the body: the owner's, else by the look of the body."""
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
    if isinstance(body, str) and (body.lstrip()[:2] in ("{{", "{%", "{#") or body.lstrip()[:1] not in ("{", "[")):
        return "text/plain; charset=utf-8"
    return _JSON


def _media_type(content_type: str) -> str:
    """Return a content type without parameters, in lower case."""
    return re.split("[;,]", content_type, maxsplit=1)[0].strip().casefold()


def _is_json(content_type: str) -> bool:
    return _media_type(content_type).endswith("json")


def _encoder(content_type: str, body: Text) -> Encode:
    """Return the encoder of values in a body: by its content type; for an unknown one, unsafe values are refused."""
    media_type = _media_type(content_type)
    if media_type == _FORM:
        return for_query
    if "xml" in media_type or "html" in media_type:
        return for_xml
    if media_type == _PLAIN or body.native:  # without structure, or nothing but the value
        return plain
    return _for_unknown(body, blanks=_BLANKS.fullmatch(media_type) is not None)


def _for_unknown(text: Text, *, blanks: bool = False) -> Encode:
    """Return the encoder for a place without an encoding, which refuses unsafe values, except the owner's secrets."""
    known, check = text.templates.secret_values, partial(for_unknown, blanks=blanks)
    return lambda value: plain(value) if value in known else check(value)


def _rendered(tree: Tree, values: Values) -> JsonValueType:
    """Return a rendered value; in a GraphQL query unsafe values are refused."""
    rendered = render_tree(tree, values)
    if isinstance(tree, dict) and isinstance(rendered, dict) and _is_graphql(query := tree.get(_QUERY)):
        rendered[_QUERY] = query.text(values, _for_unknown(query))
    return rendered


def _is_graphql(tree: Tree) -> TypeIs[Text]:
    """Return whether a value is a GraphQL query with templates."""
    return isinstance(tree, Text) and tree.template is not None and "{" in _TEMPLATES.sub("", tree.source)


def _literals(name: str, tree: Tree) -> Iterator[str]:
    """Yield literal values whose name says that they are secret."""
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


class RestTool(CustomTool):
    """Sends an HTTP request."""

    schema = probatio.Schema(
        {
            probatio.Required("type"): "rest",
            probatio.Required("url"): str,
            probatio.Optional("method", default="GET"): probatio.All(
                str, probatio.Upper, probatio.In(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
            ),
            probatio.Optional("headers", default=dict): {str: probatio.Any(str, int, float)},
            probatio.Exclusive("query", "query"): dict,
            probatio.Exclusive("params", "query"): dict,
            probatio.Optional("body"): probatio.Any(dict, list, str),
            probatio.Optional("content_type"): str,
            probatio.Optional("auth", default={"type": "none"}): auth_schema,
            probatio.Optional("max_response_bytes", default=MAX_RESPONSE): probatio.All(
                probatio.Coerce(int), probatio.Range(min=1024, max=1024 * 1024)
            ),
            **LIMITS,
            **OUTCOME,
        }
    )

    def __init__(self, definition: Definition, tool_context: ToolContext) -> None:
        """Compile request, authentication and result."""
        handler = definition.handler
        method = handler["method"]
        super().__init__(
            definition,
            tool_context,
            reads=method in _READING,
            destroys=method == hdrs.METH_DELETE,
            idempotent=method in (*_READING, hdrs.METH_PUT, hdrs.METH_DELETE),
            open_world=True,
        )
        self._request = request_template_from(definition, tool_context)
        self._auth = auth_from(handler["auth"], tool_context)
        self._outcome = outcome_from(handler, tool_context, definition.names)
        self._hidden = self._request.written_out

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the host, and the entities whose states are sent."""
        self.check_current()
        values = Values(args)
        with self.led_astray(values):
            self._request.request(values)
        return self.plan_for(values, subject=self._request.frame.host, outside=True)

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Send the request; return the answer with secrets masked."""
        values = Values(args)
        request = self._request.request(values)
        self.check_reached(values, plan)
        request = replace(request, timeout=min(request.timeout, turn.profile.tool_timeout - MARGIN))
        response = await self._async_send(request)
        turn.record.taints.add(self.name)  # the text of an error is from outside, too
        mask = self._tool_context.secrets.mask.also(*self._hidden, *(self._auth.hidden if self._auth else ()))
        if response.status >= HTTPStatus.BAD_REQUEST:
            raise ToolRefusal(mask.text(_error(request, response)))
        return self._outcome.of(hass, turn, args, content_of(request.host, response), response.status, mask)

    async def async_is_web_page(self) -> bool:
        """Return whether a request without arguments is answered with a web page. False if it cannot be tried or fails.

        Only what reads is tried, and only if no argument is required.
        """
        if not self.annotations.read_only or self.wire_parameters.get("required"):
            return False
        try:
            request = self._request.request(Values({}))
            request = replace(request, timeout=min(request.timeout, TRIAL), interval=0)
            response = await self._async_send(request)
        except HomeAgentError:
            return False
        return response.status < HTTPStatus.BAD_REQUEST and response.content_type in _WEB_PAGES

    async def _async_send(self, request: HttpRequest) -> HttpResponse:
        """Return the answer; a refused token is renewed once."""
        http, auth = self._tool_context.http, self._auth
        if auth is None:
            return await http.async_send(request)

        async def send(header: str, *, renewable: bool = False) -> HttpResponse:
            headers = {**request.headers, hdrs.AUTHORIZATION: header}
            return await http.async_send(replace(request, headers=headers, renewable=renewable))

        header = await auth.async_header(request)
        response = await send(header, renewable=not isinstance(auth, FixedHeader))
        if response.status == HTTPStatus.UNAUTHORIZED and auth.refused(header):
            response = await send(await auth.async_header(request))
        return response


def _error(request: HttpRequest, response: HttpResponse) -> str:
    """Return the text of an error: its status, and the start of the server's message."""
    said = f"{request.host} answered {response.reason}."
    try:
        content = content_of(request.host, response)
    except ToolRefusal:
        return said
    if content is None:
        return said
    text = content if isinstance(content, str) else dump(content).decode()
    return f"{said} It says: {' '.join(text.split())[:MAX_EXCERPT]}"


def content_of(host: str, response: HttpResponse) -> JsonValueType:
    """Return an answer's JSON, or its text, None if empty. Raises `ToolRefusal` for other content."""
    if not response.body.strip():
        return None
    text = _decoded(response)
    if text is None or not (_TEXT.fullmatch(response.content_type) or response.content_type == _UNKNOWN):
        is_a_type = re.fullmatch(r"[\w.+-]{1,40}/[\w.+-]{1,60}", response.content_type)  # it is text from outside
        raise ToolRefusal(f"{host} sent an answer that is not text ({response.content_type if is_a_type else '?'}).")
    return content_from(text, is_json=response.content_type.endswith("json"))


def _decoded(response: HttpResponse) -> str | None:
    """Return the text of an answer, None if it is not text."""
    try:
        if response.charset is not None and codecs.lookup(response.charset).name in _NO_TEXTS:
            return None
        text = response.body.decode(response.charset or "utf-8-sig")
    except UnicodeDecodeError, LookupError:
        if response.charset is not None:
            return None
        text = response.body.decode("latin-1")
        return None if _CONTROL.search(text) else text
    return None if "\x00" in text else text.removeprefix("\ufeff")
