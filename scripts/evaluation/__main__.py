"""The command line of scripts/eval."""

import argparse
import asyncio
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import version
import json
import os
from pathlib import Path
import platform
import sys
from typing import Any

from . import automations, claims, local, local_report, meaning, memory, sentences, wishes
from .dataset import AS_IT_IS, FLAVOURS, Case, Dataset
from .embedding import Nearest
from .groups import group_cases
from .measure import Answer, Knowledge, async_ask
from .report import as_json, render
from .speed import Speed, async_speed, enlarged

LARGE = 5000
LARGE_FLAVOUR = "sib3000"
MARKS = {
    "retrieval": ("<!-- figures: written by scripts/eval -->", "<!-- end of the figures of scripts/eval -->"),
    "claims": (
        "<!-- figures: written by scripts/eval claims -->",
        "<!-- end of the figures of scripts/eval claims -->",
    ),
}
QUICK = 8  # one home of so many


def arguments() -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        prog="scripts/eval",
        description="Measures what the home answers by itself (local), how well requests find what they mean (retrieval), whether "
        "false answers are noticed (claims), what is worth remembering and found again (memory), what waits that is said for later "
        "(wishes, guard, plans), and automations that are asked for (automations, broken, attacks).",
    )
    parser.add_argument(
        "what", choices=["local", "retrieval", "meaning", "claims", "memory", *wishes.KINDS, *automations.KINDS]
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="homes and requests, for all but claims and memory")
    parser.add_argument("--quick", action="store_true", help=f"one home of {QUICK}: shows that it works")
    parser.add_argument("--embedding-url", metavar="URL", help="also ask an OpenAI-compatible endpoint for vectors")
    parser.add_argument("--embedding-model", metavar="NAME", default="text-embedding-3-small")
    parser.add_argument("--embedding-threshold", type=float, default=0.3, help="least cosine (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to a file")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="put the tables between the marks of a document")
    alone = parser.add_argument_group("local")
    alone.add_argument(
        "--files", nargs="+", metavar="NAME", default=(), help=f"of requests ({' '.join(local.Choice().files)})"
    )
    alone.add_argument(
        "--sizes",
        nargs="+",
        choices=["own", *FLAVOURS],
        default=["own"],
        help="of the homes: own, with their diagnostic entities, with other homes, with both (%(default)s)",
    )
    alone.add_argument("--homes", nargs="+", metavar="PART", default=[], help="whose names contain one of these")
    alone.add_argument(
        "--category", nargs="+", metavar="NAME", default=[], help="kinds of devices, ways to name, intents"
    )
    alone.add_argument("--languages", nargs="+", metavar="CODE", default=[])
    alone.add_argument("--limit", type=int, metavar="N", help="so many requests, always the same ones")
    alone.add_argument("--only-ours", action="store_true", help="without Home Assistant's own agent")
    alone.add_argument(
        "--sentences",
        action="store_true",
        help="instead: the sentences of Home Assistant's installed data, of all languages",
    )
    alone.add_argument("--processes", type=int, metavar="N", default=os.cpu_count() or 1, help="(%(default)s)")
    alone.add_argument("--failures", type=Path, metavar="FILE", help="write what was not right, a line each")
    later = parser.add_argument_group(
        "wishes, guard, plans, automations, broken and attacks",
        "as local, with --files, --languages, --limit, --processes and --failures",
    )
    later.add_argument(
        "--model", action="store_true", help="guard: also agents with a model that does everything at once"
    )
    chosen = parser.parse_args()
    if chosen.what not in ("claims", "memory") and chosen.data is None and not chosen.sentences:
        parser.error(f"{chosen.what} needs --data")
    if chosen.what == "meaning" and not chosen.embedding_url:
        parser.error("meaning needs --embedding-url")
    return chosen


