"""What was said in a conversation and what a model was told with it, round by round, as long as Home Assistant's session.

A round is a user message with everything up to the next one. It is kept as it was sent, so that each request starts with the
whole previous one; of a too long conversation about half is dropped at once, so that the model's prompt cache holds again.
"""

import asyncio
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, tzinfo

from homeassistant.components import conversation
from homeassistant.components.conversation import (
    AssistantContent,
    Content,
    SystemContent,
    ToolResultContent,
    UserContent,
)
from homeassistant.core import callback
from homeassistant.helpers import chat_session, llm
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.json import JsonObjectType

from ..client.messages import CONFIRMED, ROUTED
from ..settings.profile import ContextMode
from ..support.encoding import dump
from ..support.errors import ConversationBusy
from ..turn.turn import Owner, Turn
from .conversations import Conversation, Conversations, Role, StoredMessage, is_given, kept_messages
from .turn_part import Baseline, Estimate, KnownState, TurnPart, render_turn_part

HOME_AGENTS = frozenset({conversation.HOME_ASSISTANT_AGENT, "homeassistant"})
"""Home Assistant's own agent, by both of its ids: its results are sentences of the home."""
BEGINNING = datetime.min.replace(tzinfo=UTC)
MAX_SPOKEN_OF = 12  # entities
LEAST_SHARE = 8  # of a window: as much is left for results however long everything else is
LEAST = 64  # tokens of one result
MARK = "…"
TOO_LONG = "The result was too long and is cut here. Ask for less."
NOT_KEPT: JsonObjectType = {"success": True, "result": "no longer kept"}
FAILED: JsonObjectType = {"success": False, "error": "no longer kept"}


@dataclass(slots=True, kw_only=True, eq=False)
class Round:
    """A user message, what followed it, and what the model was told with both."""

    question: UserContent
    speaker: Owner | None = None  # none: another agent heard it
    at: datetime
    answers: list[Content] = field(default_factory=list)  # what follows it in the chat log
    part: TurnPart | None = None
    endpoint_id: str = ""
    """Subentry id of the model that was asked with it; no other one ever read the message as it was said."""
    notes: dict[int, str] = field(default_factory=dict)
    """What the model was told behind an answer, by its place among the answers."""
    results: dict[int, ToolResultContent] = field(default_factory=dict)
    """Results of tools as they were sent, by their place among the answers: long ones are cut."""
    failed: bool = False  # it got an error instead of an answer: neither is sent again, unless something was done in it

    @property
    def sent_answers(self) -> Sequence[Content]:
        """The answers as they are sent: without a final error, and with cut results."""
        answers = self.answers
        if self.failed and answers and isinstance(last := answers[-1], AssistantContent) and not last.tool_calls:
            answers = answers[:-1]
        return [self.results.get(place, item) for place, item in enumerate(answers)] if self.results else answers

    @property
    def told(self) -> str:
        """All that the model was told with it besides what was said."""
        return "".join((self.part.text if self.part else "", *self.notes.values()))


