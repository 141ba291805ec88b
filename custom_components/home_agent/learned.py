"""What was learned about models, in one small file: how their tokens are counted, how large their window is."""

from dataclasses import asdict, dataclass
from typing import Any

from homeassistant.core import HomeAssistant, callback

from .storage import Report, StoredFile

SAVE_DELAY = 300  # seconds; nothing is lost that is not learned again
NOTEWORTHY = 0.03  # change of the factor that is worth a write to a memory card


@dataclass(slots=True)
class Facts:
    """One model on one server."""

    factor: float = 1.0
    """What the server counted as tokens, compared with our estimate."""
    window: int | None = None
    """Tokens of prompt and answer together; None: it did not tell."""


class Learned:
    """The facts by model; owned by the config entry."""

    def __init__(self, hass: HomeAssistant, entry_id: str, report: Report) -> None:
        """Start with nothing; `async_load` reads what there is. `report` is told of a file that cannot be used."""
        self._file = StoredFile(hass, file_of(entry_id), self._data, report, delay=SAVE_DELAY)
        self._facts: dict[str, Facts] = {}

    async def async_load(self) -> None:
        """Read the file; what is no fact in it is left out. Never raises."""
        self._facts = await self._file.async_load(_read) or {}

    async def async_close(self) -> None:
        """Write down what is not yet written."""
        await self._file.async_close()

    @callback
    def of(self, key: str) -> Facts:
        """Return what is known of a model."""
        return self._facts.get(key, Facts())

    @callback
    def note(self, key: str, *, factor: float | None = None, window: int | None = None) -> None:
        """Keep what was learned; what hardly differs is not written."""
        before = self.of(key)
        new = Facts(before.factor if factor is None else round(factor, 3), before.window if window is None else window)
        if new.window == before.window and abs(new.factor - before.factor) < NOTEWORTHY:
            return
        self._facts[key] = new
        self._file.async_changed()

    def _data(self) -> dict[str, Any]:
        return {key: asdict(facts) for key, facts in dict(self._facts).items()}


def file_of(entry_id: str) -> str:
    """Return what the file of an entry is called."""
    return f"models.{entry_id}"


def _read(content: dict[str, Any]) -> dict[str, Facts]:
    found: dict[str, Facts] = {}
    for key, item in content.items():
        match item:
            case {"factor": float(factor), "window": int() | None as window} if 0.1 < factor < 10:
                found[key] = Facts(factor, window)
    return found
