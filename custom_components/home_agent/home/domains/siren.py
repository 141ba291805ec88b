"""Sirens."""

from homeassistant.components.siren.const import SirenEntityFeature

from ..domain import SWITCHED, Action, Domain, Field, Logged, has
from ..parameters import duration, fraction, option

DOMAINS = {
    "siren": Domain(
        actions={
            "turn_on": Action(
                "turn_on",
                SirenEntityFeature.TURN_ON,
                {
                    "tone": Field(option("available_tones"), has(SirenEntityFeature.TONES)),
                    "duration": Field(duration, has(SirenEntityFeature.DURATION)),
                    "volume_level": Field(fraction, has(SirenEntityFeature.VOLUME_SET)),
                },
            ),
            "turn_off": Action("turn_off", SirenEntityFeature.TURN_OFF),
            "toggle": Action("toggle", SirenEntityFeature.TURN_ON | SirenEntityFeature.TURN_OFF),
        },
        on=("turn_on",),
        off=("turn_off",),
        toggle=("toggle",),
        attributes=("tone",),
        logged=Logged.BY_USER,
        goals=SWITCHED,
        back={"off": "turn_off"},
    )
}
