"""A change of a wish: one is made, cancelled, or gets another time."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast, override

from homeassistant.core import Context, HomeAssistant
from homeassistant.util import dt as dt_util
from homeassistant.util.json import JsonObjectType

from ...home.judgement import Judgement
from ...home.wording import cut, quoted
from ...support.const import DOMAIN
from ...support.errors import ToolError
from ...support.localize import async_text
from ...turn import events
from ...turn.plan import Effect, Reach
from ...wishes.spoken import async_when
from ...wishes.when import When
from ...wishes.wish import Wish, WishStatus
from ...wishes.wishes import wishes_of
from .effect import Before, EffectKind, Moment

MAKE_WISH = "make_wish"
CANCEL_WISH = "cancel_wish"
CHANGE_WISH = "change_wish"
_TEXTS: Mapping[str, Mapping[Moment, str]] = {
    MAKE_WISH: {Moment.ASKED: "confirm_make_wish", Moment.PAST: "done_make_wish", Moment.UNDONE: "undo_make_wish"},
    CANCEL_WISH: {
        Moment.ASKED: "confirm_cancel_wish",
        Moment.PAST: "done_cancel_wish",
        Moment.UNDONE: "undo_cancel_wish",
    },
    CHANGE_WISH: {
        Moment.ASKED: "confirm_change_wish",
        Moment.PAST: "done_change_wish",
        Moment.UNDONE: "undo_change_wish",
    },
}
"""By service, the translation keys of its sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WishChange(Effect):
    """One wish is made, cancelled or changed; `data` has its row, as it is to be or as it was."""

    kind: ClassVar[str] = "wish_change"
    domain: str = DOMAIN

    @classmethod
    @override
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        service, row = str(data["service"]), dict(data["data"])
        if service not in _TEXTS or not row.get("id"):
            raise ValueError(service)
        return cls(service=service, data=row)

    @classmethod
    def of(cls, service: str, wish: Wish) -> Self:
        """Return the effect that makes, cancels or changes a wish."""
        return cls(service=service, data=wish.as_dict())

    @property
    def wish(self) -> Wish:
        """The wish. Raises `ValueError`, `KeyError` or `TypeError` for a row that cannot be read."""
        return Wish.from_dict(self.data)

    @property
    @override
    def subjects(self) -> tuple[str, ...]:
        return (f"wish:{self.data['id']}",)


class WishChangeKind(EffectKind[WishChange]):
    """Wishes are kept; no state shows them. What they do is judged when they are made and when they are done."""

    effect = WishChange
    changes_home: ClassVar[bool] = False
    activity: ClassVar = {
        f"{DOMAIN}.{MAKE_WISH}": "activity_make_wish",
        f"{DOMAIN}.{CANCEL_WISH}": "activity_cancel_wish",
        f"{DOMAIN}.{CHANGE_WISH}": "activity_change_wish",
    }

    @override
    def judge(self, hass: HomeAssistant, effect: WishChange) -> Judgement:
        """Return that it needs a yes once text from outside was read."""
        return Judgement(reach=Reach(wary=True))

    @override
    async def async_execute(self, hass: HomeAssistant, effect: WishChange, subject: str, context: Context) -> None:
        """Make, cancel or change the wish. Raises `ToolError` if it is gone, was begun, or is one too many."""
        wishes, wish = wishes_of(hass), effect.wish
        known = wishes.get(wish.id)
        if effect.service == MAKE_WISH:
            if known is not None:
                raise ToolError("wish_there")
            wishes.check_room(wish)
            wishes.put(replace(wish, status=WishStatus.WAITING))
            event = events.WISH_CREATED
        elif known is None or known.status is WishStatus.RUNNING:
            raise ToolError("wish_over")
        elif effect.service == CANCEL_WISH:
            wishes.cancel(known)
            event = events.WISH_CANCELLED
        else:
            wish = replace(known, when=wish.when, status=WishStatus.WAITING)
            wishes.check_room(wish)
            wishes.put(wish)
            event = events.WISH_CHANGED
        events.async_wish(hass, event, wish.as_event(), context)
        await wishes.async_flush()

    @override
    def is_so(self, hass: HomeAssistant, effect: WishChange, subject: str) -> bool:
        known = wishes_of(hass).get(str(effect.data["id"]))
        if effect.service == CANCEL_WISH:
            return known is None
        return known is not None and known.when == effect.wish.when

    @override
    def capture(self, hass: HomeAssistant, effect: WishChange, subject: str) -> Before | None:
        """Return when it is due: what was said of it is not for the journal."""
        known = wishes_of(hass).get(str(effect.data["id"]))
        return {"when": known.when.as_dict()} if known is not None else {}

    @override
    def reverse(self, hass: HomeAssistant, effect: WishChange, before: Before | None) -> Sequence[WishChange] | None:
        """Return what takes it back; None for a wish whose time has come since."""
        wish_id = str(effect.data["id"])
        wishes, known = wishes_of(hass), wishes_of(hass).get(wish_id)
        if effect.service == MAKE_WISH:
            return (replace(effect, service=CANCEL_WISH),) if known is not None else None
        earlier = wishes.cancelled.get(wish_id) if effect.service == CANCEL_WISH else known
        if earlier is None or (effect.service == CANCEL_WISH and known is not None):
            return None
        if effect.service == CHANGE_WISH:
            try:
                earlier = replace(earlier, when=When.from_dict(cast(Mapping[str, Any], (before or {})["when"])))
            except KeyError, TypeError, ValueError:
                return None
        is_past = earlier.when.at is not None and earlier.when.at <= dt_util.utcnow()
        if is_past:
            return None
        service = MAKE_WISH if effect.service == CANCEL_WISH else CHANGE_WISH
        return (WishChange.of(service, earlier),)

    @override
    def kept(self, effect: WishChange, entity_ids: Collection[str]) -> WishChange:
        """Return it without what is told and done: to undo it, the row was captured. The action has the sentence that was said."""
        return replace(effect, data={**effect.data, "words": "", "text": "", "steps": []})

    @override
    def label(self, effect: WishChange, subject: str) -> str:
        words = effect.data.get("words") or effect.data.get("when", {}).get("words") or "…"
        return f"“{cut(str(words))}”"

    @override
    def told(self, hass: HomeAssistant, effect: WishChange) -> JsonObjectType:
        when = effect.wish.when
        return {
            "action": effect.action,
            "id": str(effect.data["id"]),
            "wish": str(effect.data["words"]),
            "when": when.said,
            "at": dt_util.as_local(when.at).isoformat(timespec="seconds") if when.at is not None else None,
        }

    @override
    async def async_describe(self, hass: HomeAssistant, language: str, effect: WishChange, moment: Moment) -> str:
        if (key := _TEXTS[effect.service].get(moment)) is None:
            return ""
        try:
            when = await async_when(hass, language, When.from_dict(cast(Mapping[str, Any], effect.data["when"])))
        except KeyError, TypeError, ValueError:
            when = str(effect.data.get("when", {}).get("words", ""))
        return await async_text(hass, language, key, wish=quoted(_words_of(hass, effect), language), when=cut(when))


def _words_of(hass: HomeAssistant, effect: WishChange) -> str:
    """Return the words of a wish: the journal keeps none, those that wait and those that were cancelled lately have theirs."""
    if words := str(effect.data.get("words", "")):
        return words
    kept, wish_id = wishes_of(hass), str(effect.data["id"])
    known = kept.get(wish_id) or kept.cancelled.get(wish_id)
    return known.words if known is not None else "…"


WISH_CHANGES = WishChangeKind()
