"""What a configuration says, as a short text that differs as soon as any of it does.

Templates count as they are written: what they render now does not matter.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import sha256

from homeassistant.core import State
from homeassistant.helpers.script_variables import ScriptVariables
from homeassistant.helpers.template import Template


def fingerprint(value: object) -> str:
    """Return 64 hexadecimal digits, the same ones for all that is written alike."""
    digest = sha256()
    for part in _parts(value):
        digest.update(f"{len(part)}:{part}".encode(errors="surrogatepass"))
    return digest.hexdigest()


def _parts(value: object) -> Iterator[str]:
    """Yield the texts of a value in an order that only what is written decides."""
    match _plain(value):
        case str() as text:
            yield text
        case Mapping() as items:
            yield f"{{{len(items)}"
            for key, item in items.items():
                yield from _parts(key)
                yield from _parts(item)
        case list() | tuple() as items:
            yield f"[{len(items)}"
            for item in items:
                yield from _parts(item)
        case other:
            yield f"{type(other).__name__} {other!r}"


def _plain(value: object) -> object:
    """Return what a value is made of; it is returned itself when it has no parts."""
    match value:
        case Template():
            return ("template", value.template)
        case ScriptVariables():
            return value.variables
        case State():
            return (value.entity_id, value.state, value.attributes)
        case Enum():
            return str(value.value)
        case set() | frozenset():
            return sorted(map(str, value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            return [getattr(value, one.name) for one in fields(value)]
    return value
