"""One request: where it may go, how long it may take, how much may come back."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
import math
import socket
import time
from typing import Any

from aiohttp import web
from aiohttp.abc import ResolveResult
from homeassistant.core import HomeAssistant
import pytest
from yarl import URL

from custom_components.home_agent.support import http as http_module
from custom_components.home_agent.support.bounds import BodyTooLong, bounded
from custom_components.home_agent.support.errors import ToolRefusal
from custom_components.home_agent.support.http import EgressPolicy, Http, HttpRequest, HttpResponse, RequestFailed
from tests.tools.custom.conftest import issues
from tests.tools.custom.rest_server import RestServer, answer, in_turn, redirect

type Send = Callable[..., Awaitable[HttpResponse]]
type MakeHttp = Callable[..., Http]


@pytest.fixture
async def make_http(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[MakeHttp]:
    """Return how to make a client for which every name is at `addresses`."""
    monkeypatch.setattr(http_module, "RETRY_DELAY", 0.01)
    made: list[Http] = []

    def make(*addresses: str, **reach: Any) -> Http:
        async def resolve(host: str) -> Sequence[ResolveResult]:
            return [
                ResolveResult(hostname=host, host=address, port=0, family=socket.AF_INET, proto=0, flags=0)
                for address in addresses or ("127.0.0.1",)
            ]

        made.append(Http(hass, EgressPolicy(**reach), resolve))
        return made[-1]

    yield make
    for http in made:
        await http.async_close()


@pytest.fixture
def http(make_http: MakeHttp) -> Http:
    return make_http()


def get(server: RestServer, path: str = "/v1", **fields: Any) -> HttpRequest:
    return replace(HttpRequest(method="GET", url=URL(f"{server.url}{path}"), timeout=5, tool="Ask"), **fields)


async def test_redirects_on_the_host_are_followed_with_everything(server: RestServer, http: Http) -> None:
    server.answers["/v1"] = redirect("/v2?x=1", 307)
    server.answers["/v2"] = redirect(f"{server.url}/v3", 302)
    request = get(
        server, method="POST", body=b"{}", headers={"Authorization": "Bearer t", "Content-Type": "application/json"}
    )
    response = await http.async_send(request)
    assert response.status == 200
    assert [(asked.method, asked.target) for asked in server.asked] == [
        ("POST", "/v1"), ("POST", "/v2?x=1"), ("GET", "/v3"),
    ]  # fmt: skip
    assert [asked.headers.get("Authorization") for asked in server.asked] == ["Bearer t"] * 3
    assert [asked.body for asked in server.asked] == [b"{}", b"{}", b""]
    assert "Content-Type" not in server.last.headers


@pytest.mark.parametrize("location", [
    pytest.param("http://evil.example/x", id="another host"),
    pytest.param("http://localhost:{port}/x", id="another name for it"),
    pytest.param("//127.0.0.2:{port}/x", id="another address"),
    pytest.param("http://127.0.0.1:1/x", id="another port"),
    pytest.param("https://127.0.0.1:{port}/x", id="another protocol on the port"),
    pytest.param("http://u:p@127.0.0.1:{port}/x", id="with a password"),
    pytest.param("file:///etc/passwd", id="a file"),
    pytest.param("http://[::1", id="broken"),
])  # fmt: skip
async def test_redirects_elsewhere_are_not_followed(server: RestServer, http: Http, location: str) -> None:
    server.answers["/v1"] = redirect(location.format(port=server.port))
    with pytest.raises(ToolRefusal):
        await http.async_send(get(server))
    assert server.targets == ["/v1"]


async def test_redirects_end(server: RestServer, http: Http) -> None:
    server.answers["/v1"] = redirect("/v1")
    with pytest.raises(RequestFailed, match="too often"):
        await http.async_send(get(server))
    assert len(server.asked) == 4


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x" * 4096)


async def drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b"x")
        await asyncio.sleep(0.02)


async def bomb(request: web.Request) -> web.StreamResponse:
    response = web.Response(body=b"0" * 10_000_000)
    response.enable_compression(web.ContentCoding.gzip, strategy=0)
    return response


@pytest.mark.parametrize(("sent", "timeout", "said"), [
    pytest.param(answer("x" * 70_000), 30, "longer than 65536 bytes", id="too long"),
    pytest.param(endless, 30, "longer than 65536 bytes", id="endless"),
    pytest.param(bomb, 30, "longer than 65536 bytes", id="small only as long as it is packed"),
    pytest.param(drip, 0.5, "did not answer within 0.5 seconds", id="drop by drop"),
])  # fmt: skip
async def test_answers_are_cut(server: RestServer, http: Http, sent: Any, timeout: float, said: str) -> None:
    server.answers["/v1"] = sent
    with pytest.raises(ToolRefusal, match=said):
        await http.async_send(get(server, timeout=timeout))


@pytest.mark.parametrize("coding", [web.ContentCoding.gzip, web.ContentCoding.deflate])
async def test_an_answer_that_was_packed_unasked_is_read(
    server: RestServer, http: Http, coding: web.ContentCoding
) -> None:
    async def packed(request: web.Request) -> web.StreamResponse:
        response = web.Response(body=b"0" * 10_000)
        response.enable_compression(coding)
        return response

    server.answers["/v1"] = packed
    assert (await http.async_send(get(server))).body == b"0" * 10_000


@pytest.mark.parametrize("encoding", ["gzip", "br"])
async def test_an_answer_that_cannot_be_unpacked_is_none(server: RestServer, http: Http, encoding: str) -> None:
    async def broken(request: web.Request) -> web.StreamResponse:
        return web.Response(body=b"plain", headers={"Content-Encoding": encoding})

    server.answers["/v1"] = broken
    with pytest.raises(RequestFailed, match="no valid HTTP answer"):
        await http.async_send(get(server))


async def test_a_write_that_was_cut_off_leaves_a_doubt(server: RestServer, http: Http) -> None:
    server.answers["/v1"] = drip
    with pytest.raises(RequestFailed, match="had an effect is unknown"):
        await http.async_send(get(server, method="POST", timeout=0.2))


@pytest.mark.parametrize(("addresses", "reach", "reached"), [
    pytest.param(["127.0.0.1"], {}, False, id="into the machine"),
    pytest.param(["169.254.169.254"], {}, False, id="link-local"),
    pytest.param(["10.0.0.1", "192.168.1.1"], {}, False, id="into the house"),
    pytest.param(["::ffff:127.0.0.1"], {}, False, id="in disguise"),
    pytest.param(["127.0.0.1"], {"allow_private_hosts": True}, True, id="the owner allows it"),
])  # fmt: skip
async def test_a_public_name_does_not_lead_into_the_house(
    server: RestServer, make_http: MakeHttp, addresses: list[str], reach: dict[str, Any], reached: bool
) -> None:
    http = make_http(*addresses, **reach)
    request = get(server, url=URL(f"http://api.example.com:{server.port}/v1"))
    if reached:
        assert (await http.async_send(request)).status == 200
    else:
        with pytest.raises(ToolRefusal, match="address at home"):
            await http.async_send(request)
    assert bool(server.asked) is reached


@pytest.mark.parametrize("host", ["nas", "nas.local", "localhost", "nas.home.arpa", "NAS.LAN."])
async def test_a_name_of_the_house_leads_into_it(server: RestServer, http: Http, host: str) -> None:
    assert (await http.async_send(get(server, url=URL(f"http://{host}:{server.port}/v1")))).status == 200


@pytest.mark.parametrize(("allowed", "host", "reached"), [
    pytest.param(["127.0.0.1"], "127.0.0.1", True, id="listed"),
    pytest.param(["api.example.com"], "127.0.0.1", False, id="not listed"),
    pytest.param(["*.local"], "nas.local", True, id="domain"),
    pytest.param(["*.local"], "nas-local", False, id="not of the domain"),
    pytest.param(["*.nas.local"], "nas.local", False, id="the domain itself"),
])  # fmt: skip
async def test_hosts_that_the_owner_lists(
    server: RestServer, make_http: MakeHttp, allowed: list[str], host: str, reached: bool
) -> None:
    http = make_http(allowed_hosts=tuple(allowed))
    request = get(server, url=URL(f"http://{host}:{server.port}/v1"))
    if reached:
        await http.async_send(request)
    else:
        with pytest.raises(ToolRefusal, match="not among the hosts"):
            await http.async_send(request)
    assert bool(server.asked) is reached


async def test_a_read_is_tried_twice_when_no_connection_comes_about(server: RestServer, http: Http) -> None:
    await server.stop()

    async def come_back() -> None:
        await asyncio.sleep(0.005)
        await server.start()

    coming = asyncio.create_task(come_back())
    http_module.RETRY_DELAY = 0.3
    assert (await http.async_send(get(server))).status == 200
    await coming


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_a_write_is_tried_once(server: RestServer, http: Http, method: str) -> None:
    async def hang_up(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    server.answers["/v1"] = hang_up
    with pytest.raises(RequestFailed, match="lost"):
        await http.async_send(get(server, method=method))
    assert len(server.asked) == 1
    with pytest.raises(RequestFailed, match="lost"):
        await http.async_send(get(server))
    assert len(server.asked) == 3


async def test_two_at_once_on_one_host(server: RestServer, http: Http) -> None:
    running = most = 0

    async def slow(_request: web.Request) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return web.json_response({})

    server.answers["/v1"] = slow
    await asyncio.gather(*(http.async_send(get(server)) for _ in range(6)))
    assert most == 2


async def test_an_interval_between_requests(server: RestServer, http: Http) -> None:
    started = time.monotonic()
    await asyncio.gather(*(http.async_send(get(server, interval=0.1)) for _ in range(3)))
    assert time.monotonic() - started >= 0.2
    await http.async_send(get(server, interval=60))
    with pytest.raises(ToolRefusal, match=r"again in \d\d seconds"):
        await http.async_send(get(server, interval=60))
    assert len(server.asked) == 4


@pytest.mark.parametrize("status", [500, 503, 401, 402, 403, 429])
async def test_three_failures_and_a_success(hass: HomeAssistant, server: RestServer, http: Http, status: int) -> None:
    server.answers["/v1"] = in_turn(
        answer({}, status), answer({}, status), answer({}), *[answer({}, status)] * 3, answer({})
    )
    for _ in range(5):
        await http.async_send(get(server))
    assert "service_failing" not in issues(hass)
    await http.async_send(get(server))
    assert issues(hass)["service_failing"] == {"host": f"127.0.0.1:{server.port}", "tool": "Ask"}
    await http.async_send(get(server))
    assert "service_failing" not in issues(hass)


async def test_a_host_that_is_down_is_told(hass: HomeAssistant, server: RestServer, http: Http) -> None:
    await server.stop()
    for _ in range(3):
        with pytest.raises(RequestFailed, match="cannot be reached"):
            await http.async_send(get(server))
    assert "service_failing" in issues(hass)
    await server.start()


async def test_what_the_model_asked_wrongly_is_no_failure(hass: HomeAssistant, server: RestServer, http: Http) -> None:
    server.answers["/v1"] = answer({}, 404)
    for _ in range(3):
        assert (await http.async_send(get(server))).status == 404
    assert "service_failing" not in issues(hass)


@pytest.mark.filterwarnings("ignore:A test tried")  # of the two addresses of localhost only one is open to tests
@pytest.mark.usefixtures("disable_mock_zeroconf_resolver", "mock_async_zeroconf")
async def test_home_assistant_itself_finds_addresses(hass: HomeAssistant, server: RestServer) -> None:
    http = Http(hass, EgressPolicy())
    assert (await http.async_send(get(server, url=URL(f"http://localhost:{server.port}/v1")))).status == 200
    await http.async_close()


async def test_cookies_are_not_kept(server: RestServer, http: Http) -> None:
    server.answers["/v1"] = answer({}, 200, **{"Set-Cookie": "session=1"})
    await http.async_send(get(server))
    await http.async_send(get(server))
    assert "Cookie" not in server.last.headers


async def test_nothing_of_a_request_stands_in_its_text(server: RestServer) -> None:
    request = get(server, "/v1?key=sk-secret", headers={"Authorization": "Bearer sk-secret"})
    assert repr(request) == f"<GET 127.0.0.1:{server.port}>"


async def read(most: int, seconds: float = math.inf, *, renewed: bool = False) -> tuple[bytes, bool]:
    """Return what is read of twelve bytes that come in three, and whether that was too much."""

    async def chunks() -> AsyncGenerator[bytes]:
        for chunk in (b"abcd", b"efgh", b"ijkl"):
            yield chunk
            await asyncio.sleep(0.05)

    body = b""
    try:
        async for chunk in bounded(chunks(), most, seconds, renewed=renewed):
            body += chunk
    except BodyTooLong:
        return body, True
    return body, False


async def test_a_body_has_a_limit_in_bytes_and_in_time() -> None:
    assert await read(12) == (b"abcdefghijkl", False)
    assert await read(10) == (b"abcdefghij", True)
    assert await read(0) == (b"", True)
    assert await read(12, 0.02) == (b"abcd", True)
    assert await read(4, 0.02, renewed=True) == (b"abcdefghijkl", False)
    assert await read(3, 0.02, renewed=True) == (b"abc", True)
