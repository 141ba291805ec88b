"""Whether words say of a tool call, written as text, that it is only shown: an example, what would be done, what was not done.

Models and users mix languages, so the words of all languages count. The first call of each function reads their files.
"""

from functools import cache
import re

from .claims import any_word
from .data import all_data

MAX_TEXT = 400  # characters of each text that are read


def tells_of_calls(before: str, after: str) -> bool:
    """Return whether the answer around a call says that the call is not one to make: its end before, and its beginning after the call."""
    shown, _ = _patterns()
    return any(shown.search(_plain(text)) for text in (before[-MAX_TEXT:], after[:MAX_TEXT]))


def asks_to_see_calls(said: str) -> bool:
    """Return whether the user's words ask how a call looks, or want none to be made."""
    _, asked = _patterns()
    return asked.search(_plain(said[:MAX_TEXT])) is not None


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = [data.shown_calls for data in all_data().values()]
    answers = dict.fromkeys(pattern for one in words for pattern in one.answer)
    asked = dict.fromkeys(pattern for one in words for pattern in one.asked)
    return any_word([*answers]), any_word([*asked])


def _plain(text: str) -> str:
    return text.replace("’", "'").casefold()
