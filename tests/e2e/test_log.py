"""The harness sees what it has to see in the log of either release."""

import pytest

from .process import ROOT, log_entries, problems_in

OURS = """\
{time} WARNING (SyncWorker_0) [homeassistant.loader] We found a custom integration home_agent which has not been tested by Home Assistant. This
{time} INFO (MainThread) [custom_components.home_agent] Tool ha_control: done in 8 ms
{time} WARNING (MainThread) [custom_components.home_agent] Something is odd
{time} ERROR (MainThread) [aiohttp.server] Error handling request
Traceback (most recent call last):
  File "/config/custom_components/home_agent/conversation.py", line 1, in <module>
{time} WARNING (MainThread) [homeassistant.util.loop] Detected blocking call to open with args
  File "/config/custom_components/home_agent/sensor.py", line 1, in <module>
{time} WARNING (MainThread) [homeassistant.util.loop] Detected blocking call to import_module with args
  File "{root}/.venv/lib/python3.14/site-packages/homeassistant/loader.py", line 1235
{time} WARNING (MainThread) [homeassistant.components.demo] Not ours
"""


@pytest.mark.parametrize(
    "time", ["2026-11-21 10:26:38.123", "2026-11-21 10:27:11.693+00:00"], ids=["2026.10", "2026.11"]
)
def test_problems_of_ours_are_found(time: str) -> None:
    log = OURS.format(time=time, root=ROOT)
    assert len(log_entries(log)) == 7
    assert [entry.split("] ")[1].splitlines()[0] for entry in problems_in(log)] == [
        "Something is odd", "Error handling request", "Detected blocking call to open with args",
    ]  # fmt: skip
