"""Requests for groups, made from a home itself, so that it is known exactly who belongs to them."""

from collections.abc import Iterator, Mapping
from typing import Any

from .dataset import Case, Home

_NAMES: Mapping[str, tuple[str, ...]] = {
    "light": (
        "Turn off the lights in the {place}",
        "All lights in the {place} on, please",
        "{place} lights to 40 percent",
    ),
    "cover": ("Close all covers in the {place}", "Are any of the covers in the {place} open?"),
    "media_player": ("Turn off all media players in the {place}",),
    "fan": ("Switch off the fans in the {place}",),
    "lock": ("Lock all the locks in the {place}",),
}
_EVERYWHERE: Mapping[str, tuple[str, ...]] = {
    "light": ("Turn off all the lights", "Switch every light in the house off"),
    "lock": ("Are all locks locked?",),
    "cover": ("Open all covers",),
    "vacuum": ("Send all vacuums home",),
}
_MAX = 100  # members; nobody wants to read more of them to a model


def group_cases(name: str, home: Home, part: str) -> Iterator[Case]:
    """Yield a request for each kind of which a place, or the home, has several."""
    for kind, texts in _NAMES.items():
        for place, members in _by_place(home, kind):
            for text in texts if 1 < len(members) <= _MAX else ():
                yield _case(name, text.format(place=place), members, f"{kind} in a place", part)
    for kind, texts in _EVERYWHERE.items():
        everywhere = [row["entity_id"] for row in home["entities"] if row["domain"] == kind]
        for text in texts if 1 < len(everywhere) <= _MAX else ():
            yield _case(name, text, everywhere, f"{kind} everywhere", part)


def _by_place(home: Home, kind: str) -> Iterator[tuple[str, list[str]]]:
    members = [row for row in home["entities"] if row["domain"] == kind]
    for places, key in ((home["areas"], "area"), (home["floors"], "floor")):
        names = [place["name"].casefold() for place in places]
        for place in places:
            if names.count(place["name"].casefold()) == 1:
                yield place["name"], [row["entity_id"] for row in members if _is_in(row, key, place)]


def _is_in(row: Mapping[str, Any], key: str, place: Mapping[str, Any]) -> bool:
    return bool(row.get(key) == place["id"])


def _case(name: str, text: str, members: list[str], ref: str, part: str) -> Case:
    return Case(home=name, language="en", text=text, wanted=tuple(members), ref=ref, explicit=True, part=part)
