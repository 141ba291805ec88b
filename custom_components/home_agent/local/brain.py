"""The local brain: reads sentences against the words of the home, which it keeps until the home changes."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.const import UnitOfTemperature
from homeassistant.core import HomeAssistant

from ..home.domains import SWITCHED
from ..home.exposure import may_know
from ..home.snapshot import HomeSnapshot
from ..languages.phrasings import phrasings_of
from ..languages.vocabulary import Language
from ..support.bounds import in_slices
from ..turn.turn import Turn
from .parts import understand
from .reading import Order
from .things import Things

if TYPE_CHECKING:
    from .sentences import Sentence


class Brain:
    """Reads sentences; keeps the words of the home by language."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Know nothing yet: the first sentence reads the home."""
        self._hass = hass
        self._read: dict[str, Things] = {}

    async def async_read[T](self, reader: Callable[..., T], sentence: Sentence) -> T:
        """Return what a function such as `understand` makes of a sentence, given the things that the user may know of."""
        turn, home, language, before = sentence.turn, sentence.home, sentence.language, sentence.before
        user, known = turn.user, home
        limited = user is not None and not user.permissions.access_all_entities(POLICY_READ)
        if limited or turn.within:  # asked here: a thread knows no running turn
            rows = in_slices(home.entities.items())
            entities = {key: item async for key, item in rows if may_know(self._hass, user, key)}
            known = HomeSnapshot(entities, home.areas)

        def read() -> T:
            things = self._things(home, language) if known is home else self.things_of(known, language)
            return reader(turn.text, things, self._hass.states.get, area_id=turn.area_id, before=before)

        return await self._hass.async_add_executor_job(read)

    async def async_wishes(
        self, turn: Turn, home: HomeSnapshot, language: Language, candidates: Sequence[str]
    ) -> dict[str, Order]:
        """Return by entity id what a turn wants of each of some things, read as if there were no others, else as another of its domain."""
        get = self._hass.states.get
        entities = {item: home.entities[item] for item in candidates if item in home.entities}

        def read() -> dict[str, Order]:
            orders: dict[str, Order] = {}
            for item, entity in entities.items():
                things = self.things_of(HomeSnapshot({item: entity}, home.areas), language)
                things.may_be_any = True
                found = understand(turn.text, things, get, area_id=turn.area_id).orders
                if len(found) == 1 and found[0].targets == (item,):
                    orders[item] = found[0]
            for item, entity in entities.items():
                alike = next(
                    (order for other, order in orders.items() if entities[other].domain == entity.domain), None
                )
                if item not in orders and alike is not None:
                    orders[item] = replace(alike, targets=(item,))
            return orders

        return await self._hass.async_add_executor_job(read)

    def _things(self, home: HomeSnapshot, language: Language) -> Things:
        """Return the words of the whole home, read anew if it has changed."""
        kept = self._read.get(language.code)
        is_same = kept is not None and kept.home is home and kept.language is language
        if kept is None or not is_same or kept.celsius is not self._is_celsius:
            kept = self._read[language.code] = self.things_of(home, language)
            self._read = {code: each for code, each in self._read.items() if each.home is home}
        return kept

    def things_of(self, home: HomeSnapshot, language: Language) -> Things:
        """Return the words of a home as it is now."""
        return Things(
            home, language, phrasings_of(language.code, SWITCHED), self._hass.states.get, celsius=self._is_celsius
        )

    @property
    def _is_celsius(self) -> bool:
        return self._hass.config.units.temperature_unit == UnitOfTemperature.CELSIUS
