"""Names of tools as models take them: Latin letters, digits, `_` and `-`, at most 64 of them, each name once."""

from collections.abc import Container
import re

from homeassistant.util import slugify

MAX_NAME = 64
MAX_ALIKE = 20  # tools whose names come to the same
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


def tool_name_from(text: str) -> str:
    """Return a name of at most 64 characters, where other scripts are written in Latin letters; "" or `_` when nothing is left."""
    if any(sign.isalnum() and not sign.isascii() for sign in text):
        text = slugify(text)
    return _NO_NAME.sub("_", text)[:MAX_NAME]


def free_name(name: str, used: Container[str]) -> str:
    """Return a name that is not used yet, with a number behind it where it is; "" when there is none."""
    numbered = (f"{name[: MAX_NAME - 3]}_{number}" for number in range(2, MAX_ALIKE + 1))
    return next((item for item in (name, *numbered) if item not in used), "") if name else ""
