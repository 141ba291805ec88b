"""How many tokens a text is, with or without a tokenizer.

Counts characters by kind, at the speed of `bytes.translate`, and corrects itself by what the endpoint reports. The
weights are rules of thumb for prose and compact JSON; a model whose tokenizer differs is met after a few answers.
"""

from collections.abc import Callable

_SYMBOLS = b"\"'{}[]():,.;=<>_/-\n0123456789"
_ASCII = bytes(range(0x80))
# First bytes of characters in UTF-8
_TWO_BYTES = bytes(range(0xC2, 0xE0))
_CYRILLIC = bytes(range(0xD0, 0xD4))
_THREE_BYTES = bytes(range(0xE0, 0xF0))
_FOUR_BYTES = bytes(range(0xF0, 0xF5))

# Tokens per character
_LETTER = 0.235
_SYMBOL = 0.45
_TWO_BYTE_LETTER = 0.6  # umlauts and accents, Greek, Hebrew, Arabic
_CYRILLIC_LETTER = 0.4
_IDEOGRAPH = 0.95  # Chinese, Japanese, Korean; also Thai and the scripts of India
_EMOJI = 2.0

_FACTOR_MIN, _FACTOR_MAX = 0.5, 2.0
_LEAST, _MOST = 0.4, 2.5
"""No tokenizer is so far from the estimate: a server that says so counts something else, only what was not in its cache for one."""
_LEARNING = 0.3  # share of a new measurement
LONG = 4000  # characters; more would hold up the event loop for more than a millisecond
_MIN_MEASURE = 50  # tokens below which a measurement says nothing


def raw_estimate(data: bytes) -> float:
    """Return the tokens of UTF-8 text without any correction."""
    total = len(data)
    symbols = total - len(data.translate(None, _SYMBOLS))
    tokens = symbols * _SYMBOL
    if data.isascii():
        return tokens + (total - symbols) * _LETTER
    other = data.translate(None, _ASCII)
    two, cyrillic, three, four = (
        len(other) - len(other.translate(None, kind)) for kind in (_TWO_BYTES, _CYRILLIC, _THREE_BYTES, _FOUR_BYTES)
    )
    tokens += (total - symbols - len(other)) * _LETTER
    tokens += (two - cyrillic) * _TWO_BYTE_LETTER + cyrillic * _CYRILLIC_LETTER
    return tokens + three * _IDEOGRAPH + four * _EMOJI


class TokenEstimator:
    """Estimates for one model."""

    def __init__(self) -> None:
        """Start without a correction."""
        self.factor = 1.0
        """What the endpoint's numbers were, compared with ours."""
        self.exact: Callable[[str], int] | None = None
        """Counts the tokens of this model (exact.py); None: they are estimated."""

    def estimate(self, text: str) -> int:
        """Return the tokens of a text, rounded up; exactly where the model's encoding is known and the text is not long."""
        if self.exact is not None and len(text) <= LONG:
            try:
                return self.exact(text)
            except Exception:  # noqa: BLE001 - a library that fails must not cost an answer
                self.exact = None
        data = text.encode("utf-8", "replace")
        return int(raw_estimate(data) * self.factor + 0.999)

    def calibrate(self, estimated: int, actual: int) -> None:
        """Learn from a request's `raw_estimate` (`Reply.estimated_tokens`) and what the endpoint counted."""
        if estimated < _MIN_MEASURE or actual < _MIN_MEASURE:
            return
        if not _LEAST * estimated <= actual <= _MOST * estimated:
            return
        corrected = self.factor + _LEARNING * (actual / estimated - self.factor)
        self.factor = min(_FACTOR_MAX, max(_FACTOR_MIN, corrected))
