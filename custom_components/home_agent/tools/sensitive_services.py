"""Actions that need the owner's yes whatever they act on: they stop, delete, spend, or reach people."""

import re

_DOMAINS = frozenset(
    {
        "alexa_devices", "backup", "conversation", "downloader", "hassio", "home_agent", "mqtt", "notify", "pyscript",
        "python_script", "rest_command", "shell_command", "telegram_bot", "update", "zwave_js",
    }
)  # fmt: skip
"""Every action of these: the machine and its updates, programs and requests of the owner's, messages to people and networks."""
_ACTIONS = frozenset(
    {
        ("device_tracker", "see"), ("homeassistant", "set_location"), ("homeassistant", "stop"), ("recorder", "disable"),
        ("scene", "apply"), ("scene", "create"), ("shopping_list", "clear_completed_items"), ("zha", "permit"),
    }
)  # fmt: skip
_VERBS = re.compile(
    r"(?:.*_)?(?:call|delete|erase|purge|purchase|order|reboot|reload|remove|reset|restart|send|shutdown|uninstall|wipe)(?:_.*)?"
)
"""What no action is called that could be taken back, or that stays in the house."""
_KEYS_OF_DOORS = re.compile(r"(?!get_).*(?:credential|lock_user|user_?code).*")
"""Who can open a lock from now on."""
_HARMLESS = frozenset(
    {
        ("counter", "reset"), ("remote", "send_command"), ("timer", "restart"), ("vacuum", "send_command"),
        ("wake_on_lan", "send_magic_packet"),
    }
)  # fmt: skip


def is_sensitive_service(domain: str, service: str) -> bool:
    """Return whether an action needs the owner's yes by its name alone."""
    if (domain, service) in _HARMLESS:
        return False
    if domain in _DOMAINS or (domain, service) in _ACTIONS:
        return True
    return any(names.fullmatch(service) for names in (_VERBS, _KEYS_OF_DOORS))
