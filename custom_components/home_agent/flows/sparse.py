"""From stored overrides to a filled-in form and back, so that what was never set stays unset (D-1)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ..profiles.profile import DEFAULTS, KEYS, merge


def inherited(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every setting of an assistant as forms write it: built-in defaults, then the layers."""
    built_in = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(DEFAULTS).items()}
    return merge({key: value for key, value in built_in.items() if key in KEYS}, *layers)


def overrides(
    own: Mapping[str, Any], inherits: Mapping[str, Any], submitted: Mapping[str, Any], keys: Iterable[str]
) -> dict[str, Any]:
    """Return what a layer stores after a form with these `keys` was sent; other keys of `own` stay.

    An emptied field goes back to what is inherited. A field that shows an inherited value does not become an override by
    being sent. A switch cannot be emptied: put back to the inherited value, it inherits again.
    """
    kept = dict(own)
    for key in keys:
        value = submitted.get(key)
        shows_inherited = value == inherits[key] and (key not in own or isinstance(value, bool))
        if is_empty(value) or shows_inherited:
            kept.pop(key, None)
        else:
            kept[key] = value
    return kept


def is_empty(value: Any) -> bool:
    """Return whether a form's field was left empty; zero and off are values."""
    return value is None or value in ("", [])


def lifted(user_input: Mapping[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """Return the input with the fields of sections beside the others."""
    lifted_input: dict[str, Any] = {}
    for key, value in user_input.items():
        lifted_input.update(value if key in sections else {key: value})
    return lifted_input
