"""The command line of scripts/endure."""

import argparse
import asyncio
import sys

from .kills import HOMES, KILLS, kill_often


def main() -> int:
    """Run what was asked for; return 0 if nothing was lost or left behind."""
    parser = argparse.ArgumentParser(prog="scripts/endure", description="Shows that Home Agent holds.")
    commands = parser.add_subparsers(dest="command", required=True)
    kills = commands.add_parser(
        "kills", help="kill a real Home Assistant under load, and look for what was acknowledged"
    )
    kills.add_argument("--kills", type=int, default=KILLS, help=f"({KILLS})")
    kills.add_argument("--homes", type=int, default=HOMES, help=f"how many run at once ({HOMES})")
    kills.add_argument("--seed", type=int, default=0, help="of the moments and of what is said (0)")
    chosen = parser.parse_args()
    report = asyncio.run(kill_often(chosen.kills, chosen.homes, chosen.seed))
    return 0 if report.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
