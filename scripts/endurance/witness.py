"""What the home of wishes and who watches it have in common: files and names. Nothing of Home Assistant is imported for it."""

STATES, WITNESS = "states.json", "witness.log"
"""The states that the home begins with, and what happened to its lamps."""


def lamp(number: int) -> str:
    """Return the lamp of a wish."""
    return f"light.lamp_{number}"


def sensor(number: int) -> str:
    """Return what a wish waits for, or looks at."""
    return f"binary_sensor.sensor_{number}"
