"""The runs of an automation on a home of the past, and what they wait for."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, override

from homeassistant.util import dt as dt_util

from .past import PastHome, PastTimer
from .past_clock_triggers import PastTrigger
from .past_itself import PastItself
from .past_triggers import async_attach


class Wait(ABC):
    """Something that a run waits for."""

    @abstractmethod
    def begin(self, runs: Runs, go_on: Callable[[], None]) -> bool:
        """Begin to wait, and return whether there is anything to wait for; `go_on` is called when it is over."""

    def stop(self) -> None:  # noqa: B027 - some have nothing to stop
        """Wait no longer."""


@dataclass(slots=True, eq=False)
class Delay(Wait):
    """Some time."""

    seconds: float
    _timer: PastTimer | None = None

    @override
    def begin(self, runs: Runs, go_on: Callable[[], None]) -> bool:
        if self.seconds <= 0:
            return False
        self._timer = runs.home.clock.call_later(self.seconds, go_on)
        return True

    @override
    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


class Endless(Wait):
    """Something whose end is not known: the run counts as ended, so that nothing is held back because of it."""

    @override
    def begin(self, runs: Runs, go_on: Callable[[], None]) -> bool:
        raise UnknownEnd


@dataclass(slots=True, eq=False)
class Unknown(Wait):
    """Something of which it is not known how long it takes, or what it does."""

    path: str
    why: str

    @override
    def begin(self, runs: Runs, go_on: Callable[[], None]) -> bool:
        runs.refused[self.path] = self.why
        raise UnknownEnd


class UnknownEnd(Exception):
    """It is not known how long a run goes on."""


@dataclass(slots=True, eq=False)
class Until(Wait):
    """One of several triggers, or the end of the time that is given."""

    triggers: Sequence[Mapping[str, Any]]
    path: str
    seconds: float | None
    variables: Mapping[str, Any]
    found: Mapping[str, Any] | None = None
    """The variables of the trigger that came; None if time ran out."""
    remaining: float | None = None
    is_over: bool = False
    attached: Sequence[PastTrigger] = ()
    _timer: PastTimer | None = None
    _go_on: Callable[[], None] | None = None

    @override
    def begin(self, runs: Runs, go_on: Callable[[], None]) -> bool:
        self._go_on = go_on
        if self.seconds is not None:
            self._timer = runs.home.clock.call_later(self.seconds, self._end)
        runs.opening.append(self)
        return True

    async def async_open(self, runs: Runs, event_types: frozenset[str]) -> None:
        """Let the triggers wait from this moment on."""
        if self.is_over:
            return

        def fire(path: str, payload: dict[str, Any]) -> None:
            if self.is_over or self.found is not None:
                return
            self.found = payload
            if self._timer is not None:
                self.remaining = self._timer.when() - runs.home.clock.time()
                self._timer.cancel()
            # What else waits for the same change is told before the run goes on.
            self._timer = runs.home.clock.call_soon(self._end)

        listening = await async_attach(
            runs.home, self.triggers, self.variables, fire, event_types=event_types, path=self.path
        )
        self.attached = listening.attached
        runs.refused |= dict(listening.refused)
        if listening.refused and not self.attached and self.found is None:
            runs.lose(self)

    def _end(self) -> None:
        self.stop()
        if self._go_on is not None:
            self._go_on()

    @override
    def stop(self) -> None:
        self.is_over = True
        if self._timer is not None:
            self._timer.cancel()
        for trigger in self.attached:
            trigger.detach()


@dataclass(slots=True, eq=False)
class Together(Wait):
    """Several sequences at once, until all have ended."""

    sequences: Sequence[Iterator[Wait]]
    error: Exception | None = None
    """What ended the first of those that did not come to their end."""
    left: list[_Progress] = field(default_factory=list)
    _has_begun: bool = False
    _go_on: Callable[[], None] | None = None

    @override
    def begin(self, runs: Runs, go_on: Callable[[], None]) -> bool:
        self.left = [_Progress(runs, sequence, self._ended) for sequence in self.sequences]
        for progress in [*self.left]:
            progress.go_on()
        self._go_on = go_on
        return bool(self.left)

    def _ended(self, progress: _Progress) -> None:
        self.left.remove(progress)
        self.error = self.error or progress.error
        if not self.left and self._go_on is not None:
            self._go_on()

    @override
    def stop(self) -> None:
        for progress in self.left:
            progress.stop()


@dataclass(slots=True, eq=False)
class CalledScript(Wait):
    """A run of another script, until it has ended."""

    called: Runs
    variables: Mapping[str, Any]
    error: Exception | None = None
    """What ended it before its end."""
    _run: _Progress | None = None
    _is_over: bool = False
    _go_on: Callable[[], None] | None = None

    @override
    def begin(self, runs: Runs, go_on: Callable[[], None]) -> bool:
        if self.called.refuses():
            return False
        self._run = self.called.start(self.variables, self._ended)
        self._go_on = go_on
        return not self._is_over

    def _ended(self, run: _Progress) -> None:
        self._is_over, self.error = True, run.error
        if self._go_on is not None:
            self._go_on()

    def waits_for(self, wait: Until) -> bool:
        """Return whether the run waits for that now."""
        return self._run is not None and self._run.waits_for(wait)

    @override
    def stop(self) -> None:
        self._go_on = None
        if self._run is not None and not self._is_over:
            self.called.stop(self._run)


class Runs:
    """The runs of one automation or script that have not ended."""

    def __init__(
        self,
        home: PastHome,
        begin: Callable[[Mapping[str, Any]], Iterator[Wait]] | None,
        mode: str,
        most: int,
        itself: PastItself | None = None,
        root: Runs | None = None,
    ) -> None:
        """Take what begins its actions, None if they cannot be followed, the mode, and how many runs there may be at once.

        `itself` is told when a run begins and ends. `root` are the runs of the automation, for those of a script that it calls.
        """
        self.home = home
        self._itself = itself
        self.opening: list[Until] = root.opening if root is not None else []
        """Waits whose triggers are not attached yet."""
        self.refused: dict[str, str] = root.refused if root is not None else {}
        """Paths of what runs wait for and that cannot be replayed, each with the reason."""
        self._begin = begin
        self._mode = mode
        self._most = most
        self._running: list[_Progress] = []

    def refuses(self) -> str:
        """Return why no run can be started now; empty if one can."""
        if not self._running or self._mode == "restart":
            return ""
        since = f"{self._running[0].since:%H:%M:%S}"
        if self._mode == "single":
            return f"it was still running since {since} (mode single)"
        if len(self._running) >= self._most:
            return f"{len(self._running)} runs had not ended (mode {self._mode})"
        return ""

    @property
    def is_running(self) -> bool:
        """Whether a run has not ended."""
        return bool(self._running)

    def start(self, variables: Mapping[str, Any], after: Callable[[_Progress], None] | None = None) -> _Progress:
        """Start a run, and return it; `after` is called when it has ended or was stopped by another one."""
        stopped = self._running if self._mode == "restart" else []
        waits = self._begin(variables) if self._begin is not None else iter(())
        run = _Progress(self, waits, self._ended)
        run.after = after
        self._running = [*(one for one in self._running if one not in stopped), run]
        self._stop(stopped)
        if self._itself is not None:
            self._itself.started(len(self._running))
        if self._mode != "queued" or len(self._running) == 1:
            run.go_on()
        return run

    async def async_open(self, event_types: frozenset[str]) -> None:
        """Let the triggers wait that runs have come to."""
        while self.opening:
            await self.opening.pop(0).async_open(self, event_types)

    def lose(self, wait: Until) -> None:
        """End the run of a wait whose end cannot be known."""
        for run in [run for run in self._running if run.waits_for(wait)]:
            run.stop()
            self._ended(run)

    def _ended(self, run: _Progress) -> None:
        """Forget a run, and let the next one that waits begin."""
        if run not in self._running:
            return
        is_next = self._mode == "queued" and run is self._running[0]
        self._running.remove(run)
        if self._itself is not None:
            self._itself.note(len(self._running))
        if is_next and self._running:
            self._running[0].go_on()
        if run.after is not None:
            run.after(run)

    def stop(self, run: _Progress) -> None:
        """Stop a run with which those that have called it have nothing to do any more."""
        run.after = None
        run.stop()
        self._ended(run)

    def clear(self) -> None:
        """Stop all runs."""
        running, self._running = self._running, []
        self._stop(running)

    def _stop(self, running: Sequence[_Progress]) -> None:
        for run in running:
            run.stop()
            if run.after is not None:
                self.home.clock.call_soon(run.after, run)  # what has called it goes on


class _Progress:
    """One run, or one of the sequences that go on at once in it."""

    def __init__(self, runs: Runs, waits: Iterator[Wait], ended: Callable[[_Progress], None]) -> None:
        """Take what it waits for, and what is told that it has ended."""
        self.since = dt_util.as_local(runs.home.clock.moment)
        self.error: Exception | None = None
        self.after: Callable[[_Progress], None] | None = None
        self._is_over = False
        self._runs = runs
        self._waits = waits
        self._ended = ended
        self._wait: Wait | None = None

    def go_on(self) -> None:
        """Go on until it waits."""
        if self._is_over:
            return
        self._wait = None
        try:
            for wait in self._waits:
                if self._is_over:
                    return
                self._wait = wait
                if wait.begin(self._runs, self.go_on):
                    return
        except Exception as err:  # noqa: BLE001 - what ends a sequence is told to the one it stands in
            self.error = err
        self._ended(self)

    def waits_for(self, wait: Until) -> bool:
        """Return whether it waits for that now."""
        match self._wait:
            case Together() as together:
                return any(one.waits_for(wait) for one in together.left)
            case CalledScript() as called:
                return called.waits_for(wait)
        return self._wait is wait

    def stop(self) -> None:
        """End it."""
        self._is_over = True
        if self._wait is not None:
            self._wait.stop()
