"""The stable part: the system message. The same bytes every turn, and from conversation to conversation."""

from collections.abc import Callable

from ..home import HomeSnapshot
from .home_map import async_home_map

HOME_HEADING = "## Home"


class StablePart:
    """Puts instructions and home map together; keeps the map as long as the home stays as it is."""

    def __init__(self) -> None:
        """Start with no map."""
        self._maps: dict[int, tuple[HomeSnapshot, str]] = {}

    async def async_text(
        self,
        words: str,
        snapshot: HomeSnapshot,
        budget: int,
        estimate: Callable[[str], int],
        extra: str | None,
    ) -> str:
        """Return the system message. `budget` is the home map's, in tokens; `extra` is what the caller of Assist added."""
        parts = [words]
        if snapshot.entities:
            parts.append(f"{HOME_HEADING}\n\n{await self._async_map(snapshot, budget, estimate)}")
        if extra:
            parts.append(extra)
        return "\n\n".join(parts)

    async def _async_map(self, snapshot: HomeSnapshot, budget: int, estimate: Callable[[str], int]) -> str:
        kept = self._maps.get(budget)
        if kept is None or kept[0] is not snapshot:
            kept = self._maps[budget] = (snapshot, await async_home_map(snapshot, budget, estimate))
        return kept[1]
