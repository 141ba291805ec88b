"""Remote controls."""

from homeassistant.components.remote.const import RemoteEntityFeature

from ..domain import SWITCHED, SWITCHED_BACK, Action, Domain, Field, has, plain
from ..parameters import number, option, text
from ..tolerance import same

DOMAINS = {
    "remote": Domain(
        actions={
            "turn_on": Action(
                "turn_on",
                fields={
                    "activity": Field(
                        option("activity_list"), has(RemoteEntityFeature.ACTIVITY), shows=("current_activity", same)
                    )
                },
            ),
            **plain("turn_off", "toggle"),
            "send_command": Action(
                "send_command",
                fields={
                    "command": Field(text),
                    "device": Field(text),
                    "num_repeats": Field(number(1, 20, whole=True)),
                    "delay_secs": Field(number(0, 10)),
                    "hold_secs": Field(number(0, 10)),
                },
                required=("command",),
            ),
        },
        on=("turn_on",),
        off=("turn_off",),
        toggle=("toggle",),
        values=("turn_on", "send_command"),
        value="command",
        aliases={"source": "activity"},
        goals=SWITCHED,
        back=SWITCHED_BACK,
        harmless=frozenset({"send_command"}),
    )
}