async def async_evaluate(chosen: argparse.Namespace) -> tuple[dict[str, list[Answer]], Speed | None]:
    """Ask everything; return the answers by what was asked, and the speed in a large home."""
    data = Dataset(chosen.data)
    url, model = chosen.embedding_url, chosen.embedding_model
    knowledge = Knowledge({}, Nearest(url, model, chosen.embedding_threshold) if url else None)
    results: dict[str, list[Answer]] = defaultdict(list)
    assist = by_home(data.assist_cases(), chosen.quick)
    for flavour in data.flavours:
        for name, cases in assist.items():
            say(f"{name} {flavour}")
            home = data.home(name, flavour)
            asked = [case for case in cases if case.explicit or flavour in (AS_IT_IS, "own0")]
            groups = list(group_cases(name, home, cases[0].part)) if cases[0].language == "en" else []
            async for answer in async_ask(home, [*asked, *groups], knowledge):
                kind = "groups" if answer.case in groups else "assist"
                results[f"{kind} {flavour}".strip()].append(answer)
    for name, cases in by_home(data.intent_cases(), chosen.quick).items():
        say(name)
        async for answer in async_ask(data.home(name, AS_IT_IS), cases, knowledge):
            results["intents"].append(answer)
    speed = None
    if len(data.flavours) > 1 and assist and not url:
        name, cases = max(assist.items(), key=lambda item: len(item[1]))
        speed = await async_speed(enlarged(data.home(name, LARGE_FLAVOUR), LARGE), cases)
    return results, speed


def by_home(cases: Iterable[Case], quick: bool) -> dict[str, list[Case]]:
    """Return the cases by home."""
    homes: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        homes[case.home].append(case)
    return {name: homes[name] for number, name in enumerate(sorted(homes)) if not quick or number % QUICK == 0}


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr, flush=True)


