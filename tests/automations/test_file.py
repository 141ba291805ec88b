"""The text of automations.yaml: what is which automation, and that a change keeps every other byte."""

from collections.abc import Mapping
from typing import Any

from hypothesis import given, settings, strategies as st
import pytest
import yaml  # type: ignore[import-untyped]

from custom_components.home_agent.automations import file, nodes
from custom_components.home_agent.automations.file import AutomationFile, read_text
from custom_components.home_agent.support.errors import ToolError

ASKED: Mapping[str, Any] = {"alias": "Asked", "triggers": [{"trigger": "time", "at": "08:00"}], "actions": []}
WRITTEN = "  alias: Asked\n  triggers:\n  - trigger: time\n    at: 08:00\n  actions: []\n"
HOUSE = """\
# Automations of the house

# The lamp of the hall
- id: "1"
  alias: Lamp  # in the hall
  triggers: &dusk
    - trigger: sun
      event: sunset
  actions:
    - action: shell_command.run
      data:
        script: |
          # not a comment
          echo on


# ---- Kitchen ----

# boils water
- id: "2"
  alias: Kettle
  triggers: [{trigger: time,
    at: "07:00"}
  ]
  actions: []
-
  id: "3"
  alias: Dusk
  triggers: *dusk
  actions: []
- id: "4"
  alias: Secret
  triggers: []
  actions:
    - action: notify.notify
      data: {message: !secret greeting}

# - id: "9"
#   alias: commented out
"""


def read(text: str) -> AutomationFile:
    return read_text(text.encode())


def refusal(text: str | bytes) -> str | None:
    with pytest.raises(ToolError) as caught:
        read_text(text.encode() if isinstance(text, str) else text)
    return caught.value.translation_key


def texts(one: AutomationFile) -> list[str]:
    return [item.text for item in one.items]


def test_items_and_what_is_between_them_are_the_whole_file() -> None:
    house = read(HOUSE)
    assert house.text == (
        "# Automations of the house\n" + house.items[0].text + "\n\n# ---- Kitchen ----\n" + "".join(texts(house)[1:])
        + '\n# - id: "9"\n#   alias: commented out\n'
    )  # fmt: skip


def test_ids_and_places() -> None:
    assert [(item.place, item.id) for item in read(HOUSE).items] == [(0, "1"), (1, "2"), (2, "3"), (3, "4")]


def test_an_item_has_the_comment_above_it_and_those_in_it() -> None:
    assert read(HOUSE).items[0].text.startswith("\n# The lamp of the hall\n- id:")
    assert "# in the hall" in read(HOUSE).items[0].text


def test_what_looks_like_a_comment_in_a_text_is_text() -> None:
    assert read(HOUSE).items[0].text.endswith("          # not a comment\n          echo on\n")


def test_a_text_that_keeps_blank_lines_has_them() -> None:
    one, _ = read("- id: a\n  x: |+\n    y\n\n\n- id: b\n").items
    assert one.text == "- id: a\n  x: |+\n    y\n\n\n"


def test_a_text_that_ends_like_a_comment_stays_whole() -> None:
    one, two = read("- id: a\n  x: |\n    y\n    # z\n# of b\n- id: b\n").items
    assert one.config["x"] == "y\n# z\n"
    assert two.text == "# of b\n- id: b\n"


def test_a_closing_bracket_and_an_alias_belong_to_their_item() -> None:
    one, two, _ = read("- id: a\n  x: &x [1,\n  2\n  ]\n- id: b\n  y:\n    # c\n    *x\n- id: c\n").items
    assert one.text.endswith("  ]\n")
    assert two.text.endswith("    *x\n")


@pytest.mark.parametrize(("place", "is_plain"), [
    pytest.param(0, False, id="its anchor is used by another"),
    pytest.param(1, True, id="in brackets"),
    pytest.param(2, False, id="it uses an anchor of another"),
    pytest.param(3, False, id="a secret"),
])  # fmt: skip
def test_which_can_be_written_anew(place: int, is_plain: bool) -> None:
    assert read(HOUSE).items[place].is_plain is is_plain


@pytest.mark.parametrize("line", [
    "x: !include y.yaml", "x: !env_var Y", "x: !unknown {a: b}", "x: !!binary aGk=", "x: !!set {a}", "x: 2026-01-01",
    "? !secret k\n  : v", "x: {<<: *base}",
])  # fmt: skip
def test_tags_and_merges_are_not_plain(line: str) -> None:
    one = read(f"- id: a\n  base: &base {{}}\n- id: b\n  {line}\n").items[1]
    assert not one.is_plain


