"""Slash commands: a text that begins with one goes to the agent that has it, in a conversation of its own.

What a tool, script or automation of a running turn says to an agent is plain text, or a model could reach any agent.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
import re
from typing import Any, override

from homeassistant.components.conversation import ConversationInput
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import chat_session, llm
from homeassistant.util.json import JsonValueType
import probatio

from ..policy.confirmation import Call, Confirmations, NobodyConfirms
from ..policy.policy import LISTED
from ..policy.tool import HomeAgentTool
from ..settings.profile import SETTINGS, Profile
from ..support.const import LOGGER
from ..support.localize import async_text
from ..turn.plan import DESTRUCTIVE, ActionClass, Plan
from ..turn.turn import Answer, Turn
from .registry import Registry

HELP = "help"
_COMMAND = re.compile(r"[^\W_][\w-]{0,31}")

type Talk = tuple[str, str, tuple[str | None, ...]]
type Say = Callable[[Profile, str], Awaitable[str]]


def command_name(text: str) -> str | None:
    """Return a command as it is kept, without its slash and in small letters; None for what can be none."""
    name = text.strip().removeprefix("/").casefold()
    return name if _COMMAND.fullmatch(name) and name != HELP else None


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command that was said, and what stands behind it."""

    name: str
    profile: Profile | None  # none: `/help`, and what no agent has
    text: str
    by_rule: bool = False  # whether no command was said, but a rule of the owner's chose the agent
    is_known: bool = True  # false: no agent has it


@dataclass(eq=False)
class SlashCommandTool(HomeAgentTool):
    """Hands a request to an agent that wants a question before it is reached. Made for one request."""

    command: SlashCommand
    to: Profile
    say: Say
    name = "slash_command"
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    parameters = probatio.Schema({probatio.Required("text"): str})
    asks_key = "confirm_command"
    stands_alone = True
    answers = True
    is_elsewhere = True

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return that it needs a yes; what the agent does is planned there."""
        said = f"/{self.command.name} {self.command.text}"
        return Plan(action=ActionClass.SENSITIVE, subject=self.to.name, reasons=(DESTRUCTIVE,), texts=(said,))

    @override
    async def run(self, hass: HomeAssistant, args: dict[str, Any], plan: Plan, turn: Turn) -> JsonValueType:
        """Return the agent's answer."""
        return await self.say(self.to, args["text"])


