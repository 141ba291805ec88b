"""An extension of a folder: what it is made of. No Home Assistant is needed to read it."""

DOORS = """
tools:
  - name: DOORS_GET_STATE
    summary: Tells which doors are locked.
    example: Is the front door locked?
    alias: ha_query
  - name: DOORS_UPDATE_LOCK
    summary: Locks a door.
    example: Lock the front door.
    alias: ha_control
    arguments: {action: turn_on}
    domains: [lock]
  - name: DOORS_ACTION_UNLOCK
    summary: Unlocks a door.
    example: Let me in.
    alias: ha_control
    arguments: {action: turn_off}
    domains: [lock]
"""
"""The tools of a folder of an owner, for what the home has already."""