def test_an_alias_within_its_own_item_is_plain_and_is_written_out() -> None:
    one = read("- id: a\n  x: &x [1]\n  y: *x\n")
    assert one.items[0].is_plain
    assert one.with_config("a", {"x": [2], "y": [1]}).text == "- id: a\n  x:\n  - 2\n  y:\n  - 1\n"


def test_a_tag_stands_as_its_text() -> None:
    assert read(HOUSE).items[3].config["actions"][0]["data"] == {"message": "!secret greeting"}


@pytest.mark.parametrize("item", [
    pytest.param("alias: none", id="none"),
    pytest.param("id: 17", id="a number"),
    pytest.param("id: !secret x", id="a secret"),
    pytest.param("id: [a]", id="a list"),
    pytest.param("id:", id="nothing"),
])  # fmt: skip
def test_an_item_without_an_id_of_its_own_is_listed(item: str) -> None:
    assert [one.id for one in read(f"- {item}\n- id: b\n").items] == [None, "b"]


@pytest.mark.parametrize("item", ["- !include other.yaml\n", "-\n", "- text\n", "- [1]\n"])
def test_an_item_that_is_no_mapping_is_listed_and_kept(item: str) -> None:
    one = read(f"{item}- id: b\n")
    assert (one.items[0].id, one.items[0].config, one.items[0].is_plain) == (None, {}, False)
    assert one.without("b").text == item


def test_the_fingerprint_is_of_what_is_written() -> None:
    marks = [read(text).items[0].fingerprint for text in (
        "- id: a\n  x: 1\n", "\n- id: a\r\n  x: 1", "- id: a\n  x: 1  # c\n", "# c\n- id: a\n  x: 1\n",
    )]  # fmt: skip
    assert marks[0] == marks[1]
    assert len(set(marks)) == 3


# Changes


def test_a_new_one_comes_behind_the_last_and_before_what_is_commented_out() -> None:
    last = read(HOUSE).items[3].text
    assert read(HOUSE).with_config("5", ASKED).text == HOUSE.replace(last, f"{last}- id: '5'\n{WRITTEN}")


def test_only_its_own_lines_change() -> None:
    old = read(HOUSE).items[1].text
    comments, _ = old.split("- id")
    assert read(HOUSE).with_config("2", ASKED).text == HOUSE.replace(old, f'{comments}- id: "2"\n{WRITTEN}')


def test_a_deletion_takes_its_comment_and_leaves_the_heading() -> None:
    assert read(HOUSE).without("2").text == HOUSE.replace(read(HOUSE).items[1].text, "\n")


EDITED = """\
# above
- id: a
  # of the name
  alias: Old  # once
  triggers: [{trigger: time, at: "07:00"}]  # in the morning

  # what it does
  actions:
    - action: test.tell
      data: {message: !secret greeting}
  mode: single # the end
# tail
"""
PARTS = read_text(EDITED.encode()).items[0].config


@pytest.mark.parametrize(("change", "old", "new"), [
    pytest.param({}, "", "", id="nothing"),
    pytest.param({"alias": "New"}, "Old  # once", "New", id="a text"),
    pytest.param({"mode": "queued"}, "single # the end", "queued", id="the last one"),
    pytest.param({"id": "b"}, "", "", id="the id is its own"),
    pytest.param({"variables": {"x": 1}}, "single # the end\n", "single # the end\n  variables:\n    x: 1\n", id="one more"),
    pytest.param({"mode": None}, "single # the end", "", id="nothing in it"),
    pytest.param(
        {"triggers": [{"trigger": "time", "at": "07:30"}]}, '[{trigger: time, at: "07:00"}]  # in the morning',
        "\n  - trigger: time\n    at: 07:30", id="a list",
    ),
])  # fmt: skip
def test_only_the_keys_that_differ_are_written_anew(change: Mapping[str, Any], old: str, new: str) -> None:
    text = read(EDITED).with_config("a", {**PARTS, **change}).text
    assert text.replace(" \n", "\n") == (EDITED.replace(old, new) if old else EDITED).replace(" \n", "\n")


def test_a_key_that_is_left_out_goes_with_the_comment_above_it() -> None:
    config = {key: value for key, value in PARTS.items() if key != "actions"}
    assert read(EDITED).with_config("a", config).text == (
        EDITED[: EDITED.index("\n  # what it does")] + EDITED[EDITED.index("  mode:") :]
    )


