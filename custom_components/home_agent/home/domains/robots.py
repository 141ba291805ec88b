"""Robots that clean or mow."""

from homeassistant.components.lawn_mower.const import LawnMowerEntityFeature
from homeassistant.components.vacuum.const import VacuumEntityFeature

from ..domain import Action, Domain, Logged
from ..parameters import choice
from ..records import at, away_from, features_as_words, is_in

DOMAINS = {
    "vacuum": Domain(
        actions={
            "start": Action("start", VacuumEntityFeature.START),
            "pause": Action("pause", VacuumEntityFeature.PAUSE),
            "stop": Action("stop", VacuumEntityFeature.STOP),
            "return_to_base": Action("return_to_base", VacuumEntityFeature.RETURN_HOME),
            "locate": Action("locate", VacuumEntityFeature.LOCATE),
            "clean_spot": Action("clean_spot", VacuumEntityFeature.CLEAN_SPOT),
            **choice("set_fan_speed", "fan_speed", "fan_speed_list", VacuumEntityFeature.FAN_SPEED),
        },
        on=("start",),
        off=("return_to_base", "stop"),
        is_on=is_in("cleaning"),
        values=("set_fan_speed",),
        value="fan_speed",
        aliases={"speed": "fan_speed"},
        words={
            **dict.fromkeys(("dock", "return", "return_home"), "return_to_base"),
            **dict.fromkeys(("clean", "resume"), "start"),
        },
        line=("battery_level", "fan_speed"),
        attributes=("fan_speed", "battery_level"),
        search_words=features_as_words(
            (VacuumEntityFeature.RETURN_HOME, "return to dock"),
            (VacuumEntityFeature.LOCATE, "locate"),
            (VacuumEntityFeature.FAN_SPEED, "fan speed"),
        ),
        rank=8,
        logged=Logged.ALWAYS,
        goals={
            "start": at("cleaning"),
            "clean_spot": at("cleaning"),
            "pause": away_from("cleaning"),
            "stop": away_from("cleaning"),
            "return_to_base": at("docked", under_way=("returning",)),
        },
        kept=("fan_speed",),
        back={"docked": "return_to_base", "returning": "return_to_base", "paused": "pause", "cleaning": "start"},
        harmless=frozenset({"send_command"}),
        wary=lambda _state, service, _data: service == "send_command",
        becomes={**dict.fromkeys(("running", "on"), ("cleaning",)), **dict.fromkeys(("docked", "done"), ("docked",))},
    ),
    "lawn_mower": Domain(
        actions={
            "start_mowing": Action("start_mowing", LawnMowerEntityFeature.START_MOWING),
            "pause": Action("pause", LawnMowerEntityFeature.PAUSE),
            "dock": Action("dock", LawnMowerEntityFeature.DOCK),
        },
        on=("start_mowing",),
        off=("dock",),
        is_on=is_in("mowing"),
        words={**dict.fromkeys(("start", "mow", "resume"), "start_mowing"), "return_to_base": "dock", "stop": "pause"},
        logged=Logged.BY_USER,
        goals={"start_mowing": at("mowing"), "pause": at("paused"), "dock": at("docked", under_way=("returning",))},
        back={"docked": "dock", "returning": "dock", "paused": "pause", "mowing": "start_mowing"},
        becomes={**dict.fromkeys(("running", "on"), ("mowing",)), **dict.fromkeys(("docked", "done"), ("docked",))},
    ),
}