class Commands:
    """The commands of all agents, and the conversations that began with one; owned by the entry."""

    def __init__(self, registry: Registry) -> None:
        """Take the commands of these agents."""
        self._registry = registry
        self.talks: dict[Talk, dict[str, str]] = {}
        """By where commands were said: the conversations that they began, by the profile's subentry id, newest last."""
        self.async_read()

    @callback
    def async_read(self) -> None:
        """Read the commands of the agents as they are now, longest first; one that two agents have is the first one's."""
        self._by_name: dict[str, Profile] = {}
        for profile in self._registry.by_id.values():
            for name in filter(None, map(command_name, profile.slash_commands)):
                if self._by_name.setdefault(name, profile) is not profile:
                    LOGGER.warning("The command /%s of %s is that of another agent", name, profile.name)
        self._longest_first = sorted((*self._by_name, HELP), key=len, reverse=True)
        self._limited: dict[tuple[str, str], Profile] = {}

    def find(self, text: str) -> SlashCommand | None:
        """Return the command with which a text begins, also one that no agent has; None where it begins with none."""
        said = text.strip()
        for name in self._longest_first if said.startswith("/") else ():
            if said[1 : len(name) + 1].casefold() == name and not said[len(name) + 1 :][:1].strip():
                return SlashCommand(name, self._by_name.get(name), said[len(name) + 1 :].strip())
        first = said.split(maxsplit=1)[0] if said.startswith("/") else ""
        return SlashCommand(first[1:], None, "", is_known=False) if _COMMAND.fullmatch(first[1:]) else None

    def route(
        self, confirmations: Confirmations, user_input: ConversationInput, conversation_id: str, profile: Profile
    ) -> SlashCommand | None:
        """Return the other agent that a text goes to, by command, open question or the owner's rules; None: it stays here."""
        talk, registry, chosen = talk_of(user_input, conversation_id, profile), self._registry, profile
        if registry.chooses_for == profile.subentry_id:
            user_id = user_input.context.user_id
            chosen = registry.choose(user_id, user_input.device_id, user_input.satellite_id)
        heard = user_input.text, user_input.language
        for profile_id, theirs in reversed([*self.talks.get(talk, {}).items()]):
            if confirmations.is_answered((theirs, profile_id), talk[2], *heard):
                target = next((item for item in registry.by_id.values() if item.subentry_id == profile_id), None)
                if target is None:
                    return None
                return SlashCommand("", target, user_input.text, by_rule=target is chosen)
        if (command := self.find(user_input.text)) is not None:
            confirmations.is_answered((conversation_id, profile.subentry_id), talk[2], *heard)
        elif chosen is not profile:
            command = SlashCommand("", chosen, user_input.text, by_rule=True)
        return command

    @callback
    def remember(self, talk: Talk, profile_id: str, conversation_id: str | None) -> None:
        """Go on with a conversation when its command is said again, as long as the one in which it was said lasts."""
        if conversation_id is None:
            return
        if talk not in self.talks and (session := chat_session.current_session.get()) is not None:

            def forget() -> None:
                self.talks.pop(talk, None)

            session.async_on_cleanup(forget)
        theirs = self.talks.setdefault(talk, {})
        theirs.pop(profile_id, None)
        theirs[profile_id] = conversation_id

    def limited(self, profile: Profile, by: Profile) -> Profile:
        """Return a profile with what protects the home in the one where its command was said."""
        key = (by.subentry_id, profile.subentry_id)
        if by.subentry_id == profile.subentry_id:
            return profile
        if key not in self._limited:
            guards = SETTINGS["documents_for"].options
            self._limited[key] = replace(
                profile,
                always_ask=tuple(dict.fromkeys((*profile.always_ask, *by.always_ask))),
                never_ask=tuple(name for name in profile.never_ask if name in by.never_ask),
                never_offer=tuple(dict.fromkeys((*profile.never_offer, *by.never_offer))),
                documents_for=max(profile.documents_for, by.documents_for, key=guards.index),
                changes_within=tuple(dict.fromkeys((*profile.changes_within, *by.changes_within))),
                within=tuple(dict.fromkeys((*profile.within, *by.within))),
                memory=max(profile.memory, by.memory, key=SETTINGS["memory"].options.index),
            )
        return self._limited[key]

    async def async_answer(
        self, hass: HomeAssistant, turn: Turn, confirmations: Confirmations, command: SlashCommand, say: Say
    ) -> Answer:
        """Return the list of commands, an explanation, or the question before a command. Raises `NobodyConfirms`."""
        profile = command.profile
        if profile is None:
            lines = [await async_text(hass, turn.speaks, "command_help")]
            if not command.is_known:
                lines.insert(0, await async_text(hass, turn.speaks, "command_unknown", command=f"/{command.name}"))
            theirs = {one.subentry_id: one for one in self._by_name.values() if one.is_for(turn.context.user_id)}
            for one in theirs.values():
                names = ", ".join(f"/{name}" for name, of in self._by_name.items() if of is one)
                lines.append(f"- {names}: {' '.join([f'{one.name}.', *one.description.split()])}")
            lines.append(f"- /{HELP}: {await async_text(hass, turn.speaks, 'command_help_itself')}")
            return Answer(text="\n".join(lines))
        if not command.text:
            placeholders = {"command": f"/{command.name}", "profile": profile.name}
            text = await async_text(hass, turn.speaks, "command_alone", **placeholders)
            return Answer(text=" ".join([text, *profile.description.split()]))
        tool = SlashCommandTool(command, profile, say)
        plan = await tool.plan(hass, {}, turn)
        if not turn.answerable:
            raise NobodyConfirms(target=f"/{command.name}")
        confirmations.add(turn, Call(tool=tool, arguments={"text": command.text}, plan=plan, why=(LISTED,)))
        return Answer(needs_confirmation=True)


def talk_of(user_input: ConversationInput, conversation_id: str, profile: Profile) -> Talk:
    """Return where something is said, and by whom."""
    user_id = user_input.context.user_id
    speaker = (user_id,) if user_id else (user_input.device_id, user_input.satellite_id)
    return conversation_id, profile.subentry_id, speaker
