"""Which fields of a form follow the defaults, also when they change: lists of check boxes with values."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import Selector, SelectSelector, SelectSelectorMode
from homeassistant.helpers.translation import async_get_translations

from ..settings.profile import BUILT_IN, SETTINGS, Part, SettingOrigin
from ..support.const import DOMAIN
from .forms import Fields, is_empty, select

FOLLOWS_BUILT_IN = "built_in_defaults"  # the list of fields on a page of the default settings
_ORIGINS = dict(zip(SettingOrigin, ("origin_built_in", "origin_defaults", "origin_profile"), strict=True))
"""Keys of their texts."""
MAX_TEXT = 60  # characters of a value in the list
MAX_ITEMS = 3  # of a list in the list


def follow_field(section: str) -> str:
    """Return the key of the list of a section; an empty name stands for the fields outside of any."""
    return f"{section or 'basics'}_defaults"


def follow_choice(labels: Mapping[str, str]) -> SelectSelector:
    """Return a list of check boxes from labels by field."""
    return select(labels, multiple=True, mode=SelectSelectorMode.LIST)


def followable(keys: Iterable[str]) -> list[str]:
    """Return the fields that have defaults."""
    return [key for key in keys if key in SETTINGS and SETTINGS[key].part is not Part.OWN]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """The settings in a form, by key.

    `own` and `inherits` as they are stored; `defaults` (inherited) and `shown` (all) as the form shows them, with the value that
    applies where one is empty.
    """

    own: Mapping[str, Any]
    inherits: Mapping[str, Any]
    defaults: Mapping[str, Any]
    shown: Mapping[str, Any]

    def overrides(self, submitted: Mapping[str, Any], keys: Iterable[str], follows: Collection[str]) -> dict[str, Any]:
        """Return the own settings after the form with these `keys` was sent; other keys of `own` stay.

        A newly ticked field (in `follows`) returns to the default; an unticked one keeps the shown value; a changed one becomes
        an own value. Emptied lists and texts are stored as empty; other emptied fields follow the default. If the default
        instructions are turned off, the shown text is stored.
        """
        kept = {key: value for key, value in self.own.items() if value is not None}
        for key in self.inherits.keys() & keys:
            value, was_own = submitted.get(key), key in kept
            follow = key in follows if SETTINGS[key].part is not Part.OWN else not was_own
            before = kept.pop(key, None)
            if was_own and follow:
                continue
            shown = self.shown[key]
            changed = value != shown and not (is_empty(value) and is_empty(shown))
            if was_own and not changed:
                kept[key] = before
            elif changed or not follow:
                kept |= self._own_value(key, value, follow=follow)
        turned_off = kept.get("use_default_prompt", self.inherits["use_default_prompt"]) is False
        has_prompt = kept.get("custom_prompt") or self.inherits["custom_prompt"]
        if turned_off and not has_prompt and "custom_prompt" in keys and (prompt := submitted.get("custom_prompt")):
            kept["custom_prompt"] = prompt
        return kept

    def _own_value(self, key: str, value: Any, *, follow: bool) -> dict[str, Any]:
        """Return the own value of a field by its key; nothing if the field is empty and follows the default."""
        if isinstance(value, Mapping) and isinstance(inherited := self.inherits[key], Mapping):
            before = self.own.get(key) or {}
            keeps_all = not follow and not before  # unticked: all that is shown, otherwise names that differ
            own = {
                name: item for name, item in value.items() if keeps_all or name in before or inherited.get(name) != item
            }
            return {key: own} if own else {}
        if SETTINGS[key].kind == "context_entities" and value:
            stored = {row["entity_id"]: row for row in self.own.get(key) or self.inherits[key]}
            return {key: [_not_shown(stored.get(row["entity_id"], {})) | row for row in value]}
        if not is_empty(value):
            return {key: value}
        empty: Any = [] if isinstance(BUILT_IN[key], list) else ""
        if value is None and empty == [] and follow:
            return {}  # a browser sends emptied lists; this field was not in the form
        may_be_empty = empty == [] or BUILT_IN[key] == ""
        if SETTINGS[key].part is Part.OWN or not may_be_empty or (follow and is_empty(self.inherits[key])):
            return {}
        return {key: empty}


def _not_shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("entity_id", "attributes")}


def followed(submitted: Mapping[str, Any], own: Mapping[str, Any], lists: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the fields that are ticked in an input, by their `lists`; a list that was not sent is as it was shown."""
    found: set[str] = set()
    for name, keys in lists.items():
        ticked = submitted.get(name)
        found |= following(own, keys) if ticked is None else {*ticked}
    return found


