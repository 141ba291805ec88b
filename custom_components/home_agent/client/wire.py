"""JSON as it goes over the wire: compact, in the order given, and never refused."""

import json
from typing import Any

from homeassistant.helpers.json import json_encoder_default
import orjson


def dump(value: Any) -> bytes:
    """Return JSON of anything: what JSON does not know becomes what Home Assistant makes of it, else its text."""
    try:
        return orjson.dumps(value, default=_default, option=orjson.OPT_NON_STR_KEYS)
    except TypeError, orjson.JSONEncodeError:
        # Halves of surrogate pairs, numbers above 64 bits: orjson refuses them, and people do paste them.
        return json.dumps(value, default=_default, separators=(",", ":")).encode()


def _default(value: Any) -> Any:
    try:
        return json_encoder_default(value)
    except TypeError:
        return str(value)