def test_a_key_that_is_new_comes_behind_the_one_before_it() -> None:
    config = {"alias": "Old", "description": "d", **{key: PARTS[key] for key in ("triggers", "actions", "mode")}}
    assert read(EDITED).with_config("a", config).text == EDITED.replace("# once\n", "# once\n  description: d\n")


def test_the_order_of_the_keys_is_no_difference() -> None:
    assert read(EDITED).with_config("a", dict(reversed(list(PARTS.items())))).text == EDITED


@pytest.mark.parametrize("value", [True, 1.0, "1", [1]])
def test_what_is_only_equal_is_a_difference(value: object) -> None:
    one = read("- id: a\n  x: 1\n").with_config("a", {"x": value})
    assert type(one.items[0].config["x"]) is type(value)


@pytest.mark.parametrize("text", [
    pytest.param("- {id: a, alias: b}\n", id="in brackets"),
    pytest.param("- alias: b\n  id: a\n", id="another first key"),
    pytest.param("-\r\n  # c\r\n  id: a\r\n  alias: b", id="dash alone, CRLF, no newline"),
    pytest.param("- ? id\n  : a\n  ? alias\n  : b\n", id="question marks"),
    pytest.param("- &x\n  id: a\n  alias: b\n", id="an anchor"),
    pytest.param("- id: a\n  alias: b\n  alias: b\n", id="a key twice"),
    pytest.param("- id: a\n  base: &b {alias: b}\n  <<: *b\n", id="merged"),
    pytest.param("- id: a\n  alias: |-\n    b\n\n  # c\n", id="a block of text"),
    pytest.param("- id: a\n  on: b\n  1: c\n", id="keys that are no texts"),
    pytest.param("- id: a\n  alias: &n b\n  x: *n\n", id="an alias"),
    pytest.param("   - id: a\n     alias: b\n     x:\n     - c\n", id="indented"),
])  # fmt: skip
def test_a_change_is_exact_however_it_was_written(text: str) -> None:
    before = read(f"# head\n{text}")
    changed = before.with_config("a", {"alias": "New", "x": "null"})
    assert changed.items[0].config == {"id": "a", "alias": "New", "x": "null"}
    assert changed.text.startswith("# head\n")


def test_a_text_with_null_in_it_keeps_it() -> None:
    changed = read(EDITED).with_config("a", {**PARTS, "alias": "x: null\ny"})
    assert changed.items[0].config["alias"] == "x: null\ny"
    assert "# of the name" in changed.text


@pytest.mark.parametrize(("automation_id", "change"), [
    pytest.param("4", {"actions": [{"action": "notify.notify", "data": {"message": "!secret greeting", "x": 1}}]}, id="a tag"),
    pytest.param("1", {"triggers": []}, id="an anchor that another needs"),
])  # fmt: skip
def test_what_is_not_plain_is_not_written_anew(automation_id: str, change: Mapping[str, Any]) -> None:
    item = read(HOUSE).item(automation_id)
    assert item is not None
    with pytest.raises(ToolError) as caught:
        read(HOUSE).with_config(automation_id, {**item.config, **change})
    assert caught.value.translation_key == "automation_file_not_plain"


@pytest.mark.parametrize("automation_id", ["1", "3", "4"])
def test_other_keys_of_one_that_is_not_plain_can_be_changed(automation_id: str) -> None:
    item = read(HOUSE).item(automation_id)
    assert item is not None
    changed = read(HOUSE).with_config(automation_id, {**item.config, "alias": "New"})
    assert changed.items[item.place].config == {**item.config, "alias": "New"}


def test_an_alias_that_is_changed_is_written_out() -> None:
    changed = read(HOUSE).with_config("3", {"alias": "Dusk", "triggers": [], "actions": []})
    assert changed.text == HOUSE.replace("triggers: *dusk", "triggers: []")


def test_an_item_whose_anchor_others_use_is_not_deleted() -> None:
    with pytest.raises(ToolError) as caught:
        read(HOUSE).without("1")
    assert caught.value.translation_key == "automation_file_not_plain"


@pytest.mark.parametrize("automation_id", ["3", "4"])
def test_an_item_with_an_alias_or_a_tag_can_be_deleted_and_put_back(automation_id: str) -> None:
    house = read(HOUSE)
    item = house.item(automation_id)
    assert item is not None
    assert house.without(automation_id).with_text(automation_id, item.text, item.place).text == HOUSE


