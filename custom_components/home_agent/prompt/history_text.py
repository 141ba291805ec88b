"""The stored history as text for a placeholder: the newest messages that fit, oldest first, one line each."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
import re

from ..languages.data import PromptWords
from ..transcript.turn_part import Estimate

MAX_MESSAGES = 50  # more are not kept of a conversation
MAX_LENGTH = 20_000  # characters, the most that an option can ask for
_LINE_ENDS = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_CUT = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryMessage:
    """A message that was kept."""

    id: str
    role: str  # `user`, `assistant` or `system`; results of tools are not sent again
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """How much of the stored history a prompt may hold; by default a few sentences, as a reminder."""

    max_length: int = 1500  # characters
    max_messages: int = 10
    max_tokens: int = 500
    include_system_messages: bool = False


@dataclass(frozen=True, slots=True)
class HistoryText:
    """The text and what it was made from."""

    text: str
    messages: int
    of: int
    tokens: int
    tokens_saved: int
    cut: bool = False

    @property
    def truncated(self) -> bool:
        """Whether anything was left out."""
        return self.cut or self.messages < self.of


def format_history(
    messages: Sequence[HistoryMessage],
    options: HistoryOptions,
    words: PromptWords,
    estimate: Estimate,
    mask: Callable[[str], str] | None = None,
) -> HistoryText:
    """Return the newest messages that fit all limits, personal data hidden by `mask`; a sentence for an empty history."""
    options = replace(
        options,
        max_length=max(0, min(options.max_length, MAX_LENGTH)),
        max_messages=max(0, min(options.max_messages, MAX_MESSAGES)),
        max_tokens=max(0, options.max_tokens),
    )
    roles = ("user", "assistant", "system") if options.include_system_messages else ("user", "assistant")
    usable = [message for message in messages if message.role in roles and message.text.strip()]
    newest = usable[max(0, len(usable) - options.max_messages) :]
    if mask is not None:
        newest = [replace(message, text=mask(message.text[:MAX_LENGTH])) for message in newest]
    kept = optimize_history(newest, options.max_tokens, words, estimate)
    lines: list[str] = []
    room = options.max_length
    cut = False
    for message in reversed(kept):
        line = _line(message, words, options.max_length)
        if len(line) + 1 > room + (not lines) or (not lines and estimate(line) > options.max_tokens):
            break
        lines.append(line)
        room -= len(line) + 1
    if kept and not lines:
        cut = True
        line = _line(kept[-1], words, options.max_length)[: max(0, options.max_length - len(_CUT))]
        while line and estimate(line) > options.max_tokens:
            line = line[: len(line) * 3 // 4]
        lines = [line.rstrip() + _CUT] if len(line) > len(_label(kept[-1], words)) else []
    lines.reverse()
    text = "\n".join(lines) or words.history_empty
    left_out = usable[: len(usable) - len(lines)]
    saved = sum(estimate(message.text[:MAX_LENGTH]) for message in left_out[-MAX_MESSAGES:])
    return HistoryText(text, len(lines), len(usable), estimate(text), saved, cut)


def optimize_history(
    messages: Sequence[HistoryMessage], max_tokens: int, words: PromptWords, estimate: Estimate
) -> Sequence[HistoryMessage]:
    """Return the newest messages that are at most `max_tokens` together; the newest one always stays."""
    tokens = 0
    for position in range(len(messages) - 1, -1, -1):
        tokens += estimate(_line(messages[position], words, MAX_LENGTH))
        if tokens > max_tokens:
            return messages[min(position + 1, len(messages) - 1) :]
    return messages


def history_key(messages: Iterable[HistoryMessage], *also: object) -> bytes:
    """Return a key for these messages, and for what else their text depends on."""
    digest = blake2b(repr(also).encode("utf-8", "surrogatepass"), digest_size=16)
    for message in messages:
        digest.update(message.id.encode("utf-8", "surrogatepass") + b"\0")
    return digest.digest()


def _line(message: HistoryMessage, words: PromptWords, longest: int) -> str:
    """Return a message with who said it. Further lines of it are indented: none can pass for a message of its own."""
    return _label(message, words) + _LINE_ENDS.sub("\n  ", message.text[: longest + 1].strip())


def _label(message: HistoryMessage, words: PromptWords) -> str:
    return {"user": words.user, "assistant": words.assistant}.get(message.role, words.system)