def fit_results(rounds: Sequence[Round], room: int, estimate: Estimate, *, shorter: bool = False) -> None:
    """Cut new results that are too long for `room`, the tokens of all that is sent; short results leave theirs to long ones.

    With `shorter` the results of the newest round are cut to at most half of what was sent: the model said it was too much.
    """
    due: list[tuple[int, int, Round, ToolResultContent]] = []
    for one in rounds:
        again = shorter and one is rounds[-1]
        for place, item in enumerate(one.answers):
            if isinstance(item, ToolResultContent) and (again or place not in one.results):
                due.append((estimate(_text(item)), place, one, item))
    if not due:
        return
    new = {(one, place) for _, place, one, _ in due}
    others = 0
    for one in rounds:
        others += estimate(one.question.content)
        room -= estimate(one.told)
        for place, item in enumerate(one.sent_answers):
            if isinstance(item, AssistantContent):
                others += estimate(item.content or "") + sum(estimate(str(call)) for call in item.tool_calls or ())
            elif (one, place) not in new:
                others += estimate(_text(item))
    room = max(room - others, room // LEAST_SHARE)
    if shorter:
        room = min(room, sum(estimate(_text(one.results.get(place, item))) for _, place, one, item in due) // 2)
    for number, (size, place, one, item) in enumerate(sorted(due, key=lambda one: one[0])):
        share = max(LEAST, room // (len(due) - number))
        one.results[place] = item if size <= share else _cut(item, share / size)
        room -= min(size, share)


def _cut(item: ToolResultContent, share: float) -> ToolResultContent:
    text, data = _text(item), item.result.data
    success = data.get("success", not item.result.error) if isinstance(data, Mapping) else not item.result.error
    part = text[: int(len(text) * share)] + MARK
    return replace(item, result=replace(item.result, data={"success": success, "result": part, "cut": TOO_LONG}))


def _text(item: Content) -> str:
    return dump(item.result.data).decode() if isinstance(item, ToolResultContent) else ""


@dataclass(slots=True, kw_only=True)
class History:
    """What one owner said in a conversation, which is told to no other user.

    Stored messages go before the chat log in each request, or into the owner's prompt if that asks for them, never both.
    """

    conversation_id: str  # the stored conversation that goes on; its own id where nothing was kept
    start: datetime = BEGINNING
    """Rounds before this moment are not sent any more: they were trimmed, or the history was cleared."""
    messages: Sequence[StoredMessage] = ()
    """What was said before the session: oldest first, whole rounds, none older than the profile allows."""
    told_in_prompt: bool = False  # the owner's prompt has these messages as text: they are not sent as rounds as well
    restored: Sequence[Round] | None = None  # the rounds that are made of them; None: not decided yet
    dropped: list[Round] = field(default_factory=list)
    """Rounds that are not sent any more and are not yet in the summary."""
    summary: str = ""  # what was said in rounds that are not sent any more; empty: there is none

    def tell(self) -> Sequence[StoredMessage]:
        """Return the stored messages for a prompt, so that they are not sent as rounds; empty if they already are."""
        if self.restored:
            return ()
        self.told_in_prompt = True
        return self.messages

    def restore(
        self,
        owner: Owner | None,
        limit: int,
        budget: int,
        estimate: Estimate,
        tools: Collection[str],
        zone: tzinfo | None = None,
    ) -> Sequence[Round]:
        """Return the newest rounds, at most `limit` messages and about `budget` tokens, with the calls of these tools."""
        if self.restored is not None:
            return self.restored
        rounds: list[Round] = []
        known = ""
        sent = self.messages and not self.told_in_prompt
        for question, *answers in _newest(self.messages, limit, budget, estimate) if sent else []:
            when = question.at.astimezone(zone) if zone is not None else dt_util.as_local(question.at)
            date = when.strftime("%A %Y-%m-%d")
            facts = {} if date == known else {"date": date}
            known = date
            part = render_turn_part(time=when.strftime("%H:%M"), facts=facts)
            content = [item for answer in answers for item in _content(answer, tools)]
            user = UserContent(content=question.text)
            rounds.append(Round(question=user, speaker=owner, at=question.at, answers=content, part=TurnPart(part)))
        self.restored = rounds
        return rounds


def _newest(
    messages: Sequence[StoredMessage], limit: int, budget: int, estimate: Estimate
) -> list[list[StoredMessage]]:
    """Return the newest whole rounds within the limits, oldest first."""
    chosen: list[list[StoredMessage]] = []
    one: list[StoredMessage] = []
    for message in reversed(messages):
        one.insert(0, message)
        if message.role is Role.USER:
            limit -= sum(bool(item.text) for item in one)
            budget -= sum(estimate(item.text) + sum(estimate(str(call)) for call in item.calls) for item in one)
            if limit < 0 or budget < 0:
                break
            chosen.insert(0, one)
            one = []
    return chosen


def _told_of(item: Content, tools: Collection[str]) -> Sequence[Content]:
    """Return an answer with only the calls of these tools, or one of their results; else nothing."""
    if isinstance(item, ToolResultContent):
        return (item,) if item.tool_name in tools else ()
    if not isinstance(item, AssistantContent):
        return ()
    calls = [call for call in item.tool_calls or () if call.tool_name in tools and item.native == ROUTED] or None
    if not calls and not item.content:
        return ()
    native = CONFIRMED if calls else None  # theirs, and they know it
    return (replace(item, tool_calls=calls, native=native, thinking_content=None),)


def _content(message: StoredMessage, tools: Collection[str]) -> list[Content]:
    """Return an answer as content of a chat log; calls of tools that are not offered any more are left out."""
    calls = [
        (llm.ToolInput(tool_name=call.name, tool_args=dict(call.arguments), id=f"{message.id[-7:]}{number:02}"), call)
        for number, call in enumerate(message.calls)
        if call.name in tools
    ]
    if not calls and not message.text:
        return []
    return [
        AssistantContent(agent_id="", content=message.text or None, tool_calls=[made for made, _ in calls] or None),
        *(
            ToolResultContent(
                agent_id="",
                tool_call_id=made.id,
                tool_name=made.tool_name,
                result=llm.ToolResult(data=NOT_KEPT if call.success else FAILED, error=not call.success),
            )
            for made, call in calls
        ),
    ]


@dataclass(slots=True, kw_only=True)
class Speakers:
    """Who said what in one conversation, to any of our profiles; no user is sent what another one said."""

    guarded: bool = True  # whether only the user who began the conversation gets into it
    said: list[tuple[UserContent, Owner]] = field(default_factory=list)
    """Messages and who said them, the newest last; one that is not here was heard by another agent."""
    taints: set[str] = field(default_factory=set)
    """Tools whose results brought text from outside into the conversation, and other agents that called any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """The rendered instructions: a clock in them does not change what a conversation begins with."""

    owner: Owner  # whom they were written for
    text: str = ""
    personal: bool = False  # whether a template was filled in for the owner: another one gets their own
    told: Mapping[str, KnownState] = field(default_factory=dict)
    """The states in them, as the model knows them from there."""
    states: str = ""  # the same as text


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """What is decided with the first turn of a conversation: what was sent stays as it is."""

    mode: ContextMode | None = None  # how states are told
    window: int | None = None  # tokens of prompt and answer together
    instructions: Instructions | None = None
    baseline: Baseline | None = None
    """The states in the system message; they stay as they are while the home has the same entities."""


@dataclass(slots=True)
class Transcript:
    """One conversation of one profile."""

    speakers: Speakers = field(default_factory=Speakers)
    rounds: list[Round] = field(default_factory=list)
    """Those in Home Assistant's chat log, in its order; the newest is last."""
    histories: dict[Owner, History] = field(default_factory=dict)  # of everybody who talks in it
    added: dict[Owner, str] = field(default_factory=dict)
    """What callers of Assist added to the instructions, for everybody who talks in it."""
    history: History = field(default_factory=lambda: History(conversation_id=""))  # of the user who talks now
    owner: Owner | None = None  # who talks now
    cleared: datetime = BEGINNING  # when the history of everybody was cleared
    cleared_by: dict[str, datetime] = field(default_factory=dict)  # when a user cleared their own
    fixed: Fixed = Fixed()
    map_limit: int | None = None  # tokens of the home map since the model said that a request was too long
    states_told_at: float | None = None  # loop time of the newest states
    spoken_of: list[str] = field(default_factory=list)  # entity ids that were acted on or found, newest first
    idle: str | None = None
    """Id of the context of the last command, if it did nothing: "undo that" may mean it."""
    taints: set[str] = field(default_factory=set)
    """Those of the conversation: all our profiles in it have the same ones, as they are sent the same words."""
    routed: dict[tuple[str, Owner], Transcript] = field(default_factory=dict)
    """The same conversation as those were told it who answer parts of it: by what each is called, and who talks."""
    busy: bool = False
    summing_up: asyncio.Task[None] | None = None
    _place: int = 0  # of the newest user message in the chat log

    def open_round(self, owner: Owner, content: Sequence[Content]) -> Round:
        """Return the round that the newest message of a chat log begins; take over its earlier rounds.

        Home Assistant 2026.10 lets other users into a conversation, and does not keep failed turns.
        """
        self.owner, self.history = owner, self.histories[owner]
        before, known = self.rounds, 0
        self.rounds = []
        for place, item in enumerate(content):
            if not isinstance(item, UserContent):
                if self.rounds and not isinstance(item, SystemContent):
                    self.rounds[-1].answers.append(item)
                    elsewhere = isinstance(item, ToolResultContent) and item.agent_id not in HOME_AGENTS
                    if elsewhere and self.rounds[-1].speaker is None and self.rounds[-1].at >= self.cleared:
                        self.taints.add(item.agent_id)  # another agent's tools may have read anything
                continue
            found = next((index for index in range(known, len(before)) if before[index].question is item), None)
            if found is None:
                speaker = next((owner for said, owner in reversed(self.speakers.said) if said is item), None)
                one = Round(question=item, speaker=speaker, at=item.created)
            else:
                one, known = before[found], found + 1
                one.answers = []
            self.rounds.append(one)
            self._place = place
        newest = self.rounds[-1]
        newest.speaker = owner
        self.speakers.said.append((newest.question, owner))
        return newest

    def follow(self, content: Sequence[Content]) -> Round:
        """Return the newest round with what by now follows its message in the chat log."""
        newest = self.rounds[-1]
        newest.answers = list(content[self._place + 1 :])
        return newest

    def sendable(self, *, history: bool) -> Sequence[Round]:
        """Return the rounds that are still sent if there is room, oldest first; without `history` the newest alone."""
        rounds = [one for one in (*(self.history.restored or ()), *self.rounds) if self._is_sent(one)]
        newest = len(rounds) - 1
        start = next((index for index, one in enumerate(rounds) if one.at >= self.history.start), newest)
        return rounds[start if history else newest :]

    def drop_before(self, first: Round, dropped: Sequence[Round] = ()) -> None:
        """Send nothing any more of what was said before a round; what is `dropped` of it waits for the summary."""
        self.history.start = max(self.history.start, first.at)
        self.history.dropped += [one for one in dropped if one in self.rounds]

    def _is_sent(self, one: Round) -> bool:
        """Return whether a round is sent: only the talking user's own; another agent's only if no other user gets in."""
        if one.failed and not any(isinstance(item, ToolResultContent) for item in one.answers):
            return False
        if one.speaker is None or self.owner is None:
            return self.speakers.guarded or self.owner is None
        return (one.speaker.user_id, one.speaker.device_id) == (self.owner.user_id, self.owner.device_id)

    def as_told_to(self, name: str, tools: Collection[str]) -> Transcript:
        """Return the conversation for another model that answers some of its turns; call it at the beginning of a turn.

        It has the messages and answers, and only the calls of these tools. It is kept, so that the next request begins with the
        same words.
        """
        assert self.owner is not None, "no message was said yet"
        key = (name, self.owner)
        if (told := self.routed.get(key)) is None:
            own, start = self.history, self.cleared_at(self.owner)
            history = History(conversation_id=own.conversation_id, start=start, messages=own.messages)
            histories = {self.owner: history}
            told = self.routed[key] = Transcript(self.speakers, histories=histories, history=history, owner=self.owner)
        told.history.summary = self.history.summary
        known = {id(one.question): one for one in told.rounds}
        told.rounds = []
        for one in self.rounds:
            mine = known.get(id(one.question)) or Round(question=one.question, at=one.at)
            mine.speaker, mine.failed = one.speaker, one.failed
            answers = [item for answer in one.answers for item in _told_of(answer, tools)]
            if mine.answers != answers:
                mine.answers, mine.results = answers, {}
            told.rounds.append(mine)
        told._place = 1
        return told

    def drop_with(self, told: Transcript) -> None:
        """Drop the rounds that another model, asked in every turn, is not sent any more; they are summed up here."""
        self.history.dropped += [one for one in told.history.dropped if one.at >= self.history.start]
        self.history.start = max(self.history.start, told.history.start)
        told.history.dropped.clear()

    def spoke_of(self, entity_ids: Iterable[str]) -> None:
        """Remember what the conversation was about, the most important first."""
        self.spoken_of = list(dict.fromkeys((*entity_ids, *self.spoken_of)))[:MAX_SPOKEN_OF]

    def leave_off_summing_up(self) -> None:
        """Stop the model that sums up: a person speaks, and is not kept waiting."""
        if self.summing_up is not None:
            self.summing_up.cancel()
            self.summing_up = None

    def cleared_at(self, owner: Owner) -> datetime:
        """Return when the history of a user was cleared last."""
        return max(self.cleared, self.cleared_by.get(owner.user_id or "", BEGINNING))

    def forget(self, user_id: str | None) -> bool:
        """Let the next message be the first one, of everybody or of one user; return whether they talk here."""
        talking = {owner.user_id for owner in (*self.histories, self.owner) if owner is not None}
        if user_id is not None and user_id not in talking:
            return False
        now = dt_util.utcnow()
        everybody = user_id is None or talking == {user_id}
        if everybody:
            self.cleared = now
            if user_id is None or all(owner.user_id == user_id for _, owner in self.speakers.said):
                self.taints.clear()
            self.renew()
        else:
            self.cleared_by[user_id or ""] = now
            if (written := self.fixed.instructions) is not None and written.owner.user_id == user_id:
                self.fixed = replace(self.fixed, instructions=None)
        self.histories = {
            owner: history for owner, history in self.histories.items() if not everybody and owner.user_id != user_id
        }
        self.routed.clear()
        self.spoken_of.clear()
        if everybody or (self.owner is not None and self.owner.user_id == user_id):
            self.leave_off_summing_up()
            self.history.start, self.history.summary = now, ""
            self.history.dropped.clear()
        return True

    def renew(self) -> None:
        """Take up the settings as they are now, and have the instructions written again."""
        self.fixed = Fixed()
        self.routed.clear()


@callback
def begin_round(
    turn: Turn,
    transcript: Transcript,
    conversations: Conversations,
    conversation_id: str | None,
    content: Sequence[Content],
) -> Round:
    """Return the round that a message begins; the transcript knows then who talks, and what they said before.

    `conversation_id` is what the caller sent: Home Assistant replaces an id that it does not know any more.
    """
    owner = turn.owner
    if owner not in transcript.histories:
        cleared = transcript.cleared_at(owner)
        history = transcript.histories[owner] = History(conversation_id=turn.conversation_id, start=cleared)
        found = None
        if turn.profile.history_enabled:
            found = conversations.find(turn, conversation_id, anew=cleared != BEGINNING)
        if found is not None:
            begin = dt_util.utcnow() - timedelta(hours=turn.profile.history_max_age_hours)
            history.conversation_id, history.messages = found.id, found.since(begin).messages
            if history.messages:  # words of a web page are no safer for being kept
                transcript.taints |= found.taints
    return transcript.open_round(owner, content)


@callback
def keep_round(turn: Turn, transcript: Transcript, conversations: Conversations) -> tuple[int, Conversation] | None:
    """Store the newest, answered round; return its number of messages, and its conversation.

    None if the history was cleared meanwhile, or the profile keeps none.
    """
    said = transcript.rounds[-1]
    if said.at < transcript.cleared_at(turn.owner):
        return None
    if not (messages := kept_messages([said.question, *said.answers])):
        return None
    kept = conversations.add(turn, transcript.history.conversation_id, messages, transcript.taints)
    return (len(messages), kept) if kept else None


class Transcripts:
    """All conversations with this hub, by conversation id and profile."""

    def __init__(self) -> None:
        """Start with none."""
        self._transcripts: dict[tuple[str, str], Transcript] = {}
        self._speakers: dict[str, Speakers] = {}

    @contextmanager
    def turn(self, conversation_id: str, profile_id: str) -> Generator[Transcript]:
        """Open the transcript for one turn. Raises `ConversationBusy` while another turn of it runs.

        Home Assistant 2026.11 refuses the second turn itself; 2026.10 would run both and lose one.
        """
        key = (conversation_id, profile_id)
        if (transcript := self._transcripts.get(key)) is None:
            chat = chat_session.current_session.get()
            # From 2026.11 on a session knows its user; before, its id was enough to get in, and names can be guessed.
            guarded = hasattr(chat, "user_id") or is_given(conversation_id)
            speakers = self._speakers.setdefault(conversation_id, Speakers(guarded=guarded))
            transcript = self._transcripts[key] = Transcript(speakers, taints=speakers.taints)
            if chat:
                chat.async_on_cleanup(lambda: self._forget(key))
        if transcript.busy:
            raise ConversationBusy
        transcript.busy = True
        transcript.leave_off_summing_up()
        try:
            yield transcript
        finally:
            transcript.busy = False

    @property
    def busy(self) -> bool:
        """Whether anybody is being answered."""
        return any(one.busy for one in self._transcripts.values())

    def spoke_last(self, conversation_id: str, owner: Owner) -> bool:
        """Return whether a conversation would go on with what this owner said."""
        one = self._transcripts.get((conversation_id, owner.profile_id))
        return one is not None and one.owner == owner

    @callback
    def of_owner(self, owner: Owner) -> tuple[str, Transcript] | None:
        """Return the newest conversation in which the owner spoke last, with its id; None without one."""
        theirs = [
            (key[0], one)
            for key, one in self._transcripts.items()
            if key[1] == owner.profile_id and one.rounds and one.rounds[-1].speaker == owner
        ]
        return max(theirs, key=lambda item: item[1].rounds[-1].at, default=None)

    @callback
    def async_clear(self, conversation_id: str | None = None, *, user_id: str | None = None) -> int:
        """Let one conversation, or all, start anew with their next message, with `user_id` only this user's; return how many."""
        return sum(one.forget(user_id) for key, one in self._transcripts.items() if conversation_id in (None, key[0]))

    @callback
    def async_renew_instructions(self, profile_ids: Collection[str] | None = None) -> None:
        """Let every conversation, or those with these profiles, take up the owner's prompt and settings as they are now."""
        for (_, profile_id), transcript in self._transcripts.items():
            if profile_ids is None or profile_id in profile_ids:
                transcript.renew()

    @callback
    def _forget(self, key: tuple[str, str]) -> None:
        self._speakers.pop(key[0], None)
        if (transcript := self._transcripts.pop(key, None)) is not None:
            transcript.leave_off_summing_up()


TRANSCRIPTS: HassKey[Transcripts] = HassKey("home_agent_transcripts")
"""Kept while Home Assistant runs: its chat logs outlive a reload of the entry as well."""
