"""Automations of Home Assistant: read, looked up, checked, written, replayed, told in words, looked after."""