@pytest.mark.parametrize("text", [
    pytest.param("- id: a\n- id: b\n- id: c\n", id="close together"),
    pytest.param("- id: a\n\n- id: b\n\n\n- id: c\n", id="blank lines"),
    pytest.param("# head\n\n# a\n- id: a\n\n# b\n- id: b\n# c\n- id: c\n# end\n", id="comments"),
    pytest.param("  - id: a\r\n    x: 1\r\n\r\n  - id: b\r\n  - id: c\r\n", id="indented, CRLF"),
    pytest.param("%YAML 1.1\n---\n- id: a\n- id: b\n- id: c\n...\n# end\n", id="marks of a document"),
    pytest.param("\ufeff- id: a\n- id: b\n-\n  # in it\n  id: c", id="byte order mark, no newline"),
])  # fmt: skip
@pytest.mark.parametrize("automation_id", ["a", "b"])
def test_a_deleted_one_is_put_back_to_the_byte(text: str, automation_id: str) -> None:
    before = read(text)
    item = before.item(automation_id)
    assert item is not None
    assert before.without(automation_id).with_text(automation_id, item.text, item.place).data == text.encode()


@pytest.mark.parametrize("text", [
    pytest.param("- id: a\n  x: 1\n  # about a\n\n- id: b\n", id="below"),
    pytest.param("- id: a\n  x: 1\n    # deeper\n# of b\n- id: b\n", id="below and above"),
    pytest.param("- id: b\n  x: 1\n  # about b\n\n- id: a\n  # about a", id="at the end"),
    pytest.param("  - id: a\r\n    # about a\r\n  # of b\r\n  - id: b\r\n", id="indented, CRLF"),
    pytest.param("- id: a\n  x: 1\n\n  # apart\n\n- id: b\n", id="apart"),
    pytest.param("- id: b\n# apart\n\n- id: a\n- id: c\n", id="apart, and another one close to it"),
    pytest.param("- id: b\n- id: a\n# one\n\n# two\n- id: c\n", id="two"),
    pytest.param("# head\n\n- id: a\n  # about a\n# end\n", id="alone"),
])  # fmt: skip
def test_a_deleted_one_stands_where_it_stood_among_notes(text: str) -> None:
    before = read(text)
    item = before.item("a")
    assert item is not None
    assert before.without("a").with_text("a", item.text, item.place, item.within).data == text.encode()


def test_a_note_below_an_item_goes_and_comes_with_it() -> None:
    text = "- id: a\n  x: 1\n  # about a\n# about b\n- id: b\n"
    one, other = read(text).items
    assert one.text == "- id: a\n  x: 1\n  # about a\n"
    assert other.text == "# about b\n- id: b\n"
    assert read(text).without("a").text == other.text
    assert read(other.text).with_text("a", one.text, 0).text == text
    assert read(text).with_config("a", {"x": 2}).text == text.replace("x: 1", "x: 2")


def test_one_of_a_file_that_others_changed_since_comes_to_its_number() -> None:
    item = read("- id: a\n  # about a\n- id: b\n").items[0]
    now = read("# new\n\n- id: b\n  x: 2\n")
    assert now.with_text("a", item.text, 0, item.within).text == "# new\n- id: a\n  # about a\n\n- id: b\n  x: 2\n"


@pytest.mark.parametrize(
    "text", ["", "[]\n", "# nothing yet\n", "---\n", "\ufeff[]", "~\n", "{}\n", "--- []\n", "\r\n"]
)
def test_the_first_one_of_a_file_without_any(text: str) -> None:
    one = read(text).with_config("a", ASKED)
    assert [item.config for item in one.items] == [{"id": "a", **ASKED}]
    assert one.without("a").items == ()


@pytest.mark.parametrize(("before", "now"), [
    pytest.param("  - id: a\n    # c\n    x: |\n      y\n\n       z\n  - id: b\n", "- id: b\n", id="to the left"),
    pytest.param("- id: a\n  # c\n  x: |\n    y\n\n     z\n- id: b\n", "    - id: b\n", id="to the right"),
])  # fmt: skip
def test_a_text_is_put_back_where_the_others_stand_now(before: str, now: str) -> None:
    item = read(before).items[0]
    back = read(now).with_text("a", item.text, 0)
    assert [one.config for one in back.items] == [item.config, {"id": "b"}]


def test_a_text_without_a_newline_is_put_back_before_others() -> None:
    now = read("- id: a\n  x: 1\n- id: b")
    assert now.with_text("a", "- id: a", 0).text == "- id: a\n- id: b"
    assert read("- id: b").with_text("a", "- id: a", 0).text == "- id: a\n- id: b"


