"""Teaching a name: the tool `teach_name`, the sentences that say so, and the proposals for administrators.

A name is added to Home Assistant's registry, which only administrators may do. An administrator who speaks is asked in the
conversation; the names of other users are proposed, and wait in Repairs.
"""

from collections.abc import Sequence
from typing import Any, cast, override
import unicodedata

from homeassistant.components.conversation import ChatLog
from homeassistant.core import Context, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType, JsonValueType
import probatio

from ..home.exposure import may_know
from ..home.snapshot import Home
from ..home.targets import Targets
from ..home.taught_names import (
    AREA,
    FLOOR,
    MAX_TAUGHT,
    TAUGHT,
    TaughtName,
    aliases_of,
    has_alias,
    taught_names_of,
    title_of,
)
from ..languages.phrases import is_reserved, taught_in
from ..languages.vocabulary import Languages
from ..settings.memory import MemorySettings
from ..settings.profile import Profile
from ..support import issues
from ..support.errors import ToolError, ToolRefusal
from ..support.localize import async_error_text, async_text
from ..support.text import fold, phrase, runs
from ..turn.plan import NAMING, ActionClass, Plan
from ..turn.proposal import ProposalStatus
from ..turn.turn import Answer, Turn
from .effects.effect import Moment
from .effects.name_change import ADD_NAME, NAME_CHANGES, PROPOSE_NAME, REMOVE_NAME, NameChange
from .naming import async_names_another_kind, has_wrong_letters, is_guarded, looks_like, reads_like_a_command
from .policy import Policy
from .proposals import ProposalKind, has_room
from .tool import NOT_STORED, HomeAgentTool, noted
from .write import EffectTool

NAME = "teach_name"
MAX_NAME = 50  # characters
MAX_WORDS = 6
MAX_TARGET = 255
_SIGNS = frozenset(" '’.&+/-\u200c\u200d")
"""What a name may have in it besides letters, numbers and their marks."""
OFF = "No names are taken here: memory is off. Nothing was done."
PROPOSED = "Nothing is changed yet: administrators are asked in Repairs. Tell the user."


