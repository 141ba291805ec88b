"""The command line of scripts/bench."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
import json
import os
from pathlib import Path
import platform
from typing import Any

from .agents import AGENTS, OURS
from .automations_report import AUTOMATIONS, automations_aims, render_automations
from .driver import MEMORY_CONVERSATIONS, ROOT, SLOW_TURNS, STATE_CHANGES, TOOL_CALLS, Plan, run, run_memory, say
from .memory_report import MEMORY, memory_aims, render_memory
from .real import CONVERSATIONS, REAL_SIZES, run_real
from .real_report import REAL, real_aims, render_real
from .report import TOOLS, TURNS, as_json, insert, render, render_tools
from .telling_report import CONTEXT, render_context
from .together_report import TOGETHER, render_together, together_aims
from .wishes_report import WISHES, render_wishes, wishes_aims

SIZES = "50,200,1000,5000"
MEMORY_SIZES = "50"
COMPARED_AGENTS = "home_agent,llama_cpp"
ONLY = {
    "tools": "what Home Agent does with tool calls",
    "context": "what Home Agent tells a model, and its index",
    "together": "turns in which several agents take part",
    "wishes": "what wishes that wait cost when states change",
    "automations": "what automations by talking cost in a home that has many",
}
"""Parts that can be measured alone."""
JUDGED = (real_aims, memory_aims, together_aims, wishes_aims, automations_aims)


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measures Home Agent next to the agents that ship with Home Assistant."
    )
    parser.add_argument(
        "--sizes", help=f"exposed entities, with commas ({SIZES}; --real {REAL_SIZES}; --memory {MEMORY_SIZES})"
    )
    agents = f"{','.join(AGENTS)}; --real, --memory {COMPARED_AGENTS}"
    parser.add_argument("--agents", help=f"integrations, with commas ({agents})")
    parser.add_argument("--rounds", type=int, help="how often each agent gets its turn (6)")
    parser.add_argument("--turns", type=int, help="timed turns of each kind per round (5)")
    for part, what in ONLY.items():
        parser.add_argument(f"--{part}", dest="only", action="store_const", const=part, default="", help=f"only {what}")
    parser.add_argument("--memory", action="store_true", help="only what conversations leave in memory, on Linux")
    parser.add_argument("--real", action="store_true", help="only a day of voice on a real server, see .llama")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round: shows that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to a file")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the tables between the marks of a document")
    chosen = parser.parse_args()
    if chosen.markdown and not chosen.markdown.is_file():  # said now, not when everything is measured
        parser.error(f"there is no {chosen.markdown} to put tables into")
    sizes, rounds, turns = ("50,200", 1, 3) if chosen.quick else (SIZES, 6, 5)
    if chosen.real:
        sizes = "24" if chosen.quick else REAL_SIZES
    if chosen.memory:
        sizes = "24" if chosen.quick else MEMORY_SIZES
    chosen.agents = chosen.agents or (COMPARED_AGENTS if chosen.real or chosen.memory else ",".join(AGENTS))
    chosen.sizes = chosen.sizes or sizes
    chosen.rounds = chosen.rounds or rounds
    chosen.turns = chosen.turns or turns
    return chosen


def plan_from(chosen: argparse.Namespace) -> Plan:
    """Return the plan; agents that this environment cannot run are left out, and that is said."""
    agents = []
    for name in (OURS,) if chosen.only else chosen.agents.split(","):
        if AGENTS[name].installed:
            agents.append(name)
        else:
            say(f"without {name}: {AGENTS[name].requires} is not installed")
    return Plan(
        agents=agents,
        sizes=sorted(map(int, chosen.sizes.split(","))),
        rounds=chosen.rounds,
        turns=chosen.turns,
        only=chosen.only,
    )


def about(plan: Plan) -> Mapping[str, Any]:
    """Return where and how the figures were taken."""
    versions = {}
    for package in ("homeassistant", "openai", "ollama", "python-open-router"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    manifest = json.loads((ROOT / "custom_components/home_agent/manifest.json").read_text())
    return {
        "taken": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{os.cpu_count()} x {platform.machine()}, {platform.system()}",
        "python": platform.python_version(),
        "versions": {"home_agent": manifest["version"], **versions},
        "turns_of_each_kind": plan.rounds * plan.turns,
        "rounds": plan.rounds,
    }


def taken(facts: Mapping[str, Any]) -> str:
    """Return when and where the figures were taken, without an end to the sentence."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return f"Taken {facts['taken']} on {facts['machine']}, Python {facts['python']}, {versions}"


def summaries(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return how the figures of each part were taken, as one sentence."""
    turns = f"medians of {facts['turns_of_each_kind']} turns of each kind in {facts['rounds']} rounds."
    tools = f"medians of {TOOL_CALLS} calls of each kind and of {SLOW_TURNS} turns with eight slow calls."
    plain = f"{taken(facts)}."
    return {
        TURNS: f"{taken(facts)}; {turns}",
        TOOLS: f"{taken(facts)}; {tools}",
        CONTEXT: plain,
        TOGETHER: f"{taken(facts)}; {turns}",
        WISHES: f"{taken(facts)}; medians of {facts['rounds']} rounds of {STATE_CHANGES:,} changes.",
        AUTOMATIONS: f"{taken(facts)}; medians of {facts['rounds']} rounds.",
        REAL: plain,
        MEMORY: plain,
    }


def main() -> None:
    """Measure and report."""
    chosen = arguments()
    plan = plan_from(chosen)
    facts = about(plan)
    if chosen.real:
        results = run_real(plan.agents, plan.sizes, 2 if chosen.quick else CONVERSATIONS)
    elif chosen.memory:
        results = run_memory(plan.agents, plan.sizes, 4 if chosen.quick else MEMORY_CONVERSATIONS)
    else:
        results = run(plan)
    if chosen.json:
        chosen.json.write_text(
            json.dumps(as_json(facts, results, [aim for judged in JUDGED for aim in judged(results)]), indent=2) + "\n"
        )
    renderers = {
        TURNS: render,
        TOOLS: render_tools,
        TOGETHER: render_together,
        CONTEXT: render_context,
        WISHES: render_wishes,
        AUTOMATIONS: render_automations,
        REAL: render_real,
        MEMORY: render_memory,
    }
    if plan.only or chosen.real or chosen.memory:
        del renderers[TURNS]
    for part, sentence in summaries(facts).items():
        if part not in renderers or not (text := renderers[part](results)):
            continue
        print(text, sentence, sep="\n")
        if chosen.markdown:
            figures = f"{sentence}\n\n{renderers[part](results, markdown=True)}"
            chosen.markdown.write_text(insert(chosen.markdown.read_text(), figures, part))


if __name__ == "__main__":
    main()
