"""What is said of wishes: what and when each will be, as it was understood, and what it is called where several are told of.

Words of a person stand in quotation marks, or at the end behind a colon: they fit into no sentence of ours.
"""

from homeassistant.core import HomeAssistant

from ..home.exposure import is_exposed
from ..home.wording import quoted
from ..policy.questions import async_done
from ..support.localize import async_text
from ..turn.turn import Turn
from ..wishes.spoken import async_when
from ..wishes.wish import Wish, WishKind
from .planning import effects_of

_PROMISES = {
    WishKind.ACTION: "wish_made_action",
    WishKind.REMINDER: "wish_made_reminder",
    WishKind.WAKE: "wish_made_wake",
    WishKind.TELL: "wish_made_tell",
    WishKind.QUESTION: "wish_made_question",
    WishKind.TIMER: "wish_made_timer",
}
_PROMISES_OF_EVENTS = {
    WishKind.REMINDER: "wish_made_reminder_event",
    WishKind.WAKE: "wish_made_wake_event",
    WishKind.TELL: "wish_made_tell_event",
}
"""Where a clause says when, which some languages set apart with a comma."""
_CALLED = {
    WishKind.WAKE: "wish_as_wake",
    WishKind.TELL: "wish_as_tell",
    WishKind.TIMER: "wish_as_timer",
    WishKind.REMINDER: "wish_as_reminder_bare",
}
_CALLED_BY_TEXT = {
    WishKind.REMINDER: "wish_as_reminder",
    WishKind.QUESTION: "wish_as_question",
    WishKind.TIMER: "wish_as_timer_named",
}


async def async_promise(hass: HomeAssistant, turn: Turn, wish: Wish) -> str:
    """Return what and when it will be, as it was understood."""
    language, kind, what = turn.language, wish.kind, wish.text
    when = await async_when(hass, language, wish.when)
    if wish.tells_itself:
        kind = WishKind.TELL
    key = _PROMISES_OF_EVENTS.get(kind, _PROMISES[kind]) if wish.when.event is not None else _PROMISES[kind]
    if kind is WishKind.ACTION:
        what = await _async_deeds(hass, turn, wish)
    elif kind is WishKind.QUESTION:
        what = quoted(what, language)
    elif kind is WishKind.TIMER and what:
        key, what = "wish_made_timer_named", quoted(what, language)
    elif kind is WishKind.REMINDER and not what:
        key = "wish_made_reminder_bare"
    return await _async_with_more(hass, language, wish, await async_text(hass, language, key, when=when, what=what))


async def async_end_promise(hass: HomeAssistant, turn: Turn, wish: Wish) -> str:
    """Return when and how what is done for a while ends."""
    when, what = await async_when(hass, turn.language, wish.when), await _async_deeds(hass, turn, wish)
    said = await async_text(hass, turn.language, "wish_made_end", when=when, what=what)
    return await _async_with_more(hass, turn.language, wish, said)


async def async_called(hass: HomeAssistant, turn: Turn, wish: Wish) -> str:
    """Return what a wish is called among others: "turn off Bed Light", "reminder “call mum”", "timer"."""
    text = "" if wish.tells_itself else wish.text.strip()
    if wish.kind is WishKind.ACTION:
        return await _async_deeds(hass, turn, wish)
    if text and (key := _CALLED_BY_TEXT.get(wish.kind)) is not None:
        return await async_text(hass, turn.language, key, text=quoted(text, turn.language))
    return await async_text(hass, turn.language, _CALLED.get(wish.kind, "wish_as_tell"))


async def _async_deeds(hass: HomeAssistant, turn: Turn, wish: Wish) -> str:
    """Return what a wish does: its effects in our words, else as it was said."""
    effects = effects_of(wish.steps)
    known = all(step.effects for step in wish.steps) and all(is_exposed(hass, item, turn.user) for item in wish.targets)
    return await async_done(hass, turn.language, effects) if effects and known else quoted(wish.words, turn.language)


async def _async_with_more(hass: HomeAssistant, language: str, wish: Wish, said: str) -> str:
    """Return a promise with what the speaker has to know of it: that it is asked about, or that it waits for the next time."""
    keys = ("planned_asks", wish.asks), ("wish_so_already", _is_so_already(hass, wish))
    return " ".join((said, *[await async_text(hass, language, key) for key, is_so in keys if is_so]))


def _is_so_already(hass: HomeAssistant, wish: Wish) -> bool:
    """Return whether what is waited for is so now, so that it has to end before it can happen."""
    event = wish.when.event
    return event is not None and not (event.each or wish.when.stays) and event.is_so(hass) is True