def test_without_the_last_one_the_file_is_an_empty_list() -> None:
    assert read("# head\n\n- id: a\n# end\n").without("a").text == "# head\n[]\n# end\n"


def test_the_first_one_takes_the_place_of_the_empty_list() -> None:
    assert read("[]\n# end\n").with_config("a", {}).text == "- id: a\n# end\n"


@pytest.mark.parametrize("text", ["# head\n", "# head", "# head\n[]\n# end\n"])
def test_a_comment_above_the_first_one_stays_when_that_is_deleted(text: str) -> None:
    written = read(text).with_config("a", {})
    assert written.text.startswith("# head\n\n- id: a\n")
    assert written.without("a").text.startswith("# head\n")


def test_a_file_without_a_newline_at_its_end() -> None:
    assert read("- id: a").with_config("b", {}).text == "- id: a\n- id: b\n"
    assert read("- id: a").with_config("a", {"alias": "x"}).text == "- id: a\n  alias: x"


@pytest.mark.parametrize("text", [
    pytest.param("  - id: a\n    alias: A\n", id="indented"),
    pytest.param("- id: a\r\n  alias: A\r\n", id="CRLF"),
    pytest.param("\ufeff- id: a\n", id="byte order mark"),
    pytest.param("---\n- id: a\n", id="document"),
    pytest.param("- id: a\n  # inner\n\n\n# end\n", id="comments"),
    pytest.param("- id: a\n  # ä ö \U0001f600\n  alias: ü\n", id="more than ASCII"),
    pytest.param("- id: a\r  alias: A\r", id="old line breaks"),
    pytest.param("- id: a\n  alias: 'A\u2028B'\n", id="other line breaks"),
])  # fmt: skip
def test_what_was_there_stays_to_the_byte(text: str) -> None:
    before, after = text.encode(), read(text).with_config("b", ASKED).data
    start = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), len(before))
    assert after.endswith(before[start:])
    assert [item.config for item in read_text(after).items[1:]] == [{"id": "b", **ASKED}]


def test_new_lines_are_as_those_of_the_file() -> None:
    assert read("  - id: a\r\n").with_config("b", {"alias": "x"}).text == "  - id: a\r\n  - id: b\r\n    alias: x\r\n"


def test_a_change_keeps_the_order_of_the_keys() -> None:
    assert list(read("").with_config("a", {"z": 1, "b": 2}).items[0].config) == ["id", "z", "b"]


HARD = [
    "on", "08:00", "21:30", "!secret x", "!include y", "!env_var z", "null", "~", "", " ", "1e3", "0x1F", "yes", "=", "<<", "# no",
    "- id: evil", "a: b", "x: null\ny", "x: null\n", "\n", "\n- id: evil\n", "one\ntwo\n\n three \n", "tab\tend", "{{ '%s' }}", "*a",
    "&a", "@x", "`x`", "%YAML", "---", "...", "'\"'", "\r\n", "ä\u2028b", "\x85", "\ufeffx", "\x07", "very " * 60, "x" * 300, "\U0001f600",
]  # fmt: skip


@pytest.mark.parametrize("value", HARD)
@pytest.mark.parametrize("text", ["- id: a\n", "   - id: a\r\n   # end\r\n"], ids=["plain", "indented"])
def test_texts_come_back_exactly(value: str, text: str) -> None:
    one = read(text).with_config("b", {"alias": value, "variables": {value: [value, {"x": value}]}})
    assert [item.id for item in one.items] == ["a", "b"]
    assert read_text(one.data).items[1].config == {
        "id": "b",
        "alias": value,
        "variables": {value: [value, {"x": value}]},
    }


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc: #-!&*\n", max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(value=VALUES)
@settings(max_examples=150, deadline=None)
def test_any_value_comes_back_exactly(value: object) -> None:
    one = read(HOUSE).with_config("2", {"variables": {"x": value}})
    assert one.items[1].config["variables"] == {"x": value}
    assert texts(one)[2:] == texts(read(HOUSE))[2:]


@given(value=VALUES, name=st.sampled_from(["alias", "triggers", "mode", "new"]))
@settings(max_examples=150, deadline=None)
def test_any_value_of_one_key_leaves_the_others(value: object, name: str) -> None:
    one = read(EDITED).with_config("a", {**PARTS, name: value})
    assert one.items[0].config == {**PARTS, name: value}
    assert (
        "  # what it does\n  actions:\n    - action: test.tell\n      data: {message: !secret greeting}\n" in one.text
    )


