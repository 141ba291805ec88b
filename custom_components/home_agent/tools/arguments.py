"""Arguments as small models write them, in the form of the schema; only what is unambiguous is accepted."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, override

from homeassistant.util.json import JSON_DECODE_EXCEPTIONS, json_loads
import probatio

from ..home.actions import ACTIONS, known_actions

MAX_TARGETS = 50  # texts in one entity_id
MAX_LENGTH = 255  # characters of one of them
MAX_DEPTH = 4  # of lists and objects inside parameters


class LenientSchema(probatio.Schema):
    """A schema that tidies arguments before it validates them."""

    def __init__(
        self, schema: Any, tidy: Callable[[Mapping[str, Any]], dict[str, Any]], in_order: Iterable[str] = ()
    ) -> None:
        """Take the function that tidies; arguments with no other keys than `in_order` are not tidied."""
        super().__init__(schema)
        self._in_order = frozenset(in_order)
        self._tidy = tidy

    @override
    def __call__(self, data: Any, **kwargs: Any) -> Any:
        """Return the validated arguments; raises `probatio.Invalid`."""
        if not isinstance(data, Mapping):
            raise probatio.Invalid("the arguments must be an object")
        return super().__call__(data if data.keys() <= self._in_order else self._tidy(data), **kwargs)


def entity_ids(value: object) -> list[str]:
    """Read one id, several separated by commas, or a list of them."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _from_json(value)
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise probatio.Invalid("entity_id must be text")
    found = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
    if not found or len(found) > MAX_TARGETS or any(len(part) > MAX_LENGTH for part in found):
        raise probatio.Invalid(f"name 1 to {MAX_TARGETS} entities, each at most {MAX_LENGTH} characters")
    return found


def action(value: object) -> str:
    """Read an action: one of the four, or the name of a service or of a parameter to set."""
    name = str(value).strip().casefold().replace(" ", "_").replace("-", "_").rpartition(".")[2]
    if name in known_actions() or name.startswith("set_"):
        return name
    raise probatio.Invalid(f"unknown action, use one of {', '.join(ACTIONS)}")


def json_object(value: object) -> dict[str, Any]:
    """Read an object, JSON of one in a string, or nothing."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        value = _from_json(value)
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise probatio.Invalid("must be an object")
    if value and _depth(value) > MAX_DEPTH:
        raise probatio.Invalid("is nested too deeply")
    return dict(value)


def text_list(value: object) -> list[str]:
    """Read a list of texts, one text with commas, JSON of a list, or nothing."""
    if value is None:
        return []
    if isinstance(value, str):
        value = _from_json(value) if value.lstrip().startswith("[") else value.split(",")
    if not isinstance(value, list):
        raise probatio.Invalid("must be a list of text")
    return list(dict.fromkeys(str(part).strip() for part in value if str(part).strip()))


def _from_json(text: str) -> Any:
    try:
        return json_loads(text)
    except JSON_DECODE_EXCEPTIONS as err:
        raise probatio.Invalid("is not valid JSON") from err


def _depth(value: object) -> int:
    if isinstance(value, Mapping):
        return 1 + max((_depth(item) for item in value.values()), default=0)
    if isinstance(value, (list, tuple)):
        return 1 + max((_depth(item) for item in value), default=0)
    return 0
