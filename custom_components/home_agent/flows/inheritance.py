"""What a form says and stores of settings that have a default: the value that holds, where it comes from, what is changed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import Selector, SelectSelector
from homeassistant.helpers.translation import async_get_translations

from ..settings.profile import SETTINGS, Part, SettingOrigin, origins
from ..support.const import DOMAIN
from .forms import Fields, is_empty
from .reader import async_reader_language

MAX_TEXT = 60  # characters of a default in the description of a field
MAX_ITEMS = 3  # of a list there


@dataclass(frozen=True, slots=True, kw_only=True)
class Layers:
    """The settings in a form, by key.

    `own`, `below` (the defaults of all agents) and `inherits` (the same over the built-in ones) as they are stored; `defaults`
    (inherited) and `shown` (all) as the form shows them, with the value that applies where one is empty.
    """

    own: Mapping[str, Any]
    below: Mapping[str, Any]
    inherits: Mapping[str, Any]
    defaults: Mapping[str, Any]
    shown: Mapping[str, Any]

    def overrides(self, entered: Mapping[str, Any]) -> dict[str, Any]:
        """Return the own settings after a form in which these values were entered; other keys of `own` stay.

        A changed value becomes an own one, None stands for a field that was emptied and follows the default again. If the
        default instructions are turned off, the shown text is stored.
        """
        kept = {key: value for key, value in self.own.items() if value is not None}
        for key, value in entered.items():
            if value == self.shown[key]:
                continue
            kept.pop(key, None)
            if value is not None:
                kept |= self._own_value(key, value)
        turned_off = kept.get("use_default_prompt", self.inherits["use_default_prompt"]) is False
        has_prompt = kept.get("custom_prompt") or self.inherits["custom_prompt"]
        if turned_off and not has_prompt and (prompt := entered.get("custom_prompt")):
            kept["custom_prompt"] = prompt
        return kept

    def _own_value(self, key: str, value: Any) -> dict[str, Any]:
        """Return a changed value by its key: of texts by name those that differ, of rows also what no form shows."""
        if isinstance(value, Mapping):
            before, inherited = self.own.get(key) or {}, self.inherits[key]
            own = {name: item for name, item in value.items() if name in before or inherited.get(name) != item}
            return {key: own} if own else {}
        if SETTINGS[key].kind == "context_entities":
            stored = {row["entity_id"]: row for row in self.own.get(key) or self.inherits[key]}
            return {key: [_not_shown(stored.get(row["entity_id"], {})) | row for row in value]}
        return {key: value}


def _not_shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("entity_id", "attributes")}


async def async_told(hass: HomeAssistant, fields: Fields, layers: Layers) -> dict[str, str]:
    """Return where the value of each field comes from, and the default of an own one, as placeholders `<key>_from`.

    They are in the language of the person who has the form open; empty for a field that is empty or has no default.
    """
    texts: dict[str, str] = {}
    language = await async_reader_language(hass)
    for category in ("selector", "exceptions"):
        texts |= await async_get_translations(hass, language, category, [DOMAIN])
    sources, told = origins(layers.below, layers.own), ValueOrigins(texts)
    return {
        f"{key}_from": told.sentence(key, field if isinstance(field, Selector) else field(hass), layers, sources[key])
        for key, field in fields.items()
        if key in SETTINGS and SETTINGS[key].part is not Part.OWN
    }


@dataclass(frozen=True, slots=True)
class ValueOrigins:
    """The words for where a value comes from, by their texts."""

    texts: Mapping[str, str]

    def sentence(self, key: str, selector: Selector[Any], layers: Layers, origin: object) -> str:
        """Return the words for a field; `origin` is one, or those of the texts in a mapping."""
        parts = {*origin.values()} if isinstance(origin, Mapping) else {origin}
        if layers.own.get(key) is not None:
            return self._text("setting_own", value=self._value(key, selector, layers.defaults[key]))
        if is_empty(layers.shown[key]):
            return ""
        return self._text("setting_defaults" if SettingOrigin.DEFAULTS in parts else "setting_built_in")

    def _text(self, key: str, **placeholders: str) -> str:
        return self.texts.get(f"component.{DOMAIN}.exceptions.{key}.message", key).format_map(placeholders)

    def _value(self, key: str, selector: Selector[Any], value: Any) -> str:
        """Return a value as text, with the labels of the form."""
        if isinstance(value, bool):
            value = "on" if value else "off"
        if is_empty(value):
            return self._text("value_none")
        if isinstance(value, Iterable) and not isinstance(value, str):
            items = [self._item(selector, item) for item in value]
            text, rest = ", ".join(items[:MAX_ITEMS]), len(items) - MAX_ITEMS
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
