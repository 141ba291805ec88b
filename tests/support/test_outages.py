"""One circuit breaker for everything that is asked: one line in the log, an issue after three failures in a row."""

import asyncio

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest

from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.support.errors import StoreError, StoreRefusedError
from custom_components.home_agent.support.issues import RetrievalIssues
from custom_components.home_agent.support.outages import STORE, CircuitBreaker, Hosts, Outages, RetrievalBreaker


def issues(hass: HomeAssistant) -> list[str]:
    return [str(issue.translation_key) for issue in ir.async_get(hass).issues.values() if issue.domain == DOMAIN]


def test_the_third_failure_in_a_row_is_an_outage(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    breaker = CircuitBreaker("Box")
    assert not breaker.succeeded()
    assert [breaker.failed("HTTP 500") for _ in range(5)] == [False, False, True, False, False]
    assert breaker.succeeded()
    assert not breaker.succeeded()
    assert [breaker.failed("HTTP 402") for _ in range(2)] == [False, False]
    assert not breaker.succeeded()
    assert [line.message for line in caplog.records] == [
        "Box is unavailable: HTTP 500", "Box is available again", "Box is unavailable: HTTP 402",
        "Box is available again",
    ]  # fmt: skip


async def test_what_fails_or_is_late_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    outages = Outages()

    async def fail() -> str:
        raise ValueError("secret words")

    async def answer() -> str:
        return "here"

    assert await outages.async_answer("Calendar", 1, answer()) == "here"
    for _ in range(2):
        assert await outages.async_answer("Calendar", 1, fail()) is None
        assert await outages.async_answer("Logbook", 0.01, asyncio.sleep(1, "late")) is None
    assert await outages.async_answer("Calendar", 1, answer()) == "here"
    assert caplog.text.count("Calendar is unavailable: ValueError in test_outages.py") == 1
    assert caplog.text.count("Logbook is unavailable: no answer within 0.01 s") == 1
    assert "secret words" not in caplog.text


async def test_a_host_that_keeps_failing(hass: HomeAssistant, caplog: pytest.LogCaptureFixture) -> None:
    hosts = Hosts(hass)
    for _ in range(2):
        hosts.async_failed("nas:80", "backup", "HTTP 500")
    assert not issues(hass)
    hosts.async_failed("nas:80", "backup", "HTTP 500")
    assert issues(hass) == ["service_failing"]
    assert caplog.text.count("nas:80 is unavailable") == 1
    hosts.async_worked("nas:80")
    assert not issues(hass)


async def test_a_store_that_keeps_failing(hass: HomeAssistant) -> None:
    breaker = RetrievalBreaker(STORE, "Chroma", RetrievalIssues(hass))

    async def ask(error: Exception | None = None, *, now: bool = True) -> None:
        async with breaker.watched(now=now):
            if error:
                raise error

    for _ in range(3):
        assert not issues(hass)
        with pytest.raises(StoreError):
            await ask(StoreError(store="Chroma", detail=""))
    assert issues(hass) == ["store_failing"]
    with pytest.raises(StoreError):
        await ask(now=False)  # not asked so soon
    with pytest.raises(StoreRefusedError):
        await ask(StoreRefusedError(store="Chroma", collection="", detail=""))  # it answers
    assert not issues(hass)
    await ask(now=False)
