"""Follow one sentence through the code of Home Agent. See scripts/trace.

A real Home Assistant with a demo home, a scripted model on the loopback interface, an assistant with default settings. The
sentence is said some times before it is followed: what is done only with the first turns after a start is not its way.
"""

import argparse
import ast
import asyncio
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
import json
import logging
import os
from pathlib import Path
import shutil
import sys
import tempfile
import threading
import traceback
from types import CodeType
from typing import Any

from tests.ports import free_port

from .benchmark import driver
from .benchmark.agents import OURS

OWN = driver.ROOT / "custom_components" / OURS
SENTENCE = "turn on the kitchen lights"
ENTITIES = 50
TOKENS = 20  # of the model's last answer
WARM_TURNS = 6  # then how the model counts its tokens is known, and nothing of it is written any more
WRITTEN = 1.5  # seconds until what the turns before left behind is on the disk: that is not the way of this one
ACTIONS = {"on": "turn_on", "off": "turn_off", "open": "turn_on", "close": "turn_off", "toggle": "toggle"}
LOG = "home.log"
TOOL = 4  # sys.monitoring keeps 0 to 2 and 5 for debuggers, coverage, profilers and optimisers


@dataclass(slots=True)
class Way:
    """Which own functions started, in order, and where one file handed over to another."""

    starts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By file and qualified name, in the order of the first start."""
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Hand-offs by the file of the caller and of the called."""

    @property
    def files(self) -> list[str]:
        """Own files in the order in which the sentence reached them."""
        return list(dict.fromkeys(file for file, _ in self.starts))

    def counts(self) -> dict[str, int]:
        """Return the figures."""
        return {
            "files": len(self.files),
            "functions": len(self.starts),
            "calls": self.starts.total(),
            "pairs": len(self.pairs),
            "hand_offs": self.pairs.total(),
        }

    def as_json(self) -> dict[str, Any]:
        """Return all of it as data."""
        return {
            "counts": self.counts(),
            "files": [
                {
                    "file": file,
                    "says": summary(OWN / file),
                    "functions": {name: count for (where, name), count in self.starts.items() if where == file},
                    "hands_to": {called: count for (caller, called), count in self.pairs.items() if caller == file},
                }
                for file in self.files
            ],
        }


@contextmanager
def followed() -> Generator[Way]:
    """Note each start of an own function until the end of the block.

    The caller is the nearest own function on the stack, also through Home Assistant's code; a function that Home Assistant
    calls by itself has none.
    """
    way = Way()
    prefix = f"{OWN}{os.sep}"
    files: dict[CodeType, str | None] = {}

    def own_file(code: CodeType) -> str | None:
        if code not in files:
            path = os.path.realpath(code.co_filename)
            files[code] = path.removeprefix(prefix) if path.startswith(prefix) else None
        return files[code]

    def started(code: CodeType, _: int) -> Any:
        if (file := own_file(code)) is None:
            return sys.monitoring.DISABLE
        name = code.co_qualname.replace(".<locals>", "")
        if name.endswith(("<genexpr>", "<lambda>", "<module>")) or name.rpartition(".")[2].startswith("__annotate"):
            return None  # a part of the function that it stands in
        way.starts[file, name] += 1
        frame = sys._getframe(1).f_back  # noqa: SLF001 - there is no other way to the caller
        while frame is not None:
            if (caller := own_file(frame.f_code)) is not None:
                if caller != file:
                    way.pairs[caller, file] += 1
                break
            frame = frame.f_back
        return None

    sys.monitoring.use_tool_id(TOOL, OURS)
    sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, started)
    sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
    try:
        yield way
    finally:
        sys.monitoring.set_events(TOOL, 0)
        sys.monitoring.free_tool_id(TOOL)
        sys.monitoring.restart_events()


