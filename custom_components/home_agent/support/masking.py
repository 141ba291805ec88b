"""What must not be seen: placeholders for personal data, and the owner's secrets in what comes from outside."""

import base64
from collections.abc import Callable, Iterable, Mapping
import html
import json
import re
from urllib.parse import quote, quote_plus

from homeassistant.util.json import JsonValueType

EMAIL = "[email]"
PHONE = "[phone]"
ADDRESS = "[address]"
CARD = "[card]"
ACCOUNT = "[account]"
IDENTITY = "[identity number]"
PLACEHOLDERS = (EMAIL, PHONE, ADDRESS, CARD, ACCOUNT, IDENTITY)

type Mask = Callable[[str], str]


def masked_values(value: JsonValueType, hide: Mask) -> JsonValueType:
    """Return data with its texts masked, also in keys, which a model may choose. Numbers stay."""
    match value:
        case str():
            return hide(value)
        case dict():
            return {hide(key): masked_values(item, hide) for key, item in value.items()}
        case list():
            return [masked_values(item, hide) for item in value]
    return value


# The owner's secrets, and how they are taken out of anything that comes from outside.

MASK = "**masked**"
HIDDEN = (*PLACEHOLDERS, MASK)
SECRET = re.compile(r"code|pin|pass|secret|token|key|credential|auth", re.IGNORECASE)
"""In the name of a parameter that holds a secret."""
CODE = re.compile(
    r"(?:(?:access|alarm|arm|disarm|door|entry|gate|keypad|lock|master|security|unlock|user)_?)?"
    r"(?:code|passcode|password|passphrase|passwd|pin|pin_?code|pin_?number)s?",
    re.IGNORECASE,
)
"""The whole name of a secret code: one that opens a door, not one of a country."""
MIN_LENGTH = 4  # characters; masking shorter values would make answers unreadable


class SecretMask:
    """Masks values in texts in each form that a server may use: plain, in a URL, in JSON, in HTML, as Base64."""

    def __init__(self, values: Iterable[str]) -> None:
        """Take the values; those shorter than `MIN_LENGTH` are not masked."""
        self._values = frozenset(value for value in values if len(value) >= MIN_LENGTH)
        forms: set[str] = set()
        for value in self._values:
            forms |= {value, quote(value, safe=""), quote_plus(value), html.escape(value)}
            forms |= {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
            forms.add(base64.b64encode(value.encode()).decode().rstrip("="))
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def also(self, *values: str) -> SecretMask:
        """Return a mask of these values as well."""
        return SecretMask((*self._values, *values)) if set(values) - self._values else self

    def text(self, text: str) -> str:
        """Return a text with the values masked."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def json(self, value: JsonValueType) -> JsonValueType:
        """Return JSON with the values masked, also in keys."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(key): self.json(item) for key, item in value.items()}
            case list():
                return [self.json(item) for item in value]
            case int() | float() if not isinstance(value, bool) and self.text(str(value)) != str(value):
                return MASK
        return value


class Secrets:
    """The owner's secrets by name, which no result, error, event or log may show."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Take the values from the configuration."""
        self.values = dict(values or {})
        self.mask = SecretMask(self.values.values())
