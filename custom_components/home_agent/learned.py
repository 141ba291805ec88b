"""What was learned about models, in one small file: how their tokens are counted, how large their window is."""

from dataclasses import asdict, dataclass
from typing import Any

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.storage import Store

from .const import DOMAIN

VERSION = 1
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

    def __init__(self, hass: HomeAssistant, entry_id: str) -> None:
        """Start with nothing; `async_load` reads what there is."""
        self._store: Store[dict[str, Any]] = store_of(hass, entry_id)
        self._facts: dict[str, Facts] = {}
        self._dirty = False

    async def async_load(self) -> None:
        """Read the file; what is no fact in it is left out."""
        for key, item in (await self._store.async_load() or {}).items():
            match item:
                case {"factor": float(factor), "window": int() | None as window} if 0.1 < factor < 10:
                    self._facts[key] = Facts(factor, window)

    async def async_close(self) -> None:
        """Write down what is not yet written."""
        if self._dirty:
            await self._store.async_save(self._data())

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
        self._dirty = True
        self._store.async_delay_save(self._data, SAVE_DELAY)

    def _data(self) -> dict[str, Any]:
        self._dirty = False
        return {key: asdict(facts) for key, facts in self._facts.items()}


def store_of(hass: HomeAssistant, entry_id: str) -> Store[dict[str, Any]]:
    """Return the file of an entry."""
    return Store(hass, VERSION, f"{DOMAIN}.models.{entry_id}", private=True, atomic_writes=True)
