"""What cannot be read in time is left out; the rest is told."""

from collections.abc import Callable

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from custom_components.home_agent.turn.turn import Turn

from .calendars import NOW, Calendar, add, event, told
from .conftest import make_turn

type MakeTurn = Callable[..., Turn]

__all__ = ["make_turn"]


async def test_a_calendar_that_fails_or_sleeps_is_left_out(
    hass: HomeAssistant, make_turn: MakeTurn, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    since_now = (dt_util.utcnow() - NOW).total_seconds() / 86400 - 1
    monkeypatch.setattr("custom_components.home_agent.prompt.providers.SOURCE_TIMEOUT", 0.1)
    await add(hass, Calendar("Good", event("A", since_now)), Calendar("Bad", fails=True), Calendar("Slow", slow=True))
    found = await told(hass, make_turn("events"))
    assert found is not None
    assert [line.endswith("] A #Good") for line in found[1]] == [True]
    assert "calendar.bad is unavailable" in caplog.text
    assert "calendar.slow is unavailable" in caplog.text