def about(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return where and how the figures were taken."""
    return {
        "taken": datetime.now(UTC).isoformat(timespec="minutes"),
        "machine": f"{os.cpu_count()} x {platform.machine()}, {platform.system()}",
        "homeassistant": version("homeassistant"),
        "home_assistant_intents": version("home-assistant-intents"),
        "embedding": f"{chosen.embedding_model}, cosine at least {chosen.embedding_threshold}"
        if chosen.embedding_url
        else "none",
        "quick": chosen.quick,
    }


def insert(document: str, figures: str, what: str) -> str:
    """Return the document with the figures between their marks. Raises `ValueError` where it has none."""
    begin, end = MARKS[what]
    head, rest = document.split(begin)
    return f"{head}{begin}\n\n{figures}\n\n{end}{rest.split(end)[1]}"


async def async_claims() -> list[claims.Judged]:
    """Return all turns with what was made of them."""
    return [judged async for judged in claims.async_judge(claims.cases())]


def main_claims(chosen: argparse.Namespace) -> None:
    """Judge the answers of the turns that come with the project, and report."""
    judged = asyncio.run(async_claims())
    facts = {key: value for key, value in about(chosen).items() if key not in ("embedding", "quick")}
    print(text := f"Taken {facts['taken']}, Home Assistant {facts['homeassistant']}.\n\n{claims.render(judged)}")
    if chosen.json:
        found = {"about": facts, "tables": claims.tables(judged), "misjudged": claims.misjudged(judged)}
        chosen.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if chosen.markdown:
        chosen.markdown.write_text(insert(chosen.markdown.read_text(), text, "claims"))


def main_local(chosen: argparse.Namespace) -> None:
    """Let the homes answer by themselves, and report."""
    if chosen.sentences:
        walked = sentences.run(chosen.languages, chosen.processes, say)
        print(sentences.render(walked))
        if chosen.json:
            found = {"about": about(chosen), "others": sentences.as_json(walked)}
            chosen.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
        return
    choice = local.Choice(
        files=chosen.files or local.Choice().files,
        sizes=[AS_IT_IS if size == "own" else size for size in chosen.sizes],
        homes=chosen.homes,
        categories=chosen.category,
        languages=chosen.languages,
        limit=chosen.limit,
        agents=local.AGENTS[:1] if chosen.only_ours else local.AGENTS,
        processes=chosen.processes,
    )
    asked = local.run(Dataset(chosen.data), choice, say)
    if not asked:
        sys.exit("Nothing to ask.")
    facts = {key: value for key, value in about(chosen).items() if key not in ("embedding", "quick")}
    facts |= {"limit": chosen.limit, "seed": local.SEED}
    print(f"Taken {facts['taken']} on {facts['machine']}, Home Assistant {facts['homeassistant']}.\n")
    print(local_report.render(asked))
    if chosen.json:
        chosen.json.write_text(json.dumps(local_report.as_json(facts, asked), indent=2, ensure_ascii=False) + "\n")
    if chosen.failures:
        lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in local_report.failures(asked))
        chosen.failures.write_text("".join(lines))


def main_wishes(chosen: argparse.Namespace) -> None:
    """Say what is for later, and report."""
    choice = wishes.Choice(
        kind=chosen.what,
        files=chosen.files,
        languages=chosen.languages,
        limit=chosen.limit,
        model=chosen.model and chosen.what == wishes.GUARD,
        processes=chosen.processes,
    )
    said = wishes.run(chosen.data, choice, say)
    if not said:
        sys.exit("Nothing to say.")
    facts = {key: value for key, value in about(chosen).items() if key not in ("embedding", "quick")}
    print(f"Taken {facts['taken']} on {facts['machine']}, Home Assistant {facts['homeassistant']}.\n")
    print(wishes.render(chosen.what, said))
    if chosen.json:
        found = wishes.as_json(facts, chosen.what, said)
        chosen.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if chosen.failures:
        lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in wishes.failures(said))
        chosen.failures.write_text("".join(lines))


def main_automations(chosen: argparse.Namespace) -> None:
    """Ask for automations, and report."""
    choice = automations.Choice(
        kind=chosen.what,
        files=chosen.files,
        languages=chosen.languages,
        limit=chosen.limit,
        processes=chosen.processes,
    )
    judged = automations.run(chosen.data, choice, say)
    if not judged:
        sys.exit("Nothing to ask for.")
    facts = {key: value for key, value in about(chosen).items() if key not in ("embedding", "quick")}
    print(f"Taken {facts['taken']} on {facts['machine']}, Home Assistant {facts['homeassistant']}.\n")
    print(automations.render(judged))
    if chosen.json:
        found = automations.as_json(facts, judged)
        chosen.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if chosen.failures:
        lines = (json.dumps(item, ensure_ascii=False) + "\n" for item in automations.failures(judged))
        chosen.failures.write_text("".join(lines))


async def async_memory(chosen: argparse.Namespace) -> None:
    """Judge what comes with the project for the memory, and report."""
    retrieval = memory.retrieval_of(chosen.embedding_url, chosen.embedding_model, chosen.embedding_threshold)
    judged, searched = await memory.async_judge(retrieval), await memory.async_search(retrieval)
    facts = {key: value for key, value in about(chosen).items() if key != "quick"}
    print(f"Taken {facts['taken']}, vectors: {facts['embedding']}.\n\n{memory.render(judged, searched)}")
    if chosen.json:
        found = {"about": facts, **memory.as_json(judged, searched)}
        chosen.json.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


async def async_meaning(chosen: argparse.Namespace) -> str:
    """Return the table of what vectors find for requests that name nothing."""
    measured = meaning.async_measure(Dataset(chosen.data), chosen.embedding_url, chosen.embedding_model)
    return meaning.render([asked async for asked in measured])


def main() -> None:
    """Measure and report."""
    chosen = arguments()
    if chosen.what == "meaning":
        print(f"{chosen.embedding_model}\n\n{asyncio.run(async_meaning(chosen))}")
        return
    if chosen.what == "claims":
        main_claims(chosen)
        return
    if chosen.what == "local":
        main_local(chosen)
        return
    if chosen.what in wishes.KINDS:
        main_wishes(chosen)
        return
    if chosen.what in automations.KINDS:
        main_automations(chosen)
        return
    if chosen.what == "memory":
        asyncio.run(async_memory(chosen))
        return
    results, speed = asyncio.run(async_evaluate(chosen))
    facts = about(chosen)
    summary = f"Taken {facts['taken']} on {facts['machine']}, Home Assistant {facts['homeassistant']}, vectors: {facts['embedding']}."
    print(text := f"{summary}\n\n{render(results, speed)}")
    if chosen.json:
        chosen.json.write_text(json.dumps(as_json(facts, results, speed), indent=2) + "\n")
    if chosen.markdown:
        chosen.markdown.write_text(insert(chosen.markdown.read_text(), text, "retrieval"))


if __name__ == "__main__":
    main()
