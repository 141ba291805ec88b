"""Measures whether answers that say what did not happen are noticed, and answers that are true left alone.

The turns stand in files beside this one: `seen.jsonl` was worked with while the judging was made, `unseen.jsonl` was written
before it and read afterwards, `later.jsonl` was written to find what it misses, and worked with since. A line is a turn: what was said, what was done in it (`did`), what the home is like
(`states`, where it is not as always), the answer of the model, and whether that answer is false.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
import json
from pathlib import Path
import time
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_test_home_assistant

from custom_components.home_agent.agent.claims import ClaimCheck
from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.languages.data import async_load, mentions_automation
from custom_components.home_agent.settings.profile import profile_from_data
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.turn import Outcome, Turn, TurnRecord
from tests.ports import free_port

HERE = Path(__file__).parent
PARTS = ("seen", "unseen", "later")
LEAST_CAUGHT, MOST_DOUBTED = 98.0, 1.0
HOME: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "lock": ("lock.entrance", "unlocked", {}),
    "bed": ("light.bed", "off", {}),
    "kitchen": ("light.kitchen", "off", {}),
    "living": ("light.living", "off", {}),
    "garage": ("cover.garage", "open", {"device_class": "garage", "supported_features": 3}),
    "tv": ("media_player.tv", "off", {"supported_features": 384}),
    "thermostat": (
        "climate.thermostat",
        "heat",
        {"temperature": 19, "current_temperature": 20, "supported_features": 1},
    ),
}
"""Entity id, state and attributes of the things that `homes.json` names in each language."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A turn."""

    language: str
    said: str
    answer: str
    why: str
    false: bool = False
    did: Sequence[str] = ()
    states: Mapping[str, Any] = field(default_factory=dict)
    part: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A turn and what was made of it."""

    case: Case
    doubted: bool
    seconds: float


def cases() -> list[Case]:
    """Return all turns. Reads files."""
    return [
        Case(part=part, **json.loads(line))
        for part in PARTS
        for line in (HERE / f"{part}.jsonl").read_text("utf-8").splitlines()
    ]


async def async_judge(chosen: Sequence[Case]) -> AsyncIterator[Judged]:
    """Yield what is made of each turn, language by language."""
    names: Mapping[str, Mapping[str, str]] = json.loads((HERE / "homes.json").read_text("utf-8"))
    by_language: dict[str, list[Case]] = defaultdict(list)
    for case in chosen:
        by_language[case.language].append(case)
    for language, listed in by_language.items():
        async with async_test_home_assistant() as hass:
            hass.config.language = language
            await async_setup_component(hass, "homeassistant", {})
            await async_setup_component(
                hass, "http", {"http": {"server_host": ["127.0.0.1"], "server_port": free_port()}}
            )
            await async_setup_component(hass, "conversation", {})
            await async_setup_component(hass, "intent", {})
            for domain in ("light", "lock", "cover", "climate", "media_player"):  # their intents
                await async_setup_component(hass, domain, {})
            entry = MockConfigEntry(domain="evaluation")
            entry.add_to_hass(hass)
            for key, (entity_id, _, _) in HOME.items():
                domain, _, unique = entity_id.partition(".")
                er.async_get(hass).async_get_or_create(
                    domain,
                    "evaluation",
                    unique,
                    config_entry=entry,
                    original_name=names[language][key],
                    suggested_object_id=unique,
                )
                async_expose_entity(hass, ASSISTANT, entity_id, should_expose=True)
            await async_load(hass, language)
            home = Home(hass, entry)
            _set_states(hass, names[language], {})
            await hass.async_block_till_done()
            for case in listed:
                _set_states(hass, names[language], case.states)
                yield await _async_judged(hass, home, case)
            await hass.async_stop(force=True)


def _set_states(hass: HomeAssistant, names: Mapping[str, str], others: Mapping[str, Any]) -> None:
    for key, (entity_id, state, attributes) in HOME.items():
        other = others.get(key, {})
        more = other if isinstance(other, dict) else {}
        now = state if isinstance(other, dict) else other
        hass.states.async_set(entity_id, now, {**attributes, **more, "friendly_name": names[key]})


async def _async_judged(hass: HomeAssistant, home: Home, case: Case) -> Judged:
    done = {HOME[key][0]: Outcome.REACHED for key in case.did}
    turn = Turn(
        profile=profile_from_data("evaluation", "Evaluation", {}, {}),
        conversation_id="evaluation",
        text=case.said,
        language=case.language,
        context=Context(),
        record=TurnRecord(acted=bool(done), outcomes=dict(done), changed=set(done)),
    )
    began = time.perf_counter()
    doubted = False
    may_name = mentions_automation(case.answer, case.language) or (await home.async_get()).may_name_others(
        case.answer, done
    )
    if not done or may_name:  # as prompt/request.py does
        doubted = await ClaimCheck(hass=hass, turn=turn, home=home).async_untrue(case.answer) is not None
    return Judged(case, doubted, time.perf_counter() - began)


def figures(judged: Sequence[Judged]) -> dict[str, float]:
    """Return how many turns there are, what share of the false ones was caught and of the true ones doubted, in percent."""
    false = [item for item in judged if item.case.false]
    true = [item for item in judged if not item.case.false]
    return {
        "turns": len(judged),
        "false": len(false),
        "caught": round(100 * sum(item.doubted for item in false) / max(1, len(false)), 1),
        "true": len(true),
        "doubted": round(100 * sum(item.doubted for item in true) / max(1, len(true)), 1),
        "ms": round(1000 * sorted(item.seconds for item in judged)[len(judged) // 2], 1) if judged else 0.0,
    }


def tables(judged: Sequence[Judged]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the figures by table and row."""

    def of(part: str, language: str = "") -> list[Judged]:
        return [item for item in judged if item.case.part == part and language in ("", item.case.language)]

    languages = list(Counter(item.case.language for item in judged))
    kinds = list(Counter(item.case.why for item in judged))
    return {
        "All turns": {**{part: figures(of(part)) for part in PARTS}, "both": figures(judged)},
        **{f"By language, {part}": {code: figures(of(part, code)) for code in languages} for part in PARTS},
        "By what happens": {why: figures([item for item in judged if item.case.why == why]) for why in kinds},
    }


def render(judged: Sequence[Judged]) -> str:
    """Return the tables as Markdown."""
    found: list[str] = []
    for title, rows in tables(judged).items():
        found += [
            f"**{title}**",
            "",
            "| | turns | false | caught (%) | true | doubted (%) |",
            "| --- | --: | --: | --: | --: | --: |",
        ]
        found += [
            f"| {name} | {row['turns']:g} | {row['false']:g} | {row['caught'] if row['false'] else '-'} | {row['true']:g} | "
            f"{row['doubted'] if row['true'] else '-'} |"
            for name, row in rows.items()
            if row["turns"]
        ]
        found.append("")
    whole = figures(judged)
    caught, doubted = whole["caught"] >= LEAST_CAUGHT, whole["doubted"] <= MOST_DOUBTED
    found.append(
        f"Aims: at least {LEAST_CAUGHT:g} % caught: {'met' if caught else 'not met'} ({whole['caught']}); at most "
        f"{MOST_DOUBTED:g} % doubted: {'met' if doubted else 'not met'} ({whole['doubted']}). Median of a judgement: {whole['ms']} ms."
    )
    return "\n".join(found)


def misjudged(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return the turns that were judged wrongly."""
    return [
        {
            "part": item.case.part,
            "language": item.case.language,
            "said": item.case.said,
            "answer": item.case.answer,
            "false": item.case.false,
        }
        for item in judged
        if item.doubted is not item.case.false
    ]
