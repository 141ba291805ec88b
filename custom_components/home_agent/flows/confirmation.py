"""The form about confirmations: how long a question stands, and which yes takes a PIN. Stored PINs are never shown."""

from collections.abc import Mapping
import re
from typing import Any

from homeassistant.helpers.selector import (
    SelectSelector,
    SelectSelectorConfig,
    SelectSelectorMode,
    TextSelector,
    TextSelectorConfig,
    TextSelectorType,
)
import probatio

from ..const import CONF_CONFIRM_TIMEOUT, CONF_PINS
from ..safety.confirmation import TIMEOUT
from ..tools.sensitive import DISARM, OPEN_DOOR, OPEN_VALVE, UNLOCK
from .fields import number

DESTRUCTIVE = "destructive"
GUARDED = (UNLOCK, DISARM, OPEN_DOOR, OPEN_VALVE, DESTRUCTIVE)
"""What may have a PIN: the reasons for which a call needs a yes."""
REMOVE = "remove_pins"
PIN_FORMAT = "pin_format"

_PIN = re.compile(r"[0-9]{4,12}")
_PASSWORD = TextSelector(TextSelectorConfig(type=TextSelectorType.PASSWORD, autocomplete="off"))


def confirmation_schema(options: Mapping[str, Any]) -> probatio.Schema:
    """Return the form; only PINs that are stored can be removed, so that these show which there are."""
    seconds = probatio.Optional(
        CONF_CONFIRM_TIMEOUT, description={"suggested_value": options.get(CONF_CONFIRM_TIMEOUT, TIMEOUT)}
    )
    schema: dict[probatio.Marker, Any] = {
        seconds: number(10, 3600, unit="s"),
        **{probatio.Optional(field_of(reason)): _PASSWORD for reason in GUARDED},
    }
    if stored := [reason for reason in GUARDED if reason in options.get(CONF_PINS, ())]:
        schema[probatio.Optional(REMOVE)] = SelectSelector(
            SelectSelectorConfig(
                options=stored, multiple=True, mode=SelectSelectorMode.DROPDOWN, translation_key=CONF_PINS
            )
        )
    return probatio.Schema(schema)


def confirmation_options(options: Mapping[str, Any], user_input: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """Return what to store, and the fields that hold no PIN. An empty field keeps what is stored."""
    given = {reason: pin.strip() for reason in GUARDED if (pin := user_input.get(field_of(reason), ""))}
    wrong = {field_of(reason) for reason, pin in given.items() if not _PIN.fullmatch(pin)}
    kept = {**options.get(CONF_PINS, {}), **given}
    pins = {reason: pin for reason, pin in kept.items() if reason not in user_input.get(REMOVE, ())}
    return {CONF_CONFIRM_TIMEOUT: int(user_input.get(CONF_CONFIRM_TIMEOUT, TIMEOUT)), CONF_PINS: pins}, wrong


def field_of(reason: str) -> str:
    """Return the field of a PIN."""
    return f"pin_{reason}"
