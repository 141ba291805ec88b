"""The command line of scripts/endure."""

import argparse
import asyncio
from pathlib import Path
import sys
import tempfile

from scripts.benchmark import clock

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run what was asked for; return 0 if nothing was lost or left behind."""
    parser = argparse.ArgumentParser(prog="scripts/endure", description="Shows that Home Agent holds.")
    commands = parser.add_subparsers(dest="command", required=True)
    kills = commands.add_parser(
        "kills", help="kill a real Home Assistant under load, and look for what was acknowledged"
    )
    kills.add_argument("--kills", type=int, default=300, help="(300)")
    kills.add_argument("--homes", type=int, default=2, help="how many run at once (2)")
    kills.add_argument("--seed", type=int, default=0, help="of the moments and of what is said (0)")
    wishes = commands.add_parser(
        "wishes", help="kill a home in which wishes wait; each happens once, or it is told why not"
    )
    wishes.add_argument("--wishes", type=int, default=300, help="(300)")
    wishes.add_argument("--kills", type=int, default=50, help="(50)")
    wishes.add_argument("--seed", type=int, default=0, help="of the wishes and of the moments (0)")
    reloads = commands.add_parser("reloads", help="reload in the middle of turns, and count what is left of them")
    reloads.add_argument("--reloads", type=int, default=200, help="(200)")
    soak = commands.add_parser("soak", help="hold thousands of turns, and count what is left of them")
    soak.add_argument("--turns", type=int, default=5_000, help="(5000)")
    chosen = parser.parse_args()
    if chosen.command == "kills":
        from .kills import kill_often

        return 0 if asyncio.run(kill_often(chosen.kills, chosen.homes, chosen.seed)).is_good else 1
    if chosen.command == "wishes":
        from .wishes import kill_wishes

        return 0 if asyncio.run(kill_wishes(chosen.wishes, chosen.kills, chosen.seed)).is_good else 1
    clock.install()
    clock.install_timers()
    # only now: most of Home Assistant takes the time functions by name
    from homeassistant import runner

    from .lasting import reload_often, talk_long

    loop = runner.create_event_loop()
    asyncio.set_event_loop(loop)
    with tempfile.TemporaryDirectory(prefix="home-agent-endurance-") as root:
        (folder := Path(root) / "home").mkdir()
        (folder / "custom_components").symlink_to(ROOT / "custom_components")
        run = reload_often(folder, chosen.reloads) if chosen.command == "reloads" else talk_long(folder, chosen.turns)
        return 0 if loop.run_until_complete(run) else 1


if __name__ == "__main__":
    sys.exit(main())
