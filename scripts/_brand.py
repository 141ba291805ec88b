"""Render the brand images of the integration from docs/brand/icon.svg, with Chromium: `.venv/bin/python -m scripts._brand`."""

from pathlib import Path
import shutil

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "custom_components" / "home_agent" / "brand"
ICON = (ROOT / "docs" / "brand" / "icon.svg").read_text()
LOGO = """
<div style="display: flex; align-items: center; gap: 26px; height: 128px; padding-right: 6px; color: {colour};
  font: 600 76px 'Inter', 'DejaVu Sans', sans-serif; letter-spacing: -1px; white-space: nowrap">
  <div style="width: 128px; height: 128px">{icon}</div><span>Home Agent</span>
</div>
"""


def render(page: Page, content: str, name: str) -> None:
    """Write one image of the content, cut to it, on a transparent background."""
    page.set_content(
        f"<style>body {{ margin: 0 }} svg {{ width: 100%; height: 100%; display: block }}</style>{content}"
    )
    page.locator("body > *").last.screenshot(path=TARGET / name, omit_background=True)


def main() -> None:
    """Render everything, in single and double size."""
    logos = {"logo": "#1f2937", "dark_logo": "#f3f4f6"}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for suffix, scale in (("", 1), ("@2x", 2)):
            page = browser.new_page(device_scale_factor=scale)
            render(page, f'<div style="width: 256px; height: 256px">{ICON}</div>', f"icon{suffix}.png")
            for name, colour in logos.items():
                logo = LOGO.format(icon=ICON, colour=colour).replace("<div", '<div class="logo"', 1)
                render(page, f'<div style="width: max-content">{logo}</div>', f"{name}{suffix}.png")
        browser.close()


if __name__ == "__main__":
    main()
