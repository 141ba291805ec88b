"""What is kept of a call has no secret and nothing that was said."""

from custom_components.home_agent.safety.audit import MASK, MAX_TEXT, masked


def test_secrets_and_words_are_masked() -> None:
    parameters = {
        "entity_id": "alarm_control_panel.home",
        "code": "1234",
        "parameters": {"pin": 1, "message": "Call mum", "brightness": 3},
    }
    assert masked(parameters) == {
        "entity_id": "alarm_control_panel.home",
        "code": MASK,
        "parameters": {"pin": MASK, "message": MASK, "brightness": 3},
    }


def test_long_and_deep_values_are_cut() -> None:
    deep: dict[str, object] = {"a": 1}
    for _ in range(10):
        deep = {"a": deep, "list": list(range(100))}
    kept = str(masked({"x": "y" * 5000, "deep": deep}))
    assert len(kept) < 2 * MAX_TEXT + 1000
    assert "…" in kept