class TeachName(HomeAgentTool):
    """Gives a thing a name, or proposes it to administrators."""

    name = NAME
    title_key = "tool_teach_name"
    description = "Add a name that the user gives to a thing or area."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    judges_calls = True
    stands_alone = True
    parameters = probatio.Schema(
        {
            probatio.Required("target"): probatio.All(str, probatio.Length(min=1, max=MAX_TARGET)),
            probatio.Required("name"): probatio.All(str, probatio.Length(max=MAX_TARGET)),
        },
        extra=probatio.REMOVE_EXTRA,
    )
    wire_parameters: JsonObjectType = {  # noqa: RUF012 - never changed
        "type": "object",
        "properties": {"target": {"type": "string"}, "name": {"type": "string"}},
        "required": ["target", "name"],
    }

    def __init__(self, home: Home, languages: Languages, *, approved: bool = False) -> None:
        """Take where the exposed home is read; `approved`: an administrator has said yes to what was proposed."""
        self.home = home
        self._languages = languages
        self._approved = approved

    def approved(self) -> TeachName:
        """Return the tool for what an administrator has said yes to."""
        return TeachName(self.home, self._languages, approved=True)

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the name to be added, or proposed where no administrator speaks. Raises `ToolError` for what cannot be one."""
        if not (turn.remembers or self._approved):
            raise ToolRefusal(OFF)
        targets = Targets(hass=hass, home=self.home, area_id=turn.area_id, user=turn.user)
        target = await targets.async_thing(args["target"])
        name = " ".join(unicodedata.normalize("NFC", args["name"]).split())
        await self._async_check(hass, targets, target, name, turn)
        names, told = taught_names_of(hass), {"name": f"“{name}”", "target": _title(hass, target)}
        decides = self._approved or (turn.user is not None and turn.user.is_admin and turn.answerable)
        known = None if decides else names.get(target, name)
        if known is not None and known.status is not ProposalStatus.APPROVED:
            raise ToolError("name_declined" if known.status is ProposalStatus.DECLINED else "name_waits", **told)
        if decides and len(names.rows(ProposalStatus.APPROVED)) >= MAX_TAUGHT:
            raise ToolError("name_too_many", limit=str(MAX_TAUGHT))
        if not decides and not has_room(names, turn.context.user_id):
            raise ToolError("name_proposed_too_many", count=str(len(names.rows(ProposalStatus.PROPOSED))))
        asks = decides or bool(turn.record.taints)
        return Plan(
            action=ActionClass.SENSITIVE if asks else ActionClass.WRITE,
            targets=() if target.startswith((AREA, FLOOR)) else (target,),
            effects=(NameChange(service=ADD_NAME if decides else PROPOSE_NAME, data={"target": target, "name": name}),),
            reasons=(NAMING,) if asks else (),
        )

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Do it; the result says whether the thing has the name now, or administrators are asked."""
        [change] = cast(Sequence[NameChange], plan.effects)
        await NAME_CHANGES.async_execute(hass, change, change.target, turn.context)
        told: JsonObjectType = {"target": change.target, "name": change.name}
        if change.service == PROPOSE_NAME:
            told |= {"status": ProposalStatus.PROPOSED.value, "note": PROPOSED}
        else:
            told["status"] = TAUGHT
        return noted(told, taught_names_of(hass))

    async def _async_check(self, hass: HomeAssistant, targets: Targets, target: str, name: str, turn: Turn) -> None:
        """Raise `ToolError` where a thing cannot have a name, or not this one."""
        title, quoted = _title(hass, target), f"“{name[:MAX_NAME]}”"
        if aliases_of(hass, target) is None:
            raise ToolError("name_not_kept", target=title)
        if not name or len(name) > MAX_NAME or len(name.split()) > MAX_WORDS or not phrase(name):
            raise ToolError("name_length", limit=str(MAX_NAME), count=str(MAX_WORDS))
        if not all(sign.isalnum() or sign in _SIGNS or unicodedata.category(sign)[0] == "M" for sign in name):
            raise ToolError("name_signs")
        if has_wrong_letters(name):
            raise ToolError("name_letters", name=quoted)
        words = [fold(word) for word in runs(name)]
        language = await self._languages.async_get(turn.language)
        means_all = language.has_everything(words) and all(
            language.has_everything([word]) or word in language.fillers or language.is_noun(word) for word in words
        )
        says_nothing = is_reserved(name, turn.language) or len(words) == len("".join(words)) == 1
        if means_all or says_nothing or not any(map(str.isalpha, name)) or reads_like_a_command(name, turn.language):
            raise ToolError("name_reserved", name=quoted)
        home, guarded = await targets.home.async_get(), is_guarded(hass, target)
        others = home.names.called(name)
        if not others and (alike := looks_like(home.names, target, name, mistyped=guarded)) is not None:
            others = [alike]
        if target in others or has_alias(hass, target, name):
            raise ToolError("name_known", target=title, name=quoted)
        if others:
            known = [one for one in others if one.startswith((AREA, FLOOR)) or may_know(hass, turn.user, one)]
            if not known:
                raise ToolError("name_taken", name=quoted)
            raise ToolError("name_taken_by", name=quoted, target=_title(hass, known[0]))
        own_names = home.names.labels.get(target, ())
        if await async_names_another_kind(hass, target, name, language, own_names, guarded=guarded):
            raise ToolError("name_other_kind", target=title, name=quoted)


