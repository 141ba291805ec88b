"""The conversation of the demo."""

from scripts._conversation import CONVERSATION, GONE


def test_the_demo_leaves_the_doors_locked() -> None:
    states: dict[str, str] = {}
    for line in CONVERSATION:
        states |= line.changes
        states |= line.reply.changes if line.reply else {}
    assert {state for key, state in states.items() if key.startswith("lock.")} == {"locked"}


def test_the_demo_leaves_no_automation() -> None:
    states: dict[str, str] = {}
    for line in CONVERSATION:
        states |= line.changes
        states |= line.reply.changes if line.reply else {}
    assert {state for key, state in states.items() if key.startswith("automation.")} == {GONE}
