"""What happens when a wish is due: it is done, asked about or told, as the person who wished it, by their agent of now."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
import contextvars
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

from homeassistant.auth.models import User
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.components import conversation, persistent_notification
from homeassistant.core import Context, Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from ..home.exposure import is_exposed, is_shared
from ..home.wording import quoted
from ..languages.data import async_load
from ..policy.channels import ALOUD, async_ask_aloud, async_put_outside, ways_to_ask
from ..policy.confirmation import Confirmation, Resolution
from ..policy.questions import async_deeds, async_not_followed, async_states
from ..settings.profile import Profile
from ..speech import speakable_text
from ..support.const import DOMAIN, LOGGER
from ..support.kept import Change
from ..support.localize import async_error_text, async_text
from ..turn import events
from ..turn.plan import Effect
from ..turn.turn import Turn, TurnRecord, TurnRequest, current_request, running
from ..wishes.due import Due, DueReason, Stays
from ..wishes.wish import Wish, WishKind, WishStatus
from ..wishes.wishes import wishes_of
from .runtime import HomeAgentConfigEntry, RuntimeData
from .telling import PREFIX, async_tell
from .wish_steps import StepsDone, WishSteps, effects_of, is_so

ON_TIME = timedelta(minutes=1)
"""A wish that is no later needs no word about it."""
SENSITIVE_LATE = timedelta(minutes=2)
"""What opens, unlocks or disarms is not done later than this, not even with a yes."""
END_LATE = timedelta(days=1)
"""What was done for a while is ended up to so much later."""
STALE = timedelta(hours=1)
"""A timer or a wake-up that is later is only told as missed."""
NAME = "Home Agent"
_CONDITION = {DueReason.UNMET: "wish_unmet", DueReason.UNKNOWN: "wish_unknown"}
CLEARED = "mobile_app_notification_cleared"
"""Fired when a notification with a tag is swiped away on a phone."""


async def async_run_wish(hass: HomeAssistant, runtime: RuntimeData, wish: Wish, due: Due) -> Stays | None:
    """Do what a wish that is due wants, or tell why not; return `Stays` for one that waits for an answer, None for one that is over.

    It runs in a context of its own: nothing of the turn in which it was made, or that led to it being due, holds for it.
    """
    run = asyncio.create_task(_async_run(hass, runtime, wish, due), context=contextvars.Context())
    return await run


@callback
def async_start(hass: HomeAssistant, entry: HomeAgentConfigEntry) -> None:
    """Tell what becomes of wishes that were asked about, and take note of wake-ups whose notification is dismissed."""
    runtime = entry.runtime_data

    @callback
    def ended(confirmation: Confirmation, resolution: Resolution) -> None:
        wish = wishes_of(hass).get(confirmation.turn.wish)
        if wish is None or wish.status is WishStatus.WAITING or resolution is Resolution.CONFIRMED:
            return
        if runtime.policy.confirmations.is_closed:  # it is told with the next start
            return
        run = DueWish(hass=hass, runtime=runtime, wish=wish, due=Due(), turn=replace(confirmation.turn, parent=None))
        entry.async_create_task(hass, _async_not_confirmed(run, resolution), "a wish was not confirmed")

    @callback
    def cleared(event: Event[Any]) -> None:
        runtime.wakes.async_dismiss(str(event.data.get("tag", "")).removeprefix(PREFIX))

    @callback
    def dismissed(update: persistent_notification.UpdateType, notifications: Mapping[str, Any]) -> None:
        if update is persistent_notification.UpdateType.REMOVED:
            for notification_id in notifications:
                runtime.wakes.async_dismiss(notification_id.removeprefix(PREFIX))

    entry.async_on_unload(runtime.wakes.async_stop)
    runtime.policy.confirmations.async_listen(ended)
    entry.async_on_unload(wishes_of(hass).async_listen(partial(_follow, runtime)))
    entry.async_on_unload(hass.bus.async_listen(CLEARED, cleared))
    entry.async_on_unload(persistent_notification.async_register_callback(hass, dismissed))


@callback
def _follow(runtime: RuntimeData, changes: Sequence[Change[Wish]]) -> None:
    """End the questions about wishes that are cancelled, or get another time, and wake no one for them."""
    confirmations = runtime.policy.confirmations
    for change in changes:
        before, after = change.before, change.after
        if before is not None and after is None:
            runtime.wakes.async_dismiss(before.id)
        if before is None or before.status is not WishStatus.ASKED:
            continue
        if after is None or after.status is WishStatus.WAITING:
            for confirmation in confirmations.open():
                if confirmation.turn.wish == before.id:
                    confirmations.end(confirmation, Resolution.CANCELLED)


async def _async_not_confirmed(run: DueWish, resolution: Resolution) -> None:
    """End a wish whose question has ended without a yes, and tell it unless the user said no."""
    wishes = wishes_of(run.hass)
    wishes.drop([run.wish])
    await wishes.async_flush()
    if resolution is Resolution.REJECTED:
        _fire(run.hass, run.wish, events.WISH_FAILED, resolution, run.turn.context)
        return
    await run.async_fail(resolution, await run.async_say("wish_not_confirmed"))


async def _async_run(hass: HomeAssistant, runtime: RuntimeData, wish: Wish, due: Due) -> Stays | None:
    await async_load(hass, wish.language)
    user = await hass.auth.async_get_user(wish.user_id) if wish.user_id else None
    if wish.user_id and (user is None or not user.is_active):
        LOGGER.warning("A wish was not done: its user was removed or is not active any more (%s)", wish.id)
        _fire(hass, wish, events.WISH_FAILED, "user")
        return None
    profile = runtime.profiles.get(wish.agent_id)
    run = DueWish(hass=hass, runtime=runtime, wish=wish, due=due, turn=_turn_of(hass, wish, user, profile or Profile()))
    if profile is None:
        await run.async_fail("agent", await run.async_say("wish_agent_gone"))
        return None
    if not profile.is_for(wish.user_id):
        key = "agent_not_for_user" if wish.user_id else "agent_not_for_unknown"
        await run.async_fail("agent", await run.async_say(key, profile=profile.name))
        return None
    wishes_of(hass).note_run(run.turn.context)
    try:
        return Stays() if await run.async_end() else None
    finally:
        if run.turn.record.request_id is not None:
            runtime.policy.confirmations.drop(run.turn)


def _turn_of(hass: HomeAssistant, wish: Wish, user: User | None, profile: Profile) -> Turn:
    """Return the turn in which a wish is done: the same person at the same place, but no one says anything now."""
    context = Context(user_id=wish.user_id)
    agent_id = er.async_get(hass).async_get_entity_id(conversation.DOMAIN, DOMAIN, profile.subentry_id)
    return Turn(
        profile=profile,
        conversation_id=wish.conversation_id or context.id,
        text=wish.words,
        language=wish.language,
        context=context,
        user=user,
        device_id=wish.device_id,
        satellite_id=wish.satellite_id,
        area_id=wish.area_id,
        agent_id=agent_id or "",
        spoken=bool(wish.device_id or wish.satellite_id),
        confirm_via=ways_to_ask(hass, wish.user_id, wish.device_id, wish.satellite_id),
        wish=wish.id,
        insists=wish.asks,
        within=wish.within,
        record=TurnRecord(shares=max(1, len(wish.steps))),
    )


def _fire(hass: HomeAssistant, wish: Wish, event: str, reason: str, context: Context | None = None) -> None:
    events.async_wish(hass, event, wish.as_event() | {"reason": str(reason)}, context)


@dataclass(frozen=True, slots=True, kw_only=True)
class DueWish:
    """One wish that is due."""

    hass: HomeAssistant
    runtime: RuntimeData
    wish: Wish
    due: Due
    turn: Turn

    # What comes of it

    async def async_end(self) -> bool:
        """Do, ask or tell; return whether it stays, until it is answered."""
        is_action = self.wish.kind is WishKind.ACTION
        match self.due.reason:
            case DueReason.EXPIRED:
                return await self.async_fail(DueReason.EXPIRED, await self.async_say("wish_expired"))
            case DueReason.GONE:
                return await self.async_fail(DueReason.GONE, await self.async_say("wish_gone"))
            case DueReason.ASKED if is_action:
                return await self.async_fail(DueReason.ASKED, await self.async_say("wish_not_confirmed"))
            case DueReason.INTERRUPTED if is_action or self.wish.kind is WishKind.QUESTION:
                return await self._async_interrupted()
        if is_action and not self._is_same():
            return await self.async_fail(DueReason.GONE, await self.async_say("wish_gone"))
        if self._is_hidden():  # neither its state nor what follows from it is told
            return await self.async_fail(DueReason.GONE, await self.async_say("wish_gone"))
        if (unmet := self._unmet()) is not None:
            return await self._async_unmet(unmet)
        if is_action:
            return await self._async_action()
        if self.wish.kind in (WishKind.WAKE, WishKind.TIMER) and self.due.late > STALE:
            return await self._async_missed()
        if self.wish.kind is WishKind.WAKE:
            return await self._async_wake()
        return await self._async_told(await self._async_words())

    async def _async_action(self) -> bool:
        """Do the steps, ask first where they need a yes or come too late, or tell that they were missed."""
        steps = WishSteps(hass=self.hass, runtime=self.runtime, turn=self.turn, wish=self.wish)
        late, allowed = self.due.late, timedelta(minutes=self.turn.profile.wishes_late)
        asks = self.wish.asks or await steps.async_need_yes()
        if asks and late > SENSITIVE_LATE:
            return await self._async_missed()
        is_late = late > END_LATE if self.wish.ends else late > max(ON_TIME, allowed)
        if is_late and (self.wish.ends or not self.turn.confirm_via):
            return await self._async_missed()
        if asks or is_late:
            return await self._async_ask(replace(steps, turn=replace(self.turn, insists=True)))
        return await self._async_done(await steps.async_run())

    async def _async_ask(self, steps: WishSteps) -> bool:
        """Ask whether the steps are to be done; they are when the yes comes."""
        if not self.turn.confirm_via:
            return await self.async_fail("no_channel", await self.async_say("wish_no_channel"))
        found = await steps.async_run()
        if not found.is_whole or self.turn.record.request_id is None:
            return await self._async_done(found)
        because = await self.async_say("wish_asks_late" if self.due.late > ON_TIME else "wish_asks", time=self._time)
        return await self._async_put(because)

    async def _async_put(self, because: str) -> bool:
        """Put the question of the turn on its channels; return that the wish stays until it is answered."""
        hass, policy = self.hass, self.runtime.policy
        question = await async_put_outside(hass, policy, self.turn, because)
        request_id = str(question["confirmation"])
        is_asked = len({*self.turn.confirm_via} - {ALOUD}) > 0
        if ALOUD in self.turn.confirm_via:
            is_asked = await async_ask_aloud(hass, policy, request_id) or is_asked
        confirmation = policy.confirmations.get(request_id)
        if confirmation is not None and not is_asked:
            confirmation.turn = replace(confirmation.turn, wish="")  # no one has heard it: its end is told here
            policy.confirmations.end(confirmation, Resolution.CANCELLED)
            return await self.async_fail("no_channel", await self.async_say("wish_no_channel"))
        return confirmation is not None

    async def _async_done(self, steps: StepsDone) -> bool:
        """Tell what was done, and what was not."""
        turn, hass = self.turn, self.hass
        if steps.is_whole and turn.record.request_id is not None:  # words that were read again need a yes
            if not turn.confirm_via:
                return await self.async_fail("no_channel", await self.async_say("wish_no_channel"))
            return await self._async_put(await self.async_say("wish_asks"))
        missed = turn.record.not_followed(turn.record.outcomes)
        reasons = [await self.async_reason(steps.error)] if steps.error is not None else []
        reasons += [steps.failed] if steps.failed else []
        reasons += [await async_not_followed(hass, turn.speaks, missed)] if missed else []
        if reasons:
            key = "wish_partly" if steps.done > 1 or (steps.done and not steps.is_whole) else "wish_failed"
            return await self.async_fail("refused" if steps.error else "failed", " ".join(reasons), key)
        _fire(hass, self.wish, events.WISH_DONE, self.due.reason, turn.context)
        if turn.profile.wishes_told == "all" or self.due.late > ON_TIME:
            await self._async_tell(await self._async_late(await self._async_did(steps)))
        return False

    async def _async_did(self, steps: StepsDone) -> str:
        if steps.effects and not steps.is_more:
            return await self.async_say("wish_did", did=await self._async_deeds(steps.effects))
        said = " ".join(filter(None, steps.said))
        return f"{await self.async_say('wish_done', wish=self._words)} {said}".strip()

    async def _async_deeds(self, effects: Sequence[Effect]) -> str:
        return await async_deeds(self.hass, self.turn.speaks, effects)

    async def _async_interrupted(self) -> bool:
        """Tell that it is not known what was done, or that it was, where the home shows it."""
        if self.wish.kind is WishKind.ACTION and self._is_same() and is_so(self.hass, self.wish):
            did = await self._async_deeds(effects_of(self.wish))
            _fire(self.hass, self.wish, events.WISH_DONE, self.due.reason, self.turn.context)
            await self._async_tell(await self.async_say("wish_did", did=did))
            return False
        states = await self._async_states(self.wish.targets)
        text = await self.async_say("wish_not_known", wish=self._words)
        _fire(self.hass, self.wish, events.WISH_FAILED, self.due.reason, self.turn.context)
        await self._async_tell(f"{text} {states}".strip())
        return False

    def _is_same(self) -> bool:
        """Return whether the ids in it are still those of the same entities: another one can have got the id of one that is gone."""
        registry = er.async_get(self.hass)
        ids = self.wish.registered.items()
        return all((entry := registry.async_get(item)) is not None and entry.id == known for item, known in ids)

    def _is_hidden(self) -> bool:
        """Return whether the user may not read an entity that it looks at any more; one that is missing is not known instead."""
        user = self.turn.user
        with running(self.turn):
            return any(
                not is_shared(self.hass, item) or not (user is None or user.permissions.check_entity(item, POLICY_READ))
                for item in self.wish.when.entity_ids
            )

    def _unmet(self) -> DueReason | None:
        """Return why it is not done now, by its conditions; None if they are met."""
        if self.due.reason in (DueReason.UNMET, DueReason.UNKNOWN):
            return DueReason(self.due.reason)
        when = self.wish.when
        found = [when.has_light(self.hass), *(watch.is_so(self.hass) for watch in when.conditions)]
        return DueReason.UNMET if False in found else DueReason.UNKNOWN if None in found else None

    async def _async_unmet(self, why: DueReason) -> bool:
        """Tell that an action was not done as a condition is not met. Of what was only to be told, nothing is told."""
        if self.wish.kind is not WishKind.ACTION:
            if why is DueReason.UNKNOWN and self.wish.kind is not WishKind.QUESTION:
                return await self._async_told(await self._async_words())
            _fire(self.hass, self.wish, events.WISH_FAILED, why, self.turn.context)
            return False
        looked_at = [item for watch in self.wish.when.conditions for item in watch.entity_ids]
        states = await self._async_states(looked_at)
        return await self.async_fail(why, f"{await self.async_say(_CONDITION[why])} {states}".strip())

    # What is told

    async def _async_words(self) -> str:
        """Return what is told of a wish that does nothing in the home."""
        text = self.wish.text.strip() or self.wish.words
        match self.wish.kind:
            case WishKind.TIMER if self.wish.text.strip():
                return await self._async_late(
                    await self.async_say("wish_timer_named", name=quoted(text, self.turn.speaks))
                )
            case WishKind.TIMER:
                return await self._async_late(await self.async_say("wish_timer"))
            case WishKind.QUESTION:
                return await self._async_late(await _async_answer(self))
            case WishKind.TELL | WishKind.REMINDER if self.wish.tells_itself:
                return await self._async_late(await self.async_say("wish_tell_event", when=self.wish.when.said))
            case WishKind.TELL:
                return await self._async_late(await self.async_say("wish_tell", text=text))
            case WishKind.REMINDER if not self.wish.text.strip():
                return await self._async_late(await self.async_say("wish_reminder_bare"))
        return await self._async_late(await self.async_say("wish_reminder", text=text))

    async def _async_wake(self) -> bool:
        """Wake the user; the wish stays until someone says something, or it was told often enough."""
        self.runtime.wakes.async_keep_on(self.hass, self.wish, self._async_call_up, self._async_heard)
        return True

    async def _async_call_up(self) -> None:
        now = dt_util.now().strftime("%H:%M")
        text = await self.async_say("wish_wake", time=now, text=self.wish.text.strip())
        await self._async_tell((await self._async_late(text)).strip())

    async def _async_heard(self) -> None:
        wishes = wishes_of(self.hass)
        if wishes.get(self.wish.id) is not None:  # else it was cancelled meanwhile
            _fire(self.hass, self.wish, events.WISH_DONE, self.due.reason, self.turn.context)
            wishes.drop([self.wish])
            await wishes.async_flush()

    async def _async_told(self, text: str) -> bool:
        await self._async_tell(text)
        _fire(self.hass, self.wish, events.WISH_DONE, self.due.reason, self.turn.context)
        return False

    async def _async_missed(self) -> bool:
        _fire(self.hass, self.wish, events.WISH_FAILED, DueReason.MISSED, self.turn.context)
        key = "wish_timer_missed" if self.wish.kind is WishKind.TIMER else "wish_missed"
        await self._async_tell(await self.async_say(key, wish=self._words, time=self._time))
        return False

    async def async_fail(self, reason: str, why: str, key: str = "wish_failed") -> bool:
        """Tell that the wish was not done, and why."""
        _fire(self.hass, self.wish, events.WISH_FAILED, reason, self.turn.context)
        await self._async_tell(await self.async_say(key, wish=self._words, reason=why))
        return False

    async def _async_tell(self, text: str) -> None:
        title, context = self.turn.profile.name or NAME, self.turn.context
        await async_tell(self.hass, self.runtime.policy, self.wish, text, context, title)

    async def _async_late(self, text: str) -> str:
        """Return a text with the time for which it was meant, if it comes late."""
        return await self.async_say("wish_late", text=text, time=self._time) if self.due.late > ON_TIME else text

    async def async_say(self, key: str, **placeholders: str) -> str:
        """Return one of our sentences in the language of the answer."""
        return await async_text(self.hass, self.turn.speaks, key, **placeholders)

    async def async_reason(self, error: HomeAssistantError) -> str:
        """Return why something was refused; of what its user may not know, only that it is not there."""
        placeholders = dict(error.translation_placeholders or {})
        if "target" in placeholders:
            ids = [item for item in placeholders["target"].split(", ") if "." in item]
            with running(self.turn):
                known = [item for item in ids if is_exposed(self.hass, item, self.turn.user)]
            if len(known) < len(ids) or error.translation_key == "entity_not_found":
                return await self.async_say("wish_gone")
            names = [state.name for item in known if (state := self.hass.states.get(item)) is not None]
            placeholders["target"] = ", ".join(names) or placeholders["target"]
            key = error.translation_key or "wish_step_failed"
            return await self.async_say(key, **placeholders)
        return await async_error_text(self.hass, self.turn.speaks, error)

    async def _async_states(self, entity_ids: Iterable[str]) -> str:
        with running(self.turn):
            known = [item for item in entity_ids if is_exposed(self.hass, item, self.turn.user)]
        return await async_states(self.hass, self.turn.speaks, known)

    @property
    def _words(self) -> str:
        if self.wish.kind is WishKind.TELL:  # its text says that it has happened
            return quoted(self.wish.when.said or self.wish.words, self.turn.speaks)
        return quoted(self.wish.text or self.wish.words, self.turn.speaks)

    @property
    def _time(self) -> str:
        """Return when it should have been, with the day if that is another one."""
        now = dt_util.now()
        then = dt_util.as_local(self.wish.when.at) if self.wish.when.at is not None else now - self.due.late
        return then.strftime("%H:%M" if then.date() == now.date() else "%Y-%m-%d %H:%M")


async def _async_answer(run: DueWish) -> str:
    """Return the answer of the agent to the question, or why there is none."""
    hass, turn = run.hass, run.turn
    asked = quoted(run.wish.text or run.wish.words, turn.speaks)
    if not turn.agent_id or hass.states.get(turn.agent_id) is None:
        reason = await run.async_say("wish_agent_gone")
        return await run.async_say("wish_unanswered", question=asked, reason=reason)
    token = current_request.set(TurnRequest(by_name=True, asked_by=turn))
    try:
        result = await conversation.async_converse(
            hass,
            run.wish.text or run.wish.words,
            None,
            turn.context,
            language=run.wish.language,
            agent_id=turn.agent_id,
            device_id=run.wish.device_id,
            satellite_id=run.wish.satellite_id,
        )
    except HomeAssistantError as err:
        reason = await async_error_text(hass, turn.speaks, err)
        return await run.async_say("wish_unanswered", question=asked, reason=reason)
    finally:
        current_request.reset(token)
    answer = speakable_text(str(result.response.speech.get("plain", {}).get("speech") or ""))
    key = "wish_unanswered" if result.response.error_code is not None else "wish_answer"
    return await run.async_say(key, question=asked, reason=answer, answer=answer)
