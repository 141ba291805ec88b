"""Tool calls out of the fragments that servers send."""

import json
from typing import Any

import pytest

from custom_components.home_agent.client.messages import BrokenArguments
from custom_components.home_agent.client.stream import ToolCallAssembler


def fragment(
    arguments: Any = None, name: str | None = None, call_id: str | None = None, index: int | None = 0
) -> dict[str, Any]:
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assemble(*deltas: object, complete: bool = True) -> list[tuple[str, str, dict[str, Any]]]:
    assembler = ToolCallAssembler()
    for delta in deltas:
        assembler.feed(delta)
    return [(call.id, call.tool_name, call.tool_args) for call in assembler.finish(complete=complete)]


ON, OFF = {"on": True}, {"on": False}
TWO = [("a", "f", ON), ("b", "g", OFF)]


@pytest.mark.parametrize(("deltas", "expected"), [
    pytest.param([[fragment('{"on":true}', "f", "a")]], TWO[:1], id="whole"),
    pytest.param([[fragment("", "f", "a")], [fragment('{"on"')], [fragment(":true}")]], TWO[:1], id="in fragments"),
    pytest.param(
        [[fragment('{"on"', "f", "a")], [{"index": 0, "function": {"arguments": ":true}"}}]], TWO[:1],
        id="later fragments without id and name",
    ),
    pytest.param([[fragment('{"on"', "f", "a")], [fragment(":true}", "f", "a")]], TWO[:1], id="id and name repeated"),
    pytest.param([[fragment('{"on"', "f", "a")], [fragment(":true}", "", "")]], TWO[:1], id="id and name emptied"),
    pytest.param([[fragment('{"on"', "f", "a")], [fragment(":true}", None, "z")]], TWO[:1], id="id changes midway"),
    pytest.param([[fragment('{"on":true}', "f", "a")], [fragment("", "f", "a")]], TWO[:1], id="empty at the end"),
    pytest.param([[fragment(None, None, "a")], [fragment('{"on":true}', "f")]], TWO[:1], id="name comes late"),
    pytest.param([[fragment(ON, "f", "a")]], TWO[:1], id="arguments as an object"),
    pytest.param(
        [[fragment('{"on":true}', "f", "a", 0), fragment('{"on":false}', "g", "b", 1)]], TWO, id="two at once",
    ),
    pytest.param(
        [
            [fragment('{"on":', "f", "a", 0)], [fragment('{"on":', "g", "b", 1)],
            [fragment("true}", index=0), fragment("false}", index=1)],
        ],
        TWO, id="two interleaved",
    ),
    pytest.param(
        [[fragment('{"on":true}', "f", "a")], [fragment('{"on":false}', "g", "b")]], TWO, id="same index, new id",
    ),
    pytest.param(
        [[fragment(ON, "f", "a", None), fragment(OFF, "g", "b", None)]], TWO, id="no index, several in one list",
    ),
    pytest.param(
        [
            [fragment('{"on":true', "f", "a", None)], [fragment("}", None, "a", None)],
            [fragment('{"on":false', "g", "b", None)], [fragment("}", None, None, None)],
        ],
        TWO, id="no index, in fragments",
    ),
    pytest.param([[fragment("", "f", "a")], [fragment("", "g", "b")]], [("a", "f", {}), ("b", "g", {})], id="none"),
    pytest.param([None, "x", [None, 5], [{"index": 0}], [{"function": None}]], [], id="nonsense"),
    pytest.param([[fragment("{}")]], [], id="no name"),
])  # fmt: skip
def test_calls_are_put_together(deltas: list[object], expected: list[object]) -> None:
    assert assemble(*deltas) == expected


def test_missing_and_repeated_ids_are_replaced() -> None:
    calls = assemble([fragment(ON, "f", None, 0), fragment(OFF, "g", None, 1)])
    assert [name for _, name, _ in calls] == ["f", "g"]
    assert len({call_id for call_id, _, _ in calls if call_id}) == 2
    calls = assemble([fragment(ON, "f", "same", 0), fragment(OFF, "g", "same", 1)])
    assert calls[0][0] == "same"
    assert calls[1][0] != "same"


def test_calls_without_ids_and_index_are_told_apart_by_what_is_complete() -> None:
    calls = assemble(*([fragment(arguments, "f", None, None)] for arguments in ('{"on":', "true}", '{"on":false}', "")))
    assert [args for _, _, args in calls] == [ON, OFF]
    calls = assemble([fragment("", "f", None, None)], [fragment("", "g", None, None)], [fragment("", "g", None, None)])
    assert [name for _, name, _ in calls] == ["f", "g"]


@pytest.mark.parametrize("raw", ['{"on": tru', "[1]", "on", '"on"', "7"])
def test_arguments_that_are_no_object_are_broken(raw: str) -> None:
    [(_, _, args)] = assemble([fragment(raw, "f", "a")])
    assert isinstance(args, BrokenArguments)
    assert args == {}
    assert args.raw == raw


@pytest.mark.parametrize("raw", [None, "", "  "])
def test_no_arguments_are_an_empty_object(raw: str | None) -> None:
    [(_, _, args)] = assemble([fragment(raw, "f", "a")])
    assert args == {}
    assert not isinstance(args, BrokenArguments)


def test_a_broken_stream_keeps_only_whole_calls() -> None:
    deltas = [fragment('{"on":true}', "f", "a", 0), fragment('{"on":fal', "g", "b", 1), fragment("", "h", "c", 2)]
    assert assemble(deltas, complete=False) == TWO[:1]


def deep(levels: int, opening: str = '{"on":', closing: str = "}") -> str:
    return '{"a":' + opening * levels + "1" + closing * levels + "}"


@pytest.mark.parametrize("levels", [40, 200, 500, 1000, 5000])
@pytest.mark.parametrize(("opening", "closing"), [('{"on":', "}"), ("[", "]"), ('[{"on":', "}]")])
def test_arguments_that_go_too_deep_are_broken(levels: int, opening: str, closing: str) -> None:
    ((_, _, arguments),) = assemble([fragment(deep(levels, opening, closing), "f", "a")])
    assert isinstance(arguments, BrokenArguments)


@pytest.mark.parametrize("levels", [40, 300])
def test_an_object_that_goes_too_deep_is_broken(levels: int) -> None:
    ((_, _, arguments),) = assemble([fragment(json.loads(deep(levels)), "f", "a")])
    assert isinstance(arguments, BrokenArguments)


def test_arguments_may_go_deep() -> None:
    ((_, _, arguments),) = assemble([fragment(deep(20), "f", "a")])
    assert arguments == json.loads(deep(20))
