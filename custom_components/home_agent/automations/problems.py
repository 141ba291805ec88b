"""What is wrong with a draft, in sentences by which a model can mend it, and the names that are near to a wrong one."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers import entity_registry as er

from ..home.states import Knows
from ..support.bounds import in_slices
from ..support.nearness import grams, overlap
from ..support.quoting import one_line
from .references import domain_of

MAX_PROBLEMS = 12
MAX_NEAR = 4
MAX_NAME = 80  # characters of a wrong name that are repeated
_LEAST_LIKENESS = 0.3
_SAME_DOMAIN = 0.15
ALWAYS_KNOWN = frozenset({"sun.sun"})
"""What every home has and tells nothing of it."""


@dataclass(frozen=True, slots=True)
class DraftProblem:
    """One thing that is wrong."""

    path: str
    """Where: `actions[0].target.entity_id`."""
    sentence: str
    """English, for a model: what is wrong, and what to write instead."""


def quoted(name: object) -> str:
    """Return a name from a draft as it may stand in a sentence."""
    return f"'{one_line(str(name), MAX_NAME)}'"


def nearest(name: str, known: Iterable[str], most: int = MAX_NEAR) -> list[str]:
    """Return the few names that are most like another one, best first."""
    own = grams(name.casefold())
    scored = sorted(((overlap(own, grams(one.casefold())), one) for one in known), key=lambda pair: (-pair[0], pair[1]))
    return [one for score, one in scored[:most] if score >= _LEAST_LIKENESS]


def near_words(names: Iterable[str]) -> str:
    """Return the sentence that offers names; empty without any."""
    listed = ", ".join(names)
    return f" Near to it: {listed}." if listed else ""


@dataclass(slots=True)
class KnownHome:
    """The entities that may be known, looked up by id."""

    hass: HomeAssistant
    knows: Knows
    _compared: list[tuple[str, set[str]]] | None = field(default=None, init=False)

    def resolve(self, name: str) -> str | None:
        """Return the entity that an id, or an id of the registry, stands for; None for one that may not be known, too."""
        entity_id = name if valid_entity_id(name) else er.async_resolve_entity_id(er.async_get(self.hass), name)
        if entity_id is None or not self._exists(entity_id):
            return None
        return entity_id if entity_id in ALWAYS_KNOWN or self.knows(entity_id) else None

    def _exists(self, entity_id: str) -> bool:
        if self.hass.states.get(entity_id) is not None:
            return True
        entry = er.async_get(self.hass).async_get(entity_id)
        return entry is not None and entry.disabled_by is None

    async def async_near(self, name: str, domains: Iterable[str] = ()) -> list[str]:
        """Return the known entities whose id or name is most like a wrong id; with domains only of these."""
        if self._compared is None:
            self._compared = []
            async for state in in_slices(self.hass.states.async_all()):
                if self.knows(state.entity_id):
                    object_id = state.entity_id.partition(".")[2].replace("_", " ")
                    self._compared.append((state.entity_id, grams(object_id.casefold())))
                    self._compared.append((state.entity_id, grams(state.name.casefold())))
        own_domain, allowed = domain_of(name), frozenset(domains)
        own = grams(name.rpartition(".")[2].replace("_", " ").casefold())
        scored: dict[str, float] = {}
        async for entity_id, other in in_slices(self._compared):
            if allowed and domain_of(entity_id) not in allowed:
                continue
            score = overlap(own, other)
            if score >= _LEAST_LIKENESS:
                score += _SAME_DOMAIN * (domain_of(entity_id) == own_domain)
                scored[entity_id] = max(score, scored.get(entity_id, 0))
        return sorted(scored, key=lambda one: (-scored[one], one))[:MAX_NEAR]

    async def async_unknown(self, name: str) -> str:
        """Return the sentence for an entity that does not exist or may not be known."""
        near = near_words(await self.async_near(name))
        return f"{quoted(name)} is no entity that can be used here.{near} Use the id of one that exists and is exposed."
