"""When something is to be done is read out of a sentence, and nothing of it is lost."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from custom_components.home_agent.languages.timing import timed_in

NOW = datetime(2026, 11, 24, 18, 10, tzinfo=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(("code", "text", "rest", "at"), [
    ("en", "switch off the lamp in twenty minutes", "switch off the lamp", "2026-11-24T18:30"),
    ("en", "tomorrow at half nine open the blinds", "open the blinds", "2026-11-25T09:30"),
    ("de", "mach in zehn Minuten das Licht aus", "mach das Licht aus", "2026-11-24T18:20"),
    ("de", "um halb neun die Rollos runter", "die Rollos runter", "2026-11-24T20:30"),
    ("fr", "à huit heures et demie éteins la télé", "éteins la télé", "2026-11-24T20:30"),
    ("es", "a las nueve menos cuarto apaga la tele", "apaga la tele", "2026-11-24T20:45"),
    ("it", "alle nove e mezza spegni la luce", "spegni la luce", "2026-11-24T21:30"),
    ("nl", "om tien voor half negen de tv uit", "de tv uit", "2026-11-24T20:20"),
    ("pl", "o wpół do dziewiątej zgaś światło", "zgaś światło", "2026-11-24T20:30"),
])  # fmt: skip
def test_a_moment_is_read(code: str, text: str, rest: str, at: str) -> None:
    timed = next(timed_in(text, code, NOW))
    assert timed.moment is not None
    assert (timed.rest, timed.moment.at.replace(tzinfo=None).isoformat(timespec="minutes")) == (rest, at)
    assert not timed.unread