def following(own: Mapping[str, Any], keys: Iterable[str]) -> set[str]:
    """Return the fields that follow the defaults, given the own settings."""
    return {key for key in followable(keys) if own.get(key) is None}


@dataclass(frozen=True, slots=True)
class FollowLists:
    """Makes the lists of fields, in the language of the home: their labels contain values, so no browser can translate them."""

    hass: HomeAssistant
    texts: Mapping[str, str]
    labels: str  # how the keys of labels begin

    @classmethod
    async def async_load(cls, hass: HomeAssistant, category: str, step: str) -> FollowLists:
        """Return the lists for the form of a step."""
        texts: dict[str, str] = {}
        for wanted in (category.partition(".")[0], "selector", "exceptions"):
            texts |= await async_get_translations(hass, hass.config.language, wanted, [DOMAIN])
        return cls(hass, texts, f"component.{DOMAIN}.{category}.step.{step}.")

    def choice(
        self, section: str, fields: Fields, layers: Layers, origins: Mapping[str, Any], whose: SettingOrigin
    ) -> SelectSelector:
        """Return the list of a section; `origins` are those of inherited values, `whose` is that of own ones."""
        labels: dict[str, str] = {}
        for key in followable(fields):
            field, origin = fields[key], origins[key]
            if isinstance(origin, Mapping):
                origin = SettingOrigin.DEFAULTS if SettingOrigin.DEFAULTS in origin.values() else SettingOrigin.BUILT_IN
            selector = field if isinstance(field, Selector) else field(self.hass)
            names = {"name": self._label(section, key), "origin": self._text(_ORIGINS[origin])}
            default = self._value(key, selector, layers.defaults[key])
            if layers.own.get(key) is None:
                labels[key] = self._text("setting_follows", value=default, **names)
            else:
                names["whose"] = self._text(_ORIGINS[whose])
                own = self._value(key, selector, layers.shown[key])
                labels[key] = self._text("setting_own", own=own, value=default, **names)
        return follow_choice(labels)

    def _text(self, key: str, **placeholders: str) -> str:
        return self.texts.get(f"component.{DOMAIN}.exceptions.{key}.message", key).format_map(placeholders)

    def _label(self, section: str, key: str) -> str:
        where = f"sections.{section}." if section else ""
        return self.texts.get(f"{self.labels}{where}data.{key}", key)

    def _value(self, key: str, selector: Selector[Any], value: Any) -> str:
        """Return a value as text, with the labels of the form."""
        if isinstance(value, bool):
            return self._text("value_on" if value else "value_off")
        if is_empty(value) or value == {}:
            return self._text("value_none")
        if isinstance(value, Mapping):
            value = list(value)
        if isinstance(value, list):
            text = ", ".join(self._item(selector, item) for item in value[:MAX_ITEMS])
            rest = len(value) - MAX_ITEMS
            return self._text("value_more", items=text, count=str(rest)) if rest > 0 else text
        text = self._item(selector, value)
        unit = SETTINGS[key].unit
        return f"{text} {unit}" if unit else text

    def _item(self, selector: Selector[Any], item: Any) -> str:
        """Return one item as text: its label, or its first line, shortened."""
        config: Mapping[str, Any] = selector.config or {}
        text = str(item.get("entity_id", "")) if isinstance(item, Mapping) else str(item)
        if isinstance(selector, SelectSelector):
            labels = {option["value"]: option["label"] for option in config["options"] if isinstance(option, dict)}
            path = f"component.{DOMAIN}.selector.{config.get('translation_key')}.options.{text}"
            text = self.texts.get(path) or labels.get(text, text)
        line = next(iter(text.strip().splitlines()), "")
        return line if len(line) <= MAX_TEXT and line == text.strip() else f"{line[:MAX_TEXT].rstrip()}…"