def summary(path: Path) -> str:
    """Return what a module says of itself in one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def call_for(sentence: str, names: dict[str, str]) -> dict[str, Any]:
    """Return the tool call of the scripted model: an action for the entities whose names share most with the sentence.

    `names` are the names of the home's entities by their ids.
    """
    words = set(sentence.casefold().replace("?", " ").split())
    words |= {word.removesuffix("s") for word in words}
    shared = {entity_id: len(words & set(name.casefold().split())) for entity_id, name in names.items()}
    best = max(shared.values())
    chosen = next(entity_id for entity_id, count in shared.items() if count == best)
    action = next((ACTIONS[word] for word in sentence.casefold().split() if word in ACTIONS), None)
    if action is None:
        return {"ha_query": {"entity_id": chosen}}
    return {"ha_control": {"action": action, "entity_id": chosen}}


async def follow(
    sentence: str, port: int, folder: Path, *, entities: int, tokens: int, model_first: bool
) -> tuple[Way, dict[str, Any]]:
    """Boot a home, say the sentence until it is warm, and once more while looking; return its way and what was said."""
    from .benchmark.control import Control
    from .benchmark.house import House
    from .benchmark.instance import boot, set_up
    from .benchmark.measure import Measure

    hass = await boot(folder)
    house = House(hass, entities)
    house.build()
    await hass.async_block_till_done()
    user = await hass.auth.async_create_user("Tracer", group_ids=["system-admin"])
    agent_id = await set_up(hass, OURS, port)
    if not model_first:
        [entry] = hass.config_entries.async_entries(OURS)
        [profile] = entry.get_subentries_of_type("profile")
        hass.config_entries.async_update_subentry(entry, profile, data={})
        await hass.async_block_till_done()
    measure = Measure(hass, house, Control(port), agent_id, user.id)
    names = {entity_id: hass.states.get(entity_id).name for _, entity_id in house.entities}  # type: ignore[union-attr]
    calls = call_for(sentence, names)
    answer = " ".join(["Done.", *["Anything"] * (tokens - 1)])
    for number in range(WARM_TURNS + 1):
        house.lamp()
        house.change()
        await measure.call(measure.control.plan, kind="call", calls=calls, pace_ms=2, answer=answer)
        await measure.take()
        await hass.async_block_till_done()
        await asyncio.sleep(0.1)
        if number == WARM_TURNS:
            break
        await measure.say(sentence)
        await asyncio.sleep(0.3)
    await asyncio.sleep(WRITTEN)
    with followed() as way:
        _, speech, _ = await measure.say(sentence)
        await asyncio.sleep(0.1)  # what is done behind the answer belongs to it
    requests = len(await measure.take())
    return way, {"sentence": sentence, "entities": entities, "calls": calls, "requests": requests, "answer": speech}


def show(way: Way, facts: dict[str, Any], *, functions: bool) -> None:
    """Print the way."""
    print(
        f"“{facts['sentence']}” in a home of {facts['entities']} entities, {facts['requests']} requests to the model\n"
    )
    for number, file in enumerate(way.files, 1):
        own = {name: count for (where, name), count in way.starts.items() if where == file}
        print(f"{number:>3}  {file:<34} {summary(OWN / file)}")
        if functions:
            for name, count in own.items():
                print(f"     {'':<6}{name}{f'  × {count}' if count > 1 else ''}")
    counts = way.counts()
    print(
        f"\n{counts['files']} files, {counts['functions']} functions started {counts['calls']} times, "
        f"{counts['pairs']} pairs of files handed over {counts['hand_offs']} times"
    )


def trace(sentence: str, parent: Path, **options: Any) -> tuple[Way, dict[str, Any]]:
    """Start everything in an empty folder and follow the sentence; the server ends with this process."""
    os.environ["SETUP_PORT"] = str(free_port())  # read as soon as Home Assistant is imported
    from homeassistant import runner

    logging.basicConfig(filename=parent / LOG, level=logging.WARNING)
    server = driver.Process("server", log=parent / "server.log")
    folder = parent / "home"
    folder.mkdir()
    (folder / "configuration.yaml").write_text("conversation:\n")
    (folder / "custom_components").symlink_to(OWN.parent)
    loop = runner.create_event_loop()
    asyncio.set_event_loop(loop)
    return loop.run_until_complete(follow(sentence, server.read(), folder, **options))


def main() -> None:
    """Follow what was asked for, print it, write it."""
    parser = argparse.ArgumentParser(
        prog="scripts/trace", description="Follows one sentence through the code of Home Agent."
    )
    parser.add_argument("sentence", nargs="?", default=SENTENCE, help="what is said (%(default)s)")
    parser.add_argument("--entities", type=int, default=ENTITIES, help="size of the home (%(default)s)")
    parser.add_argument("--tokens", type=int, default=TOKENS, help="of the model's last answer (%(default)s)")
    parser.add_argument(
        "--model-first", action="store_true", help="ask the model also for what the home does by itself"
    )
    parser.add_argument("--functions", action="store_true", help="each function, with how often it started")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write it to a file")
    chosen = parser.parse_args()
    parent = Path(tempfile.mkdtemp(prefix="home-agent-trace-"))
    try:
        options = {"entities": chosen.entities, "tokens": chosen.tokens, "model_first": chosen.model_first}
        way, facts = trace(chosen.sentence, parent, **options)
    except Exception:  # noqa: BLE001 - said here, as Home Assistant's hook for what nobody caught only logs it
        traceback.print_exc()
        os.system(f"tail -n 40 {parent / LOG} >&2")  # the loop of Home Assistant reads no files
        os._exit(1)

    def report() -> None:  # in a thread: Home Assistant forbids files on that of its loop, also when the loop has ended
        if chosen.json:
            chosen.json.write_text(json.dumps({**facts, **way.as_json()}, indent=2, ensure_ascii=False) + "\n")
        show(way, facts, functions=chosen.functions)
        sys.stdout.flush()
        shutil.rmtree(parent, ignore_errors=True)

    thread = threading.Thread(target=report)
    thread.start()
    thread.join()
    os._exit(0)  # nothing in the home is worth an orderly end


if __name__ == "__main__":
    main()
