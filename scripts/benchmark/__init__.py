"""Measures Home Agent next to the agents that ship with Home Assistant; see docs/performance/bench.md."""