def test_a_value_that_is_there_twice_is_written_twice() -> None:
    shared = ["x"]
    assert "&" not in read("").with_config("a", {"x": shared, "y": shared}).text


@pytest.mark.parametrize("value", [object(), {1, 2}, "\ud800"], ids=["an object", "a set", "half a character"])
def test_what_yaml_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(ToolError) as caught:
        read("- id: a\n").with_config("b", {"x": value})
    assert caught.value.translation_key == "automation_file_inexact"


def test_a_value_within_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(ToolError) as caught:
        read("").with_config("b", {"x": endless})
    assert caught.value.translation_key == "automation_file_inexact"


@pytest.mark.parametrize("text", [
    pytest.param("- id: b\n- id: c\n", id="two items"),
    pytest.param("- id: c\n", id="another id"),
    pytest.param("id: b\n", id="no item"),
    pytest.param("- id: b\n  x: *y\n", id="an alias to nothing"),
    pytest.param("- id: b\n  x: [\n", id="an open bracket"),
    pytest.param("# only a comment\n", id="a comment"),
    pytest.param("- id: b\n...\n", id="the end of the document"),
])  # fmt: skip
def test_a_text_that_is_not_exactly_the_automation_is_refused(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        read("- id: a\n-   id: d\n").with_text("b", text, 1)
    assert caught.value.translation_key == "automation_file_inexact"


# What cannot be read


@pytest.mark.parametrize(("text", "key"), [
    pytest.param("automation:\n  - id: a\n", "automation_file_not_list", id="a mapping"),
    pytest.param("text\n", "automation_file_not_list", id="a text"),
    pytest.param("!include x.yaml\n", "automation_file_not_list", id="an include"),
    pytest.param("[{id: a}]\n", "automation_file_flow", id="in brackets"),
    pytest.param("- id: a\n  x: [\n", "automation_file_broken", id="open bracket"),
    pytest.param("- id: a\n---\n- id: b\n", "automation_file_broken", id="two documents"),
    pytest.param("- id: a\n  x: *nothing\n", "automation_file_broken", id="an alias to nothing"),
    pytest.param("- &a [*a]\n", "automation_file_broken", id="contains itself"),
    pytest.param("- {[]: 1}\n", "automation_file_broken", id="a list as key"),
    pytest.param(f"- id: a\n  x: {'9' * 5000}\n", "automation_file_broken", id="a number without end"),
    pytest.param("- " + "[" * 20_000, "automation_file_broken", id="deep"),
    pytest.param(b"- id: \xff\n", "automation_file_broken", id="not UTF-8"),
    pytest.param("-\n" * 5001, "automation_file_too_many", id="too many"),
    pytest.param("#" * 5_000_001, "automation_file_too_big", id="too big"),
])  # fmt: skip
def test_a_file_that_cannot_be_changed(text: str | bytes, key: str) -> None:
    assert refusal(text) == key


def test_aliases_that_multiply_are_refused() -> None:
    lines = [f"  x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert refusal("- id: a\n  x0: &x0 [1]\n" + "\n".join(lines) + "\n") == "automation_file_broken"


def test_a_broken_file_is_told_with_its_line_and_without_its_text() -> None:
    with pytest.raises(ToolError) as caught:
        read("- id: a\n  code: 'hunter2\n")
    detail = (caught.value.translation_placeholders or {})["detail"]
    assert "line" in detail
    assert "hunter2" not in detail


def test_a_broken_value_is_not_told() -> None:
    with pytest.raises(ToolError) as caught:
        read("- id: a\n  code: !!int hunter2\n")
    assert caught.value.translation_placeholders == {"detail": "YAML"}


def test_two_with_one_id_are_refused_and_the_others_are_not() -> None:
    one = read("- id: a\n- id: a\n- id: b\n")
    assert one.item("b") is not None
    with pytest.raises(ToolError) as caught:
        one.item("a")
    assert caught.value.translation_key == "automation_file_duplicate"


def test_a_full_file_takes_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file, "MAX_ITEMS", 1)
    with pytest.raises(ToolError) as caught:
        read("- id: a\n").with_config("b", {})
    assert caught.value.translation_key == "automation_file_too_many"


def test_another_loader_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = read(HOUSE)
    monkeypatch.setattr(nodes, "_Loader", yaml.SafeLoader)
    assert read(HOUSE) == fast
