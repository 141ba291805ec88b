"""What a condition at a moment of the past answers: whether it was true, and what was so."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from homeassistant.core import State
from homeassistant.exceptions import ConditionError, HomeAssistantError
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.template import render_complex
import probatio

from .past import PastHome

MAX_VALUE = 60  # characters of a state that is told
MAX_TOLD = 4  # entities of one reason
UNKNOWN = ("unavailable", "unknown")
ERRORS = (HomeAssistantError, probatio.Invalid)

type Variables = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """Whether a condition was true."""

    result: bool | None
    """None if it is switched off."""
    because: str = ""
    """What was so, for a model."""
    has_failed: bool = False
    """It could not be checked: Home Assistant takes that for false, unless another one decides."""


def quoted(value: object) -> str:
    """Return a value of a state as it is told."""
    text = str(value)
    return f"'{text[:MAX_VALUE]}…'" if len(text) > MAX_VALUE else f"'{text}'"


class PastCondition:
    """One condition."""

    def __init__(self, home: PastHome, config: Mapping[str, Any], path: str) -> None:
        """Take the home, the condition, and where it is written."""
        self.home = home
        self.config = config
        self.path = path

    @property
    def now(self) -> datetime:
        """The moment it is."""
        return self.home.clock.now

    async def async_prepare(self) -> None:
        """Look up what it needs. Raises `NotReplayable`."""

    def begin(self) -> None:
        """Take note of the states as Home Assistant does when it sets the condition up."""

    def changed(self, entity_id: str, state: State | None) -> None:
        """Take note of a change."""

    def check(self, variables: Variables) -> PastAnswer:
        """Return whether it is true at this moment."""
        try:
            return self._check(variables)
        except ConditionError as err:
            return PastAnswer(False, f"it could not be checked: {' '.join(str(err).split())[:200]}", has_failed=True)
        except ERRORS as err:
            return PastAnswer(False, f"it could not be checked ({type(err).__name__})", has_failed=True)

    def _check(self, variables: Variables) -> PastAnswer:
        raise NotImplementedError

    def lasted(self, state: State, period: Any, variables: Variables) -> str:
        """Return how long a state has lasted where that is not as long as it is asked for; empty otherwise."""
        wanted = cv.positive_time_period(render_complex(period, dict(variables)))
        since: timedelta = self.now - state.last_changed
        if since > wanted:
            return ""
        return f"{state.entity_id} was {quoted(state.state)} for {str(since).partition('.')[0]} only, not for {wanted}"

    def options(self) -> Mapping[str, Any]:
        """Return its fields, also where a release has them in `options`."""
        found = self.config.get("options")
        return found if isinstance(found, Mapping) else self.config


def each_of(entity_ids: Iterable[str], of: Callable[[str], PastAnswer], *, is_any: bool) -> PastAnswer:
    """Return whether a condition holds for all or for any of some entities, as Home Assistant joins them."""
    failed: ConditionError | None = None
    told: list[PastAnswer] = []
    for entity_id in entity_ids:
        try:
            answer = of(entity_id)
        except ConditionError as err:
            failed = err
            continue
        if not answer.result and not is_any:
            return answer
        told.append(answer)
    if failed is not None:
        raise failed
    true = [one.because for one in told if one.result]
    shown = true or [one.because for one in told]
    return PastAnswer(bool(true) or not is_any, " and ".join(shown[:MAX_TOLD]))
