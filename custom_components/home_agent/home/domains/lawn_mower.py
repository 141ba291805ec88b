"""Lawn mowers."""

from homeassistant.components.lawn_mower.const import LawnMowerEntityFeature

from ..domain import Action, Domain, Logged, at, is_in

DOMAINS = {
    "lawn_mower": Domain(
        actions={
            "start_mowing": Action("start_mowing", LawnMowerEntityFeature.START_MOWING),
            "pause": Action("pause", LawnMowerEntityFeature.PAUSE),
            "dock": Action("dock", LawnMowerEntityFeature.DOCK),
        },
        on=("start_mowing",),
        off=("dock",),
        is_on=is_in("mowing"),
        words={
            **dict.fromkeys(("start", "mow", "resume"), "start_mowing"),
            "return_to_base": "dock",
            "stop": "pause",
        },
        logged=Logged.BY_USER,
        goals={"start_mowing": at("mowing"), "pause": at("paused"), "dock": at("docked", under_way=("returning",))},
        back={"docked": "dock", "returning": "dock", "paused": "pause", "mowing": "start_mowing"},
    ),
}
