"""A change of a name: an alias of an entity, an area or a floor is added, removed, proposed or withdrawn."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, override

from homeassistant.core import Context, HomeAssistant
from homeassistant.util.json import JsonObjectType

from ...home.judgement import Judgement
from ...home.taught_names import aliases_of, has_alias, set_alias, taught_names_of, title_of
from ...home.wording import MAX_NAME, cut
from ...support.const import DOMAIN
from ...support.errors import ToolError
from ...support.localize import async_text
from ...support.quoting import short_name
from ...turn.plan import NAMING, Effect
from ...turn.proposal import ProposalStatus
from .effect import Before, EffectKind, Fate, Moment, SubjectChange, Undoing, WayBack

ADD_NAME = "add_name"
REMOVE_NAME = "remove_name"
PROPOSE_NAME = "propose_name"
WITHDRAW_NAME = "withdraw_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class NameChange(Effect):
    """One name of one thing; `data` has the `target` (an entity id, `area:<id>` or `floor:<id>`) and the `name`."""

    kind: ClassVar[str] = "name_change"
    domain: str = DOMAIN

    @classmethod
    @override
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        given, service = data["data"], str(data["service"])
        if service not in _TEXTS:
            raise ValueError(service)
        return cls(service=service, data={"target": str(given["target"]), "name": str(given["name"])})

    @property
    def target(self) -> str:
        """The thing whose name it is."""
        return str(self.data["target"])

    @property
    def name(self) -> str:
        """The name."""
        return str(self.data["name"])

    @property
    @override
    def subjects(self) -> tuple[str, ...]:
        return (f"name:{self.target}:{self.name}",)  # not the thing: its lists and states are not concerned


_TEXTS: Mapping[str, Mapping[Moment, str]] = {
    ADD_NAME: {
        Moment.ASKED: "confirm_add_name", Moment.PAST: "done_add_name",
        Moment.DONE: "name_taught", Moment.UNDONE: "undo_add_name",
    },
    REMOVE_NAME: {
        Moment.ASKED: "confirm_remove_name", Moment.PAST: "done_remove_name", Moment.UNDONE: "undo_remove_name",
    },
    PROPOSE_NAME: {
        Moment.ASKED: "confirm_propose_name", Moment.PAST: "done_propose_name", Moment.DONE: "name_proposed",
    },
    WITHDRAW_NAME: {
        Moment.ASKED: "confirm_withdraw_name", Moment.PAST: "done_withdraw_name", Moment.UNDONE: "undo_withdraw_name",
    },
}  # fmt: skip
"""By service, the translation keys of its sentences."""


class NameChangeKind(EffectKind[NameChange]):
    """Names are kept in Home Assistant's registries; no state shows them."""

    effect = NameChange
    why: ClassVar = {NAMING: "confirm_why_naming"}
    activity: ClassVar = {
        f"{DOMAIN}.{ADD_NAME}": "activity_add_name",
        f"{DOMAIN}.{REMOVE_NAME}": "activity_remove_name",
        f"{DOMAIN}.{PROPOSE_NAME}": "activity_propose_name",
        f"{DOMAIN}.{WITHDRAW_NAME}": "activity_withdraw_name",
    }

    @override
    def judge(self, hass: HomeAssistant, effect: NameChange) -> Judgement:
        """Return that a new name needs a yes; to take one away does not."""
        return Judgement(reasons=(NAMING,) if effect.service == ADD_NAME else ())

    @override
    async def async_execute(self, hass: HomeAssistant, effect: NameChange, subject: str, context: Context) -> None:
        """Change the name and note who did. Raises `ToolError` if the thing is gone or already has the name."""
        names, target, name = taught_names_of(hass), effect.target, effect.name
        if effect.service == ADD_NAME:
            if aliases_of(hass, target) is None:
                raise ToolError("entity_not_found", target=target)
            if has_alias(hass, target, name):
                raise ToolError("name_known", target=title_of(hass, target) or target, name=f"“{name}”")
            set_alias(hass, target, name, there=True)
            names.async_note(target, name, ProposalStatus.APPROVED, context.user_id)
        elif effect.service == PROPOSE_NAME:
            names.async_note(target, name, ProposalStatus.PROPOSED, context.user_id)
        else:
            if effect.service == REMOVE_NAME:
                set_alias(hass, target, name, there=False)
            names.async_forget(target, name)
        await names.async_flush()

    @override
    def is_so(self, hass: HomeAssistant, effect: NameChange, subject: str) -> bool:
        if effect.service in (ADD_NAME, REMOVE_NAME):
            return has_alias(hass, effect.target, effect.name) == (effect.service == ADD_NAME)
        return _is_proposed(hass, effect) == (effect.service == PROPOSE_NAME)

    @override
    def reverse(self, hass: HomeAssistant, effect: NameChange, before: Before | None) -> Sequence[NameChange]:
        """Return what takes a change back; nothing if nothing of it is left. The registry itself knows what was before."""
        there = has_alias(hass, effect.target, effect.name)
        if effect.service == ADD_NAME and there:
            return (replace(effect, service=REMOVE_NAME),)
        if effect.service == REMOVE_NAME and not there and aliases_of(hass, effect.target) is not None:
            return (replace(effect, service=ADD_NAME),)
        if effect.service == PROPOSE_NAME and _is_proposed(hass, effect):
            return (replace(effect, service=WITHDRAW_NAME),)
        return ()

    @override
    def way_back(self, asked: Undoing, subject: str, done: Sequence[SubjectChange]) -> WayBack | None:
        """Return how the names that a thing was given are undone, one by one."""
        changes: list[Any] = [effect for one in done if one.success for effect in one.effects]
        if not changes:
            return None
        back = [undone for change in changes for undone in self.reverse(asked.hass, change, None)]
        label = ", ".join(self.label(change, subject) for change in changes)
        return WayBack(fate=Fate.BACK if back else Fate.ALREADY, effects=back, label=label)

    @override
    def kept(self, effect: NameChange, entity_ids: Collection[str]) -> NameChange:
        """Return it as it is: the registry shows the name anyway."""
        return effect

    @override
    def label(self, effect: NameChange, subject: str) -> str:
        return f"“{effect.name}”"

    @override
    def told(self, hass: HomeAssistant, effect: NameChange) -> JsonObjectType:
        target = title_of(hass, effect.target) or effect.target
        return {"action": effect.action, "target": target, "name": effect.name}

    @override
    async def async_describe(self, hass: HomeAssistant, language: str, effect: NameChange, moment: Moment) -> str:
        if (key := _TEXTS[effect.service].get(moment)) is None:
            return ""
        target = short_name(title_of(hass, effect.target) or effect.target, MAX_NAME)
        return await async_text(hass, language, key, target=target, name=f"“{cut(effect.name)}”")


def _is_proposed(hass: HomeAssistant, effect: NameChange) -> bool:
    """Return whether the name waits for an administrator."""
    row = taught_names_of(hass).get(effect.target, effect.name)
    return row is not None and row.status is ProposalStatus.PROPOSED


NAME_CHANGES = NameChangeKind()