class ForgetName(EffectTool):
    """Takes a taught name away again; for the action, no model is offered it."""

    name = "forget_taught_name"
    title_key = "tool_forget_taught_name"
    description = "Takes a taught name away."
    annotations = llm.ToolAnnotations(read_only=False, destructive=False, idempotent=True, open_world=False)
    judges_calls = True
    stands_alone = True
    parameters = probatio.Schema({probatio.Required("target"): str, probatio.Required("name"): str})
    wire_parameters: JsonObjectType = {"type": "object", "properties": {}}  # noqa: RUF012 - never changed

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the name to be removed."""
        change = NameChange(service=REMOVE_NAME, data={"target": args["target"], "name": args["name"]})
        return Plan(action=ActionClass.WRITE, effects=(change,))


class NameTools:
    """Offers `teach_name` beside the tools that write."""

    names = (NAME,)

    def __init__(self, home: Home, languages: Languages, settings: MemorySettings) -> None:
        """Take where the exposed home is read, and whether anything is remembered: where nothing is, no name is either."""
        self.enabled = settings.enabled
        self.tool = TeachName(home, languages)
        self.revision = 0

    @callback
    def async_use(self, settings: MemorySettings) -> None:
        """Offer it by these settings from now on."""
        if settings.enabled is not self.enabled:
            self.enabled = settings.enabled
            self.revision += 1

    async def async_tools(self, profile: Profile, llm_context: llm.LLMContext) -> tuple[HomeAgentTool, ...]:
        """Return it, or nothing when the profile has our tools, or the memory, switched off."""
        return (self.tool,) if profile.native_tools and self.enabled and profile.remembers else ()


async def async_answer_teaching(
    hass: HomeAssistant, policy: Policy, names: NameTools, turn: Turn, chat_log: ChatLog
) -> Answer | None:
    """Teach a name if the turn says so in one of the sentences of the language, about a known thing; None otherwise.

    It stands in the chat log as a call that code has made.
    """
    tool = names.tool
    said = taught_in(turn.text, turn.language) if names.enabled and turn.profile.remembers else ()
    for thing, name in said:
        targets = Targets(hass=hass, home=tool.home, area_id=turn.area_id, user=turn.user)
        try:
            target = await targets.async_thing(thing)
        except ToolRefusal:
            continue
        arguments = {"target": target, "name": name}
        try:
            await tool.plan(hass, {**arguments}, turn)
        except HomeAssistantError as err:
            return Answer(text=await async_error_text(hass, turn.speaks, err), done=False)
        result = await policy.async_call_by_code(turn, tool, arguments, chat_log, known=turn.profile.native_tools)
        if result is None:
            return Answer(needs_confirmation=True)
        if result.error:
            return Answer(text=await async_text(hass, turn.speaks, "confirm_failed"), done=False)
        change = NameChange(service=ADD_NAME if has_alias(hass, target, name) else PROPOSE_NAME, data=arguments)
        told = [await NAME_CHANGES.async_describe(hass, turn.speaks, change, Moment.DONE)]
        if not taught_names_of(hass).is_stored:
            told.append(await async_text(hass, turn.speaks, NOT_STORED))
        return Answer(text=" ".join(told))
    return None


def proposed_names(hass: HomeAssistant, policy: Policy, teach: TeachName, profile: Profile) -> ProposalKind[TaughtName]:
    """Return the proposed names as what administrators decide on; they are given through a profile."""
    names = taught_names_of(hass)

    async def async_in_words(row: TaughtName) -> str:
        user = await hass.auth.async_get_user(row.user_id) if row.user_id else None
        language, target, name = hass.config.language, _title(hass, row.target), f"“{row.name}”"
        thing = target if row.target.startswith((AREA, FLOOR)) else f"{target} ({row.target})"
        if user is None or not user.name:
            return await async_text(hass, language, "name_question", target=thing, name=name)
        return await async_text(hass, language, "name_question_of", target=thing, name=name, user=user.name)

    async def async_approve(rows: Sequence[TaughtName]) -> str | None:
        giving = (_async_approve(hass, policy, teach.approved(), profile, row) for row in rows if row in names.rows())
        faults = [await fault for fault in giving]
        return "\n".join(fault for fault in faults if fault) or None

    def decline(rows: Sequence[TaughtName]) -> None:
        for row in rows:
            names.async_note(row.target, row.name, ProposalStatus.DECLINED, row.user_id)

    return ProposalKind(
        key=issues.NAMES_PROPOSED, kept=names, text=async_in_words, approve=async_approve, decline=decline
    )


async def _async_approve(
    hass: HomeAssistant, policy: Policy, tool: TeachName, profile: Profile, row: TaughtName
) -> str | None:
    """Give a thing a proposed name in the name of its proposer, with the permissions of now; return why that failed, or None."""
    user = await hass.auth.async_get_user(row.user_id) if row.user_id else None
    if row.user_id and (user is None or not user.is_active):  # without a user, there would be no limits
        return await async_error_text(hass, hass.config.language, ToolError("name_proposer_gone", name=f"“{row.name}”"))
    turn = Turn(
        profile=profile,
        conversation_id=row.id,
        text="",
        language=hass.config.language,
        context=Context(user_id=row.user_id),
        user=user,
    )
    arguments = {"target": row.target, "name": row.name}
    try:
        plan = await tool.plan(hass, arguments, turn)
    except HomeAssistantError as err:
        return await async_error_text(hass, turn.speaks, err)
    call = llm.ToolInput(tool_name=tool.name, tool_args=arguments, external=True)
    result = await policy.async_call(turn, tool, call, confirmed=plan)
    return str(result.data["error"]) if result.error else None


def _title(hass: HomeAssistant, target: str) -> str:
    return title_of(hass, target) or target
