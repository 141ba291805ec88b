"""Requests: what is sent, what comes back, and what a model cannot make of it."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from tests.tools.custom.conftest import Run, WriteYaml, tool
from tests.tools.custom.rest_server import RestServer, answer, echo


async def test_a_value_stays_in_its_segment(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(tool(server, "", path="/v1/{{ a }}/forecast"))
    assert (await run("ask", a="Europe/Berlin"))["success"]
    assert (await run("ask", a="x?y=1#z&k"))["success"]
    assert (await run("ask", a="ä %2e"))["success"]
    assert server.targets == [
        "/v1/Europe%2FBerlin/forecast", "/v1/x%3Fy%3D1%23z%26k/forecast", "/v1/%C3%A4%20%252e/forecast",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value", ["../admin/delete?x=1#", "..", ".", "%2e%2e", "%252e%252e/x", "..;/x", "a/../../b", "..\\x", " .. ", ""]
)
async def test_no_value_climbs(server: RestServer, write_yaml: WriteYaml, run: Run, value: str) -> None:
    await write_yaml(tool(server, "", path="/v1/{{ a }}"))
    assert not (await run("ask", a=value))["success"]
    assert not server.asked


async def test_values_side_by_side_do_not_climb(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(tool(server, "", path="/v1/{{ a }}{{ b }}/x"))
    assert not (await run("ask", a="%2", b="e."))["success"] or "/v1/%252e./x" in server.targets
    assert not (await run("ask", a=".", b="."))["success"]
    assert all(target.startswith("/v1/") and ".." not in target for target in server.targets)


@pytest.mark.parametrize("expression", ["a | upper", "a ~ ''", "'' ~ a", "a | urlencode", "[a] | join", "a | trim"])
async def test_no_filter_undoes_encoding(server: RestServer, write_yaml: WriteYaml, run: Run, expression: str) -> None:
    await write_yaml(tool(server, "", path=f"/v1/{{{{ {expression} }}}}/x"))
    assert (await run("ask", a="p/q?r#s"))["success"]
    assert server.last.target.count("/") == 3
    assert "?" not in server.last.target


async def test_a_value_stays_in_the_query(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(tool(server, 'query: {q: "{{ b }}", many: "{{ many }}", n: 5}', path="/v1?fixed=1&a={{ a }}"))
    assert (await run("ask", a="1&admin=1", b="x=y z", many=["p", "q"]))["success"]
    assert server.last.target == "/v1?fixed=1&a=1%26admin%3D1&q=x%3Dy%20z&many=p&many=q&n=5"


async def test_a_parameter_that_was_left_out_is_left_out(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(
        tool(server, 'params: {q: "{{ a }}", d: "{{ b | default(\'none\') }}"}\nheaders: {X-A: "{{ a }}"}')
    )
    assert (await run("ask"))["success"]
    assert server.last.target == "/v1?d=none"
    assert "X-A" not in server.last.headers


@pytest.mark.parametrize("value", ["x\r\nX-Admin: 1", "x\nX-Admin: 1", "x\0", "x\x7f"])
async def test_a_value_stays_in_its_header(server: RestServer, write_yaml: WriteYaml, run: Run, value: str) -> None:
    await write_yaml(tool(server, 'headers: {X-A: "a {{ a }}"}'))
    assert not (await run("ask", a=value))["success"]
    assert not server.asked
    assert (await run("ask", a="fine"))["success"]
    assert server.last.headers["X-A"] == "a fine"


BODIES: list[Any] = [
    pytest.param(
        'method: POST\nbody: {a: "{{ a }}", n: "{{ n }}", deep: [{f: "{{ flag }}", m: "{{ many }}"}], t: "n={{ n }}", z: null}',
        b'{"a":"x\\",\\"n\\":1","n":7,"deep":[{"f":true,"m":["p"]}],"t":"n=7","z":null}', "application/json",
        id="nested, native types",
    ),
    pytest.param(
        """method: POST\nbody: '{"a": "{{ a }}", "n": "{{ n }}"}'""", b'{"a":"x\\",\\"n\\":1","n":7}',
        "application/json", id="JSON in a text",
    ),
    pytest.param(
        'method: POST\nbody: {n: "{{ 10 ** n * 10 ** 20 }}"}', b'{"n":1e+27}', "application/json", id="64 bits",
    ),
    pytest.param(
        "method: POST\ncontent_type: application/json\nbody: \"{{ {'q': a} }}\"", b'{"q":"x\\",\\"n\\":1"}',
        "application/json", id="one expression",
    ),
    pytest.param(
        'method: PUT\ncontent_type: application/x-www-form-urlencoded\nbody: {a: "{{ a }}", n: "{{ n }}"}',
        b"a=x%22%2C%22n%22%3A1&n=7", "application/x-www-form-urlencoded", id="form",
    ),
    pytest.param(
        'method: PATCH\ncontent_type: application/x-www-form-urlencoded\nbody: "a={{ a }}&n={{ n }}"',
        b"a=x%22%2C%22n%22%3A1&n=7", "application/x-www-form-urlencoded", id="form in a text",
    ),
    pytest.param(
        'method: POST\nheaders: {content-type: text/xml}\nbody: "<a>{{ a }}</a>"', b"<a>x&quot;,&quot;n&quot;:1</a>",
        "text/xml", id="XML",
    ),
    pytest.param('method: POST\nbody: "{{ a }}"', b'x","n":1', "text/plain; charset=utf-8", id="text"),
]  # fmt: skip


@pytest.mark.parametrize(("handler", "body", "content_type"), BODIES)
async def test_bodies(
    server: RestServer, write_yaml: WriteYaml, run: Run, handler: str, body: bytes, content_type: str
) -> None:
    await write_yaml(tool(server, handler))
    assert (await run("ask", a='x","n":1', n=7, flag=True, many=["p"]))["success"]
    assert server.last.body == body
    assert server.last.headers["Content-Type"] == content_type


@pytest.mark.parametrize(("content_type", "template", "sent"), [
    ("application/x-www-form-urlencoded; charset=UTF-8", "a={{ a }}", b"a=1%26b%3C2"),
    ("Application/X-WWW-Form-URLencoded", "a={{ a }}", b"a=1%26b%3C2"),
    (" application/x-www-form-urlencoded ;charset=utf-8", "a={{ a }}", b"a=1%26b%3C2"),
    ("TEXT/XML", "<a>{{ a }}</a>", b"<a>1&amp;b&lt;2</a>"),
    ("application/soap+xml ; charset=utf-8", "<a>{{ a }}</a>", b"<a>1&amp;b&lt;2</a>"),
    ("application/XHTML+XML", "<a>{{ a }}</a>", b"<a>1&amp;b&lt;2</a>"),
    ("text/Html, text/plain", "<a>{{ a }}</a>", b"<a>1&amp;b&lt;2</a>"),
    ("application/xml-dtd", "<!-- {{ a }} -->", b"<!-- 1&amp;b&lt;2 -->"),
])  # fmt: skip
@pytest.mark.parametrize("where", ["content_type: '{}'", "headers: {{Content-Type: '{}'}}"])
async def test_a_media_type_is_one_in_every_spelling(
    server: RestServer, write_yaml: WriteYaml, run: Run, content_type: str, template: str, sent: bytes, where: str
) -> None:
    await write_yaml(tool(server, f"method: POST\n{where.format(content_type)}\nbody: '{template}'"))
    assert (await run("ask", a="1&b<2"))["success"]
    assert server.last.body == sent


async def test_a_form_of_several_fields(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    content_type = "application/x-www-form-urlencoded; charset=UTF-8"
    await write_yaml(tool(server, f"method: POST\ncontent_type: {content_type}\nbody: {{a: '{{{{ a }}}}', n: 1}}"))
    assert (await run("ask", a="x&n=2"))["success"]
    assert server.last.form == {"a": ["x&n=2"], "n": ["1"]}


OTHERS: list[Any] = [
    pytest.param("content_type: application/graphql", "{ user(id: {{ a }}) { name } }", id="GraphQL"),
    pytest.param("content_type: Application/YAML", "name: {{ a }}", id="YAML"),
    pytest.param("content_type: text/csv; charset=utf-8", "{{ a }},1", id="CSV"),
    pytest.param("content_type: multipart/form-data; boundary=x", "--x: {{ a }}", id="multipart"),
    pytest.param("content_type: application/sql", "SELECT {{ a }}", id="SQL"),
    pytest.param("headers: {Content-Type: application/vnd.something}", "<<{{ a }}>>", id="unknown"),
]


@pytest.mark.parametrize(("how", "body"), OTHERS)
@pytest.mark.parametrize(
    "value",
    ["1) { password } #", 'x", admin: "1', "x: y", "x\nadmin: true", "x,admin", "x;y", "{x}", "[x]", "x'y", "x\ty", "x:y",
     "a1:2", "12:30:x", "\r\n--x--", "x\\y", "x%y", "x=y"],
)  # fmt: skip
async def test_a_value_breaks_out_of_no_body(
    server: RestServer, write_yaml: WriteYaml, run: Run, how: str, body: str, value: str
) -> None:
    await write_yaml(tool(server, f"method: POST\n{how}\nbody: '{body}'"))
    result = await run("ask", a=value)
    assert result["success"] is False
    assert "may only contain letters" in str(result["error"])
    assert not server.asked


@pytest.mark.parametrize(("how", "body"), OTHERS)
@pytest.mark.parametrize(
    "value", ["living_room-2", "Küche", "-21.5", "anna@example.com", "12:30", "2026-11-22T08:15:00+01:00"]
)
async def test_what_is_a_value_everywhere_is_sent(
    server: RestServer, write_yaml: WriteYaml, run: Run, how: str, body: str, value: str
) -> None:
    await write_yaml(tool(server, f"method: POST\n{how}\nbody: '{body}'"))
    assert (await run("ask", a=value))["success"]
    assert server.last.body.decode() == body.replace("{{ a }}", value)


async def test_blanks_stand_where_they_separate_nothing(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    for content_type, is_sent in (("text/csv", True), ("text/yaml", True), ("application/graphql", False)):
        await write_yaml(tool(server, f"method: POST\ncontent_type: {content_type}\nbody: 'x {{{{ a }}}}'"))
        assert (await run("ask", a="Living room"))["success"] is is_sent


async def test_the_owner_may_allow_any_value(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    said = "two\nlines: {}"
    for content_type, body in (("text/csv", "{{ a }}"), ("text/plain", "said: {{ a }}")):
        await write_yaml(tool(server, f"method: POST\ncontent_type: {content_type}\nbody: '{body}'"))
        assert (await run("ask", a=said))["success"]
        assert server.last.body.decode() == body.replace("{{ a }}", said)


@pytest.mark.parametrize("value", ["x; admin=1", "x, y", "x y", 'x"', "x=y"])
async def test_a_value_breaks_out_of_no_cookie(server: RestServer, write_yaml: WriteYaml, run: Run, value: str) -> None:
    await write_yaml(tool(server, 'headers: {cookie: "room={{ a }}; key={{ secrets.api_key }}"}'))
    assert not (await run("ask", a=value))["success"]
    assert not server.asked
    assert (await run("ask", a="kitchen"))["success"]
    assert server.last.headers["cookie"] == "room=kitchen; key=sk-very-secret"


GRAPHQL = 'query: "query { user(id: \\"{{ a }}\\") { name } }"'


@pytest.mark.parametrize(
    "handler", [f"method: POST\nbody: {{{GRAPHQL}}}", f"query: {{{GRAPHQL}}}"], ids=["body", "URL"]
)
async def test_a_graphql_query_takes_values(server: RestServer, write_yaml: WriteYaml, run: Run, handler: str) -> None:
    await write_yaml(tool(server, handler))
    assert not (await run("ask", a='1") { password } #'))["success"]
    assert not server.asked
    assert (await run("ask", a="user-1"))["success"]
    variables = 'method: POST\nbody: {query: "query($id: ID) { user(id: $id) { name } }", variables: {id: "{{ a }}"}}'
    await write_yaml(tool(server, variables))
    assert (await run("ask", a='1") { password } #'))["success"]
    assert (
        server.last.body
        == b'{"query":"query($id: ID) { user(id: $id) { name } }","variables":{"id":"1\\") { password } #"}}'
    )
    await write_yaml(tool(server, "", path="/v1?query={user(id:{{ a }}){name}}"))
    assert not (await run("ask", a="1){password}#"))["success"]
    assert (await run("ask", a="a+b"))["success"]
    assert server.last.target == "/v1?query=%7Buser(id:a%2Bb)%7Bname%7D%7D"
    await write_yaml(tool(server, 'method: POST\nbody: {query: "weather in {{ a }}"}'))  # a query of another kind
    assert (await run("ask", a='"New York"'))["success"]


async def test_words_as_numbers_and_unknown_parameters(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(tool(server, 'method: POST\nbody: {n: "{{ n }}"}'))
    assert (await run("ask", n="7"))["success"]
    assert server.last.body == b'{"n":7}'
    wrongs: list[dict[str, Any]] = [{"n": "seven"}, {"admin": 1}, {"secrets": {}}, {"api_key": "mine"}]
    for wrong in wrongs:
        assert not (await run("ask", **wrong))["success"]
    assert len(server.asked) == 1


async def test_arguments_are_never_templates(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    await write_yaml(tool(server, 'query: {q: "{{ a }}"}'))
    assert (await run("ask", a="{{ secrets.api_key }}{{ 1 + 1 }}"))["success"]
    assert "sk-very-secret" not in server.last.target
    assert "%7B%7B%201%20%2B%201%20%7D%7D" in server.last.target


async def test_secrets_are_sent_and_never_come_back(
    hass: HomeAssistant, server: RestServer, write_yaml: WriteYaml, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    server.answers["/v1"] = echo
    handler = (
        'headers: {Authorization: "Bearer {{ api_key }}", X-Token: "{{ secrets.api_key }}", X-Api-Key: literal-key}'
    )
    await write_yaml(tool(server, handler))
    fired: list[str] = []
    hass.bus.async_listen("*", lambda event: fired.append(str(event.data)))
    result = await run("ask")
    await hass.async_block_till_done()
    assert server.last.headers["Authorization"] == "Bearer sk-very-secret"
    assert server.last.headers["X-Token"] == "sk-very-secret"
    assert result["success"]
    for text in (str(result), "".join(fired)):
        assert "sk-very-secret" not in text
        assert "literal-key" not in text
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("custom_components")]
    assert "sk-very-secret" not in str(ours)


@pytest.mark.parametrize("body", [
    pytest.param("sk-very-secret", id="plain"),
    pytest.param({"sk-very-secret": ["SK-VERY-SECRET"]}, id="in keys, in other letters"),
    pytest.param("key=c2stdmVyeS1zZWNyZXQ=", id="Base64"),
])  # fmt: skip
@pytest.mark.parametrize("status", [200, 400, 500])
async def test_an_echo_is_masked(server: RestServer, write_yaml: WriteYaml, run: Run, body: Any, status: int) -> None:
    server.answers["/v1"] = answer(body, status)
    await write_yaml(tool(server, ""))
    result = str(await run("ask"))
    assert "**masked**" in result
    assert "very" not in result.casefold()
    assert "c2stdm" not in result


RESULTS: list[Any] = [
    pytest.param("", {"items": [{"name": "A", "n": 1}, {"name": "B"}]}, id="all of it"),
    pytest.param("response_path: items[0].name", "A", id="path"),
    pytest.param("response_path: $.items[-1]['name']", "B", id="from the end"),
    pytest.param("response_path: items[*].name", ["A", "B"], id="each"),
    pytest.param("response_path: items.0.n", 1, id="index as a name"),
    pytest.param("response_path: nothing[3].here", None, id="nothing there"),
    pytest.param("response: \"{{ response['items'] | length }}\"", 2, id="native"),
    pytest.param("response: \"{{ status }}: {{ response['items'][0].name }} {{ a }}\"", "200: A x", id="text"),
    pytest.param(
        "response: \"{{ {'names': response['items'] | map(attribute='name') | list} }}\"",
        {"names": ["A", "B"]},
        id="object",
    ),
]


@pytest.mark.parametrize(("handler", "expected"), RESULTS)
async def test_results(server: RestServer, write_yaml: WriteYaml, run: Run, handler: str, expected: Any) -> None:
    server.answers["/v1"] = answer({"items": [{"name": "A", "n": 1}, {"name": "B"}]})
    await write_yaml(tool(server, handler))
    assert await run("ask", a="x") == {"success": True, "result": expected, "error": None}


async def test_errors_tell_status_and_message(server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    server.answers["/v1"] = answer({"message": "no such city"}, 404)
    await write_yaml(tool(server, ""))
    result = await run("ask")
    assert result == {
        "success": False,
        "result": None,
        "error": f'127.0.0.1:{server.port} answered 404 Not Found. It says: {{"message":"no such city"}}',
    }


@pytest.mark.parametrize(("handler", "action"), [
    pytest.param("", "read", id="GET reads"),
    pytest.param("method: post", "write", id="POST writes"),
    pytest.param("method: DELETE", "sensitive", id="DELETE asks"),
])  # fmt: skip
async def test_classes(
    hass: HomeAssistant, server: RestServer, write_yaml: WriteYaml, make_turn: Any, handler: str, action: str
) -> None:
    await write_yaml(tool(server, handler))
    [entry] = hass.config_entries.async_entries("home_agent")
    turn = make_turn()
    [ask] = await entry.runtime_data.custom_tools.async_tools(turn.profile, None)
    plan = await ask.plan(hass, {}, turn)
    assert (plan.action, plan.outside, plan.subject) == (action, True, f"127.0.0.1:{server.port}")
    assert ask.annotations.open_world
    assert ask.annotations.read_only is (action == "read")


async def test_owners_class(hass: HomeAssistant, server: RestServer, write_yaml: WriteYaml, run: Run) -> None:
    text = tool(server, "method: DELETE").replace(
        "      description: Asks.", "      description: Asks.\n      destructive: false"
    )
    await write_yaml(text)
    assert (await run("ask"))["success"]
    await write_yaml(
        tool(server, "").replace("      description: Asks.", "      description: Asks.\n      destructive: true")
    )
    assert not (await run("ask"))["success"]
    assert [asked.method for asked in server.asked] == ["DELETE"]
