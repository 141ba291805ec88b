"""Wishes that a person makes, changes and cancels without talking: by an action or in the to-do list, in their own name."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from homeassistant.core import CALLBACK_TYPE, Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util

from ..policy.wishing import CancelWishes, ChangeWish, MakeWish, check_known
from ..support.const import DOMAIN
from ..support.encoding import plain_text
from ..support.errors import ToolError
from ..turn.turn import Turn
from ..wishes.when import When
from ..wishes.wish import Wish, WishKind
from ..wishes.wishes import MAX_TEXT, wishes_of
from .runtime import RuntimeData

type PlannedWish = Wish
"""A wish, for the platforms that show it."""


def planned(hass: HomeAssistant) -> list[PlannedWish]:
    """Return all wishes, the next one first; those that wait for an event are last."""
    return sorted(wishes_of(hass).all(), key=lambda wish: (wish.when.at is None, wish.when.at or wish.made, wish.id))


@callback
def async_listen_planned(hass: HomeAssistant, changed: Callable[[], None]) -> CALLBACK_TYPE:
    """Call a function after each change of wishes; return what ends that."""
    return wishes_of(hass).async_listen(lambda _changes: changed())


async def async_turn_by_hand(hass: HomeAssistant, runtime: RuntimeData, context: Context) -> Turn:
    """Return the turn of the person a context is of, with the default agent and without words; nothing can be asked in it."""
    return Turn(
        profile=runtime.registry.default,
        conversation_id=context.id,
        text="",
        language=hass.config.language,
        context=context,
        user=await hass.auth.async_get_user(context.user_id) if context.user_id else None,
    )


def known_wish(hass: HomeAssistant, turn: Turn, wish_id: str) -> Wish:
    """Return a wish that a person may change. Raises `ToolError` for one that is another's, and for one that is gone."""
    found = wishes_of(hass).get(wish_id)
    if found is None:
        raise ToolError("wish_over")
    check_known(hass, turn, [found])
    return found


async def async_remind(hass: HomeAssistant, runtime: RuntimeData, turn: Turn, text: str, at: datetime) -> Wish:
    """Make a reminder. Raises `HomeAssistantError`: for an automation, in the past, too far ahead, one too many."""
    said = " ".join(plain_text(text).split())
    if not turn.profile.wishes:
        raise ToolError("wish_unable")
    if not said:
        raise ToolError("wish_no_text")
    if len(said) > MAX_TEXT:
        raise ToolError("wish_too_long")
    wish = Wish.of(turn, WishKind.REMINDER, _when(at), said, said)
    await _async_do(runtime, turn, MakeWish(wish))
    return wish


async def async_move(hass: HomeAssistant, runtime: RuntimeData, turn: Turn, wish: Wish, at: datetime) -> Wish:
    """Give a wish another time; what has to be so then stays. Raises `HomeAssistantError`."""
    moved = replace(wish, when=_when(at).under(wish.when))
    await _async_do(runtime, turn, ChangeWish(moved))
    return moved


async def async_cancel(runtime: RuntimeData, turn: Turn, wishes: Sequence[Wish]) -> None:
    """Cancel wishes. Raises `HomeAssistantError`."""
    await _async_do(runtime, turn, CancelWishes(wishes))


def _when(at: datetime) -> When:
    local = dt_util.as_local(at)
    wall = local.replace(tzinfo=None, fold=0).isoformat(timespec="seconds" if local.second else "minutes")
    return When(at=dt_util.as_utc(at), wall=wall, words=f"{local:%Y-%m-%d %H:%M}")


async def _async_do(runtime: RuntimeData, turn: Turn, tool: MakeWish | ChangeWish | CancelWishes) -> None:
    await runtime.policy.async_judge(turn, tool, {})  # says in the language of the user what stands against it
    result = await runtime.policy.async_call(turn, tool, llm.ToolInput(tool_name=tool.name, tool_args={}))
    if result.error:
        raise HomeAssistantError(
            translation_domain=DOMAIN,
            translation_key="tool_refused",
            translation_placeholders={"detail": str(result.data["error"])},
        )
