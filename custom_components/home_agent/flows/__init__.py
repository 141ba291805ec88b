"""The forms: what they ask, what they check and what they store. `config_flow.py` only strings them together."""
