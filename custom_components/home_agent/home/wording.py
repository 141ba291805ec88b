"""Parts of sentences in questions and answers. Values and texts that a model may have written are quoted and cut."""

from collections.abc import Collection, Mapping, Sequence
import re

from homeassistant.const import ATTR_DEVICE_CLASS
from homeassistant.core import HomeAssistant, State
from homeassistant.exceptions import HomeAssistantError

from ..languages.data import ENGLISH, data_of
from ..languages.digits import MASK
from ..support.localize import async_has_text, async_own_text, async_text
from ..support.masking import SECRET
from ..support.quoting import one_line, short_name
from .domains import DOMAINS, UNKNOWN

_ON_THE_WAY = frozenset({"locking", "unlocking", "opening", "closing", "arming", "disarming", "pending"})
"""States that Home Assistant's words tell with a verb of their own in some languages."""
MAX_NAMES = 4
MAX_DETAILS = 5
MAX_TEXTS = 10
MAX_TEXT = 120  # characters of each
MAX_NAME = 60  # characters
MAX_VALUE = 80
MAX_KEY = 30
TOLD_BY = "confirm_unlock_it"
"""A sentence that reads differently in every language: whether it is translated shows whether ours are."""
_PLAIN_NAME = re.compile(r"[a-z0-9][a-z0-9 -]{0,29}", re.IGNORECASE)


class NoWordsError(HomeAssistantError):
    """Home Assistant has no translation of something that has to be said."""


async def async_spoken(hass: HomeAssistant, language: str) -> str:
    """Return the language if our sentences are translated into it, else English: nothing is said in two languages."""
    return language if await async_has_text(hass, language, TOLD_BY) else ENGLISH


async def async_state_sentences(
    hass: HomeAssistant, language: str, states: Sequence[State], already: Collection[str] = ()
) -> list[str]:
    """Return a sentence for each of the first entities with its state; entities whose state says nothing are left out."""
    said: list[str] = []
    for state in states[:MAX_NAMES]:
        if not DOMAINS.get(state.domain, UNKNOWN).state_is_told:
            continue
        key = "confirm_becomes" if state.state in _ON_THE_WAY else "confirm_is"
        key = "confirm_already" if state.entity_id in already else key
        words = state.state
        for kind in ("_", state.attributes.get(ATTR_DEVICE_CLASS)):  # as Home Assistant's own pages show it
            path = f"entity_component.{kind}.state.{state.state}"
            if found := await async_own_text(hass, language, "entity_component", state.domain, path):
                words = found[:1].lower() + found[1:]
        said.append(await async_text(hass, language, key, name=name_of(state), state=words))
    return said


async def async_plain_state(hass: HomeAssistant, language: str, state: State) -> str:
    """Return the state of an entity in Home Assistant's words alone. Raises `NoWordsError` if it has none."""
    for kind in (state.attributes.get(ATTR_DEVICE_CLASS), "_"):
        path = f"entity_component.{kind}.state.{state.state}"
        if await async_own_text(hass, ENGLISH, "entity_component", state.domain, path):
            return f"{name_of(state)}: {await async_word(hass, language, 'entity_component', state.domain, path)}."
    return f"{name_of(state)}: {state.state}."


async def async_word(hass: HomeAssistant, language: str, category: str, domain: str, path: str) -> str:
    """Return a text of Home Assistant in this very language. Raises `NoWordsError` if there is none."""
    if not (word := await async_own_text(hass, language, category, domain, path, translated=True)):
        raise NoWordsError
    return word


async def async_more(hass: HomeAssistant, language: str, said: Sequence[str], total: int) -> str:
    """Return names or values in a row, and how many of the total are left out."""
    parts = [*said]
    if total > len(said):
        parts.append(await async_text(hass, language, "confirm_more_names", count=str(total - len(said))))
    return ", ".join(parts)


async def async_joined(hass: HomeAssistant, language: str, said: Sequence[str]) -> str:
    """Return phrases in a row: "open Garage, lock Front Door and close Hall Window"."""
    if len(said) < 2:
        return "".join(said)
    return await async_text(hass, language, "confirm_and", first=", ".join(said[:-1]), last=said[-1])


async def async_phrase(
    hass: HomeAssistant,
    language: str,
    key: str,
    entity_ids: Sequence[str],
    details: str = "",
    *,
    names: str = "",
    to: str = "",
    quotes: bool = False,
    **placeholders: str,
) -> str:
    """Return a phrase with the names of entities, in quotation marks or not, or with `names` instead; `to` is what they are set to."""
    states = [state for entity_id in entity_ids if (state := hass.states.get(entity_id)) is not None]
    said = [names] if names else [name_of(state) for state in states[:MAX_NAMES]]
    said = [f"“{cut(name)}”" for name in said] if quotes else said
    told = await async_more(hass, language, said, len(said) + max(0, len(states) - MAX_NAMES))
    return await async_text(hass, language, key, names=f"{told} {to}".strip(), **placeholders) + details


async def async_quoted(hass: HomeAssistant, language: str, texts: Sequence[str]) -> str:
    """Return the first of some texts in quotation marks, cut, and how many more there are."""
    said = [f"“{cut(text, MAX_TEXT)}”" for text in texts[:MAX_TEXTS]]
    return await async_more(hass, language, said, len(texts))


async def async_details(hass: HomeAssistant, language: str, values: Mapping[str, object]) -> str:
    """Return parameters in brackets, secrets as dots and surplus ones as a number; "" if there are none."""
    given = {key: value for key, value in values.items() if value not in (None, "", {}, [])}
    said = [f"{key_in_words(key)}: {value_in_words(key, value)}" for key, value in [*given.items()][:MAX_DETAILS]]
    return f" ({await async_more(hass, language, said, len(given))})" if given else ""


def key_in_words(name: object) -> str:
    """Return the name of a parameter; in quotation marks if it is more than a name, as it may then say anything."""
    words = str(name).replace("_", " ")
    return words if _PLAIN_NAME.fullmatch(words) else f"“{cut(words, MAX_KEY)}”"


def value_in_words(key: object, value: object) -> str:
    """Return a value as one short line; a secret as dots."""
    if SECRET.search(str(key)):
        return MASK
    match value:
        case str():
            return f"“{cut(value)}”"
        case Mapping():
            return f"“{cut(', '.join(f'{key_in_words(key_)} {_plain(key_, item)}' for key_, item in value.items()))}”"
        case list() | tuple() if all(isinstance(item, int | float) for item in value):  # a color, a position
            return cut(", ".join(map(str, value)))
        case list() | tuple():
            return f"“{cut(', '.join(str(_plain('', item)) for item in value))}”"
        case _:
            return str(value)


def _plain(key: object, value: object) -> object:
    """Return a value without the secrets in it, at any depth."""
    if SECRET.search(str(key)):
        return MASK
    match value:
        case Mapping():
            return {str(name): _plain(name, item) for name, item in value.items()}
        case list() | tuple():
            return [_plain("", item) for item in value]
    return value


def cut(text: str, most: int = MAX_VALUE) -> str:
    """Return a foreign text as one short line that neither asks nor quotes, and how many characters are left out."""
    return one_line(text, most)


def quoted(text: str, language: str) -> str:
    """Return words of a person in the quotation marks of a language, on one short line."""
    begin, end = data_of(language).quotes
    return f"{begin}{cut(text)}{end}"


def name_of(state: State) -> str:
    """Return the name of an entity, on one short line."""
    return short_name(state.name, MAX_NAME)


def capitalised(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]
