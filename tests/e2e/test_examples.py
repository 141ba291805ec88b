"""The examples of the documents, in a real Home Assistant: all are accepted, and those that the demo's devices can show are run."""

from pathlib import Path
import textwrap

from tests.docs.pages import FENCE, ROOT

from .harness import Hass
from .house import add_home_agent, furnish, reset

EXAMPLES = [
    match[2]
    for match in FENCE.finditer((ROOT / "docs" / "EXAMPLES.md").read_text(encoding="utf-8"))
    if match[1] == "yaml"
]


def configured(folder: Path) -> int:
    """Write the examples into the configuration; return how many automations there are."""
    automations = [example for example in EXAMPLES if "triggers:" in example]
    [script] = [example for example in EXAMPLES if "sequence:" in example]
    items = "".join("  - " + textwrap.indent(one, "    ").lstrip() for one in automations)
    file = folder / "configuration.yaml"
    known = file.read_text(encoding="utf-8").replace(
        "input_number:\n", "input_number:\n  average_of_the_night: {min: 0, max: 100, step: 0.1}\n"
    )
    file.write_text(
        f"{known}\nautomation examples:\n{items}\nscript examples:\n  ask:\n{textwrap.indent(script, '    ')}",
        encoding="utf-8",
    )
    return len(automations)


async def test_examples_run(tmp_path: Path) -> None:
    async with Hass(tmp_path).running() as hass:
        await furnish(hass)
        await add_home_agent(hass)
        await run(hass)


async def run(hass: Hass) -> None:
    """Restart with the examples, and use them."""
    count = configured(hass.process.folder)
    await hass.restart()
    await reset(hass)
    automations = {key: state for key, state in (await hass.states()).items() if key.startswith("automation.")}
    assert len(automations) == count > 8
    assert set(automations.values()) == {"on"}

    # the average of what was recorded
    before = await hass.state("input_number.average_of_the_night")
    await hass.call("automation.trigger", "automation.note_the_average_of_the_night", skip_condition=True)
    await hass.wait_for("input_number.average_of_the_night", await hass.state("sensor.outside_temperature"))
    assert before != await hass.state("input_number.average_of_the_night")

    # the button on a dashboard
    answer = await hass.call_for_response("script.ask", question="Is the bed light on?")
    assert answer == {"answer": "Yes"}

    # the diary
    async with (await hass.socket()).subscribe("subscribe_events", event_type="logbook_entry") as entries:
        await hass.call_for_response(
            "home_agent.execute_tool",
            tool_name="ha_control",
            parameters={"action": "turn_on", "entity_id": "light.kitchen_lights"},
        )
        entry = (await entries.get())["data"]
    assert entry["message"] == "did turn_on on light.kitchen_lights"
