"""The benchmark: its ruler, its verdicts, and one short run of the real thing."""

import json
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

import pytest

from scripts.benchmark import automations_report, telling_report, wishes_report
from scripts.benchmark.__main__ import arguments
from scripts.benchmark.driver import dialogue_figures
from scripts.benchmark.memory import short
from scripts.benchmark.memory_report import MAX_TRACED, MEMORY, memory_aims, memory_figures, render_memory
from scripts.benchmark.real_report import REAL, day_figures, real_aims, render_real
from scripts.benchmark.report import TOOLS, Figures, aims, insert, render, render_tools, tool_aims
from scripts.benchmark.requests import Laid, estimate_tokens, lay_out, steps
from scripts.benchmark.telling_report import CONTEXT
from tests.llama_server import require_llama

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(("text", "tokens"), [
    pytest.param("", 0, id="nothing"),
    pytest.param("turn on the light", 4, id="a blank belongs to the word behind it"),
    pytest.param("thermostat", 2, id="long words are cut"),
    pytest.param("1234567", 3, id="digits by three"),
    pytest.param('{"a":1}', 5, id="marks"),
    pytest.param("a\n\nb", 3, id="line breaks"),
    pytest.param("wohnzimmer_überall", 4, id="other letters"),
])  # fmt: skip
def test_estimate_is_the_same_ruler_for_all(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def _body(*messages: tuple[str, str], tools: tuple[str, ...] = ("a",)) -> dict[str, Any]:
    return {
        "messages": [{"role": role, "content": content} for role, content in messages],
        "tools": [{"type": "function", "function": {"name": name}} for name in tools],
    }


def test_tools_and_system_message_are_the_stable_part() -> None:
    laid = lay_out(_body(("system", "Be kind."), ("user", "Hello")))
    assert laid.text[: laid.stable] == '{"type":"function","function":{"name":"a"}}\n<|system|>\nBe kind.\n'
    assert laid.text[laid.stable :] == "<|user|>\nHello\n"
    assert laid.messages == 1


@pytest.mark.parametrize("arguments", ['{"b":1}', {"b": 1}], ids=["OpenAI's text", "Ollama's object"])
def test_tool_calls_are_laid_out_alike_without_their_ids(arguments: object) -> None:
    call = {"id": "random", "function": {"name": "f", "arguments": arguments}}
    laid = lay_out({"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]})
    assert laid.text == '<|assistant|>\n\n<|call|>f {"b":1}\n'


def test_a_request_that_grows_at_the_end_keeps_all_of_the_previous_one() -> None:
    first = lay_out(_body(("system", "s"), ("user", "one")))
    second = lay_out(_body(("system", "s"), ("user", "one"), ("assistant", "two"), ("user", "three")))
    (step,) = steps([first, second])
    assert (step.share, step.stable, step.trimmed) == (1, True, False)
    assert step.new_tokens == estimate_tokens(second.text[len(first.text) :])


def test_a_changed_word_ends_what_is_kept() -> None:
    first = Laid(text="stable old", stable=6, messages=1)
    (step,) = steps([first, Laid(text="stable new thing", stable=6, messages=1)])
    assert step.share == 0.7
    assert step.stable
    assert step.trimmed
    assert step.new_tokens == 2


def _step(turn: int, share: float = 1, new: int = 40, *, trimmed: bool = False) -> dict[str, Any]:
    return {"turn": turn, "share": share, "stable": True, "new_tokens": new, "trimmed": trimmed}


def _raw(*steps_: dict[str, Any]) -> dict[str, Any]:
    return {
        "prompt_tokens": [9], "prompt_chars": [9], "stable_tokens": 5, "turns": [0, 1, 2, 2, 3], "steps": list(steps_),
    }  # fmt: skip


def test_the_conversation_is_judged_until_its_history_is_cut() -> None:
    figures = dialogue_figures(_raw(_step(1), _step(2, 0.4, 900, trimmed=True), _step(2, new=60), _step(3, 0.8, 7)))
    assert figures["share"] == 1
    assert figures["trimmed_in_turn"] == 3
    assert (figures["new_tokens"], figures["result_tokens"]) == ([40, 900], 60)
    assert (figures["next_share"], figures["next_stable"], figures["next_new_tokens"]) == (0.8, True, 7)


def test_a_rewritten_history_is_not_taken_for_a_cut_one() -> None:
    assert dialogue_figures(_raw(_step(1), _step(2, 0.4), _step(3)))["share"] == 0.4


def _figures(ms: float, *, share: float = 1, block: float = 1, requests: int = 1, new: int = 100) -> Figures:
    timings = {"cpu_ms": ms, "added_ms": ms, "request_ms": ms}
    dialogue = {
        "prompt_tokens": [1000], "stable_tokens": 900, "share": share, "new_tokens": [new], "result_tokens": 60, "trimmed_in_turn": None,
        "next_share": 0.9, "next_stable": True, "next_new_tokens": 9,
    }  # fmt: skip
    return {
        "plain": timings, "call": timings, "paced": timings, "token_ms": 0.1, "changes_ms": 0.1, "block_ms": block, "block_wall_ms": block,
        "dialogue": dialogue, "question": {"requests": requests},
    }  # fmt: skip


def _missed(ours: Figures, large: Figures | None = None) -> set[str]:
    results = {"home_agent": {200: ours, 5000: large or _figures(4)}, "ollama": {200: _figures(8), 5000: _figures(80)}}
    return {aim.what for aim in aims(results) if not aim.passed}


def test_all_aims_can_be_met() -> None:
    assert _missed(_figures(4)) == set()


@pytest.mark.parametrize(("ours", "missed"), [
    pytest.param(_figures(4.1), "CPU of a plain turn, 200: at most half of the best", id="half of the best"),
    pytest.param(_figures(2), "time added of a turn with a tool call, 5000 against 200", id="growth"),
    pytest.param(_figures(4, share=0.999), "requests only grow, 200", id="unchanged"),
    pytest.param(_figures(4, block=5.1), "longest block, 200", id="block"),
    pytest.param(_figures(4, requests=2), "question about a state, 200", id="question"),
    pytest.param(_figures(4, new=151), "new tokens per turn, 200", id="new tokens"),
])  # fmt: skip
def test_a_missed_aim_is_named(ours: Figures, missed: str) -> None:
    assert missed in _missed(ours)


def test_the_report_never_rounds_up_to_all() -> None:
    text = render({"home_agent": {50: _figures(4, share=0.99999)}})
    assert "99.9 %" in text
    assert "100 %" not in text.split("Aims")[0]


def test_figures_replace_those_of_the_last_run_in_the_document() -> None:
    begin, end = "<!-- figures: written by scripts/bench --markdown -->", "<!-- end of figures -->"
    document = insert(f"before\n{begin}\nold\n{end}\nafter\n", "new\n")
    assert document == f"before\n{begin}\n\nnew\n\n{end}\nafter\n"
    with pytest.raises(ValueError, match="has no"):
        insert("no marks", "new")


def test_a_document_that_is_not_there_is_said_before_anything_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["scripts/bench", "--markdown", str(tmp_path / "none.md")])
    with pytest.raises(SystemExit):
        arguments()
    assert "none.md" in capsys.readouterr().err


def test_the_document_has_its_marks() -> None:
    document = (ROOT / "docs/performance/bench.md").read_text()
    assert insert(document, "new")
    assert insert(document, "new", TOOLS)
    assert insert(document, "new", CONTEXT)
    assert insert(document, "new", wishes_report.WISHES)
    assert insert(document, "new", automations_report.AUTOMATIONS)
    assert insert(document, "new", REAL)
    assert insert(document, "new", MEMORY)


def _of_tools(read: float, write: float, *shares: float) -> dict[str, Any]:
    return {
        "home_agent": {
            50: {
                "tools": {"policy_ms": {"read": read, "write": write}, "parallel": {"calls": 8, "shares": list(shares)}}
            }
        }
    }


def test_tool_calls_are_judged_by_themselves() -> None:
    assert all(aim.passed for aim in tool_aims(_of_tools(0.9, 1, 1.0, 1.1, 9)))
    assert [aim.passed for aim in tool_aims(_of_tools(1.01, 1, 1.2))] == [False, True, False]
    assert "1.200 times" in render_tools(_of_tools(1, 1, 1.2))
    assert render_tools({"ollama": {50: _figures(4)}}) == ""
    assert aims(_of_tools(1, 1, 1)) == []


def _of_context(first: int, new: int, share: float, query: float) -> dict[str, Any]:
    told = {"first_tokens": first, "stable_tokens": 9, "tokens": [first], "new_tokens": [new], "share": share}
    index = {"build_ms": 9, "memory_mb": 1.5, "query_ms": query, "query_95_ms": query, "change_ms": 40, "names_ms": 0.1}
    modes = {"direct": told | {"first_tokens": 9000, "new_tokens": [500]}, "retrieved": told}
    more = 60 if share == 1 else 61
    modes["retrieved, 500 memories"] = told | {"new_tokens": [new + more]}
    memories = {"query_ms": 1.5 * query, "query_95_ms": 99, "memory_mb": 7.7, "start_ms": 5 * query}
    return {"home_agent": {50: {"context": {"modes": modes, "index": index, "memories": memories}}}}


def test_what_is_told_is_judged_by_itself() -> None:
    met, missed = _of_context(2500, 450, 1, 10), _of_context(2501, 451, 0.999, 10.1)
    assert all(aim.passed for aim in telling_report.aims(met))
    assert not any(aim.passed for aim in telling_report.aims(missed))
    assert "1.5" in telling_report.render_context(met)
    assert "7.7" in telling_report.render_context(met)
    assert telling_report.render_context({"ollama": {50: _figures(4)}}) == ""
    assert aims(met) == []


def _of_wishes(ms: float, calls: int) -> dict[str, Any]:
    without = {"ms": 100.0, "own_calls": 30, "wish_calls": 0}
    waiting = {"ms": ms, "own_calls": 30 + calls, "wish_calls": calls}
    return {"home_agent": {50: {"wishes": {"changes": 10_000, "0": without, "1000": waiting}}}}


def _of_automations(ms: float, calls: int, block: float) -> dict[str, Any]:
    """Return figures of automations in a home of 50."""
    parts = {part: {"ms": 3.0, "block_ms": block} for part in automations_report.PARTS}
    without, made = {"ms": 100.0, "own_calls": 7}, {"ms": ms, "own_calls": 7 + calls}
    return {"home_agent": {50: {"automations": {"changes": 10_000, "0": without, "100": made, **parts}}}}


def test_automations_are_judged_by_what_they_cost_and_what_they_stop() -> None:
    met, missed = _of_automations(109, 0, 49), _of_automations(111, 1, 51)
    assert all(aim.passed for aim in automations_report.automations_aims(met))
    assert not any(aim.passed for aim in automations_report.automations_aims(missed))
    assert "109" in automations_report.render_automations(met)
    assert automations_report.render_automations({"ollama": {50: _figures(4)}}) == ""


def test_wishes_that_wait_are_judged_by_what_they_cost() -> None:
    met, missed = _of_wishes(109, 0), _of_wishes(111, 1)
    assert [aim.passed for aim in wishes_report.wishes_aims(met)] == [True, True]
    assert [aim.passed for aim in wishes_report.wishes_aims(missed)] == [False, False]
    assert "109" in wishes_report.render_wishes(met)
    assert wishes_report.render_wishes({"ollama": {50: _figures(4)}}) == ""


def _read(*counts: tuple[int, int], ms: float = 100) -> list[dict[str, Any]]:
    return [{"for_one_token": False, "cancelled": False, "cached": c, "read": r, "ms": ms} for c, r in counts]


def _day(command: int, question: int, *, requests: int = 1, ms: float = 100) -> dict[str, Any]:
    ready = {"for_one_token": True, "cancelled": True}
    spent: list[tuple[int, str, list[dict[str, Any]]]] = [(0, "start", [*_read((0, 2000)), ready])]
    for number in (0, 1, 2):
        spent += [(number, "between", _read((1900, 30 * number)))] if number else []
        spent += [(number, "command", _read((2000, command - 50), (2100, 50), ms=ms)), (number, "thinking", [ready])]
        spent.append((number, "question", _read(*[(2200, question)] * requests, ms=ms)))
        spent.append((number, "follow-up", _read((2300, 20), ms=ms)))
    return {"day": [{"conversation": number, "turn": turn, "requests": list_} for number, turn, list_ in spent]}


def test_a_day_is_added_up_by_turn_and_what_nobody_waits_for_apart() -> None:
    figures = day_figures(_day(150, 120)["day"])
    assert [(spent["first_read"], spent["read"], spent["ms"]) for spent in figures["command"]] == [(100, 150, 200)] * 2
    assert [(spent["requests"], spent["read"]) for spent in figures["by_itself"]] == [(2, 30), (2, 60)]
    assert (figures["start"]["read"], figures["start"]["requests"], figures["start"]["cancelled"]) == (2000, 2, 1)
    assert figures["first"]["read"] == 150
    assert figures["cached_share"] == 8600 / (8600 + 290)


def test_what_is_read_on_a_real_server_is_judged_by_itself() -> None:
    other = {60: _day(86, 200, requests=2)}
    met = {"home_agent": {60: _day(150, 120)}, "llama_cpp": other}
    assert all(aim.passed for aim in real_aims(met))
    assert len(real_aims(met)) == 5
    missed = real_aims({"home_agent": {60: _day(151, 121, requests=2, ms=101)}, "llama_cpp": other})
    assert not any(aim.passed for aim in missed)
    assert len(real_aims({"home_agent": met["home_agent"]})) == 3, "nobody to be compared with"
    assert "30 60" in render_real(met)
    assert render_real({"ollama": {50: _figures(4)}}) == ""
    assert aims(met) == []


def _memory(*left: int, own: int = 0) -> dict[str, Any]:
    """Return what blocks of ten turns give, each turn of which left so many bytes, and of them `own`."""
    totals = [10 * sum(left[:number]) for number in range(len(left) + 1)]
    turns = [10 * number for number in range(len(totals))]
    resident = [{"turns": turn, "resident": 300_000_000 + 2 * total} for turn, total in zip(turns, totals, strict=True)]
    traced = [
        {"turns": turn, "traced": total, "own": own * turn, "through": total}
        for turn, total in zip(turns, totals, strict=True)
    ]
    return {"resident": resident, "traced": traced}


def test_memory_is_told_by_the_turn_and_judged_by_the_last_block() -> None:
    figures = memory_figures(_memory(5000, 40))
    assert "per_turn" not in figures[0]
    assert figures[10]["per_turn"] == {"resident": 10_000, "traced": 5000, "own": 0, "through": 5000}
    assert (figures[20]["traced"], figures[20]["per_turn"]["traced"]) == (50_400, 40)
    other = {"llama_cpp": {50: {"memory": _memory(0, 9 * MAX_TRACED)}}}
    met = {"home_agent": {50: {"memory": _memory(5000, MAX_TRACED, own=MAX_TRACED)}}, **other}
    missed = {"home_agent": {50: {"memory": _memory(0, MAX_TRACED + 1, own=MAX_TRACED + 1)}}, **other}
    assert [aim.passed for aim in memory_aims(met)] == [True, True]
    assert [aim.passed for aim in memory_aims(missed)] == [False, False]
    assert "llama_cpp, 50 entities" in render_memory(met)
    assert render_memory({"ollama": {50: _figures(4)}}) == ""
    assert aims(met) == []


def test_files_are_told_from_their_package_on() -> None:
    assert short("/x/lib/python3.14/site-packages/aiohttp/client.py") == "aiohttp/client.py"
    assert short("/x/custom_components/home_agent/const.py") == "custom_components/home_agent/const.py"
    assert short("/x/lib/python3.14/json/decoder.py") == "python3.14/json/decoder.py"
    assert short("<frozen abc>") == "<frozen abc>"


def bench(folder: Path, *arguments: str) -> tuple[dict[str, Any], str]:
    """Run scripts/bench; return its figures by agent, and what it said."""
    figures = folder / "figures.json"
    finished = subprocess.run(
        [ROOT / "scripts/bench", *arguments, "--json", figures],
        env={**os.environ, "VENV": sys.prefix},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return json.loads(figures.read_text())["results"], finished.stdout


@pytest.mark.e2e
@pytest.mark.one_release
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_a_quick_look_at_memory(tmp_path: Path) -> None:
    results, said = bench(tmp_path, "--memory", "--quick")
    assert "Resident memory (MB)" in said
    for agent in ("home_agent", "llama_cpp"):
        taken = results[agent]["24"]["memory"]
        for kind in ("resident", "traced"):
            assert [block["turns"] for block in taken[kind]] == [0, 8, 16, 24, 32]
            assert not any(block["sessions"] for block in taken[kind]), "all sessions are over"
        assert all(block["resident"] > 50_000_000 for block in taken["resident"])
        assert all(block["traced"] >= block["through"] >= block["own"] > 0 for block in taken["traced"][1:])


@pytest.mark.e2e
@pytest.mark.one_release
@pytest.mark.timeout(600)
def test_a_quick_run_measures_two_agents(tmp_path: Path) -> None:
    chosen = ("--agents", "home_agent,ollama", "--sizes", "24", "--rounds", "1", "--turns", "1")
    results, said = bench(tmp_path, *chosen)
    assert "Aims" in said
    assert results["ollama"]["24"]["question"] == {"requests": 2, "answered": True}
    assert results["home_agent"]["24"]["question"] == {"requests": 1, "answered": True}
    for agent in results.values():
        assert agent["24"]["plain"]["cpu_ms"] > 0
        assert agent["24"]["dialogue"]["share"] == 1
    tools = results["home_agent"]["24"]["tools"]
    assert tools["policy_ms"].keys() == {"read", "write"}
    assert min(tools["parallel"]["shares"]) >= 1
    together = results["home_agent"]["24"]["together"]
    assert {*together} == {"alone", "plain", "routed", "delegated"}
    assert 0 < together["plain"]["cpu_ms"] < together["delegated"]["cpu_ms"]
    wishes = results["home_agent"]["24"]["wishes"]
    assert wishes["1000"]["ms"] > 0
    assert wishes["1000"]["wish_calls"] == 0
    assert wishes["1000"]["own_calls"] < 1000, "for 10,000 changes"
    automations = results["home_agent"]["24"]["automations"]
    assert abs(automations["100"]["own_calls"] - automations["0"]["own_calls"]) < 100, "for 10,000 changes"
    assert automations["replay"]["runs"] > 0
    context = results["home_agent"]["24"]["context"]
    assert (
        context["index"]["entities"], context["modes"]["direct"]["share"], context["modes"]["retrieved"]["share"],
    ) == (24, 1, 1)  # fmt: skip
    assert context["memories"]["memories"] == 10_000
    assert context["modes"]["retrieved, 500 memories"]["share"] == 1


@pytest.mark.e2e
@pytest.mark.one_release
@pytest.mark.timeout(600)
def test_a_quick_day_on_a_real_server(tmp_path: Path) -> None:
    require_llama()
    results, said = bench(tmp_path, "--real", "--quick", "--agents", "home_agent", "--sizes", "12")
    assert "Aims" in said
    day = results["home_agent"]["12"]["day"]
    turns = {(spent["conversation"], spent["turn"]): spent for spent in day}
    for number in (0, 1):
        for turn, requests in (("command", 2), ("question", 1), ("follow-up", 1)):
            spent = turns[number, turn]
            assert spent["answered"]
            assert len(spent["requests"]) == requests
            assert all(request["read"] > 0 and request["ms"] > 0 for request in spent["requests"])
    first, second = turns[0, "command"]["requests"]
    assert second["cached"] >= first["cached"] + first["read"] - 1, "the second request begins with the first"
