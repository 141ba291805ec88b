"""What Home Agent has to endure: kills, reloads in the middle of turns, thousands of turns. See scripts/endure."""
