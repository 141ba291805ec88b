"""Home Assistant's frontend in a headless Chromium, by what a person sees and presses.

Playwright's selectors see through open shadow roots: name the host, then the element, never a chain of hosts.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
import os
from pathlib import Path
import re
import shutil
from typing import Any, Self

from playwright.async_api import Locator, Page, async_playwright, expect

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync")  # fmt: skip
TIMEOUT = 20_000  # milliseconds; a page takes one second on a quiet machine
FIRST_PAGE_TIMEOUT = 60_000  # milliseconds; the frontend is compiled
expect.set_options(timeout=TIMEOUT)
_FLOW_STEP = re.compile(r"/api/(config/config_entries/(\w+/)?flow|repairs/issues/fix)/")


def chromium() -> str | None:
    """Return the browser: $CHROMIUM, or one that is installed."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


FRONTENDS_OWN = re.compile(
    r"Cannot access '\w+' before initialization"  # ha-assist-chat, where an agent answers at once; nothing is lost by it
    "|disconnected"  # a page that is left closes its socket, and what it still waited for on it is rejected
)
"""Errors that the pages of Home Assistant raise whatever integration they show."""
IS_DRAWN = """dialog => {
  const waits = root => [...root.querySelectorAll("*")].some(
    part => part.matches(":not(:defined)") || (part.shadowRoot && waits(part.shadowRoot)));
  return !waits(dialog.shadowRoot);
}"""
"""Whether all kinds of elements in a dialog have been loaded."""

HAS_STEPPED_BACK = "() => !history.state?.dialog"
"""Whether a dialog that was closed has stepped back in the history, which happens later and undoes a page opened before."""

IS_LISTENING = "chat => !chat._processing"
"""Whether the chat takes a message: it takes none before the last answer has ended."""


class Frontend:
    """One browser window."""

    def __init__(self, page: Page, url: str, shots: Path | None = None) -> None:
        """Watch a page; pictures go to `shots`."""
        self.page = page
        self.url = url
        self.problems: list[str] = []
        self.dialog = page.locator("dialog-data-entry-flow")  # of config, options and subentry flows alike
        self.chat = page.locator("ha-assist-chat")
        self._shots = shots
        page.on(
            "pageerror", lambda error: None if FRONTENDS_OWN.search(str(error)) else self.problems.append(str(error))
        )

    @classmethod
    @asynccontextmanager
    async def window(
        cls, url: str, shots: Path | None = None, *, language: str = "en", width: int = 1100
    ) -> AsyncGenerator[Self]:
        """Open a fresh browser, `width` pixels wide, for the length of a block."""
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS))
            context = await browser.new_context(
                locale={"en": "en-US", "de": "de-DE"}[language], viewport={"width": width, "height": 800}
            )
            context.set_default_timeout(TIMEOUT)
            try:
                yield cls(await context.new_page(), url, shots)
            finally:
                await browser.close()

    async def shot(self, name: str) -> None:
        """Keep a picture, when somebody wants pictures."""
        if self._shots:
            self._shots.mkdir(parents=True, exist_ok=True)
            await self.page.wait_for_timeout(700)  # animations end
            await self.page.screenshot(path=self._shots / f"{name}.png", scale="css")

    async def open(self, path: str) -> None:
        """Go to a page."""
        await self.page.goto(self.url + path)

    async def log_in(self, user: str, password: str) -> None:
        await self.open("/")
        await self.page.locator("input[name=username]").fill(user, timeout=FIRST_PAGE_TIMEOUT)
        await self.page.locator("input[name=password]").fill(password)
        await self.page.locator("input[name=password]").press("Enter")
        await self.page.locator("home-assistant-main").wait_for(timeout=FIRST_PAGE_TIMEOUT)

    # Configuring

    async def add_integration(self, name: str) -> None:
        """Settings > Devices & services > Add integration, and choose it; its first form is open then."""
        await self.open("/config/integrations/dashboard")
        await self.page.get_by_role("button", name="Add integration").click(timeout=FIRST_PAGE_TIMEOUT)
        chooser = self.page.locator("dialog-add-integration")
        await chooser.locator("ha-input-search input").fill(name)
        await chooser.locator("ha-integration-list-item", has_text=name).first.click()
        await self.dialog.locator("step-flow-form").wait_for()

    async def press(self, button: str) -> None:
        """Press a button on the page of the integration, "Add model" or the gear "Change agent"; wait for its form."""
        await self.open("/config/integrations/integration/home_agent")
        await self.page.get_by_role("button", name=button, exact=True).first.click(timeout=FIRST_PAGE_TIMEOUT)
        await self.dialog.locator("step-flow-form, step-flow-menu").wait_for()

    async def settings(self, topic: str) -> None:
        """Open one topic of the default settings."""
        await self.press("Configure")
        await self.page_of(topic)

    async def advanced(self, topic: str) -> None:
        """Open one topic of the default settings that stands under *Advanced*."""
        await self.press("Configure")
        await self.choose_next("Advanced")
        await self.page_of(topic)

    async def page_of(self, topic: str) -> None:
        """Choose a topic in the menu that is open."""
        await self.dialog.locator("step-flow-menu").get_by_text(topic, exact=True).click()
        await self.dialog.locator("step-flow-form").wait_for()

    async def done(self) -> None:
        """Leave the menu."""
        await self.dialog.locator("step-flow-menu").get_by_text("Done", exact=True).click()
        await self.finish()

    async def unfold(self, *sections: str) -> None:
        """Open sections of the form; without names, all of them."""
        await self._drawn()
        for panel in await self.dialog.locator("ha-expansion-panel").all():
            header = panel.locator("[slot=header]")
            folded = not await panel.evaluate("panel => panel.expanded")
            if folded and (not sections or (await header.inner_text()).strip() in sections):
                await header.click()

    async def _drawn(self) -> None:
        """Wait for the fields: the frontend loads each kind when it is first needed, and what is not there is not found."""
        await self.dialog.locator("step-flow-form ha-form").first.wait_for()
        await self.page.wait_for_function(IS_DRAWN, arg=await self.dialog.element_handle())

    async def fields(self) -> list[Locator]:
        """Return the fields of the form, those of folded sections too."""
        await self._drawn()
        return await self.dialog.locator("step-flow-form ha-form ha-selector").all()

    async def more(self, topic: str) -> None:
        """Send the first form of an agent with *More settings*, and open a topic."""
        await self.switch("More settings")
        assert (await self.submit())["type"] == "menu"
        await self.page_of(topic)

    async def save(self) -> dict[str, Any]:
        """Send the form of a topic, and save the agent; return what came of it."""
        assert (await self.submit())["type"] == "menu"
        return await self.choose_next("Save")

    async def clear(self, label: str) -> None:
        """Empty a field, by its button or by its text."""
        await self._drawn()
        [field] = [one for one in await self.fields() if await one.evaluate("one => one.label") == label]
        if await (editor := field.locator(".cm-content")).count():
            await editor.click()
            await self.page.keyboard.press("Control+a")
            await self.page.keyboard.press("Delete")
            return
        buttons = field.locator("ha-icon-button.clear, ha-input-chip [part=remove], ha-input-chip button.trailing")
        if not await buttons.count():
            await field.locator("input").last.fill("")
        while count := await buttons.count():
            await buttons.first.click()
            await expect(buttons).to_have_count(count - 1)

    async def choose(self, option: str) -> None:
        """Choose from a list of radio buttons in the form."""
        await self.dialog.get_by_text(option, exact=True).click()

    async def fill(self, key: str, value: str) -> None:
        await self.dialog.locator(f"input[name='{key}']").fill(value)

    async def add_text(self, label: str, value: str) -> None:
        """Add a line to a field that takes several texts."""
        field = self.dialog.locator("ha-input-multi", has_text=label).first
        await field.get_by_role("button", name="Add").click()
        await field.locator("input").last.fill(value)

    async def pick(self, label: str, value: str) -> None:
        """Pick from a drop-down field that can be searched; its list may still be moving when it is pressed."""
        field = self.dialog.locator("ha-selector", has_text=label).locator("ha-picker-field").first
        await field.click()
        await self.page.locator("ha-picker-combo-box input").fill(value)
        await self.page.locator("ha-picker-combo-box ha-combo-box-item", has_text=value).first.click()
        await expect(field).to_contain_text(value)

    async def select(self, label: str, option: str) -> None:
        await self._drawn()
        for field in await self.dialog.locator("ha-select").all():
            if await field.evaluate("field => field.label") == label:
                await field.locator("ha-picker-field").click()
                await field.locator("ha-dropdown-item").get_by_text(option, exact=True).click()
                return
        raise LookupError(label)

    async def switch(self, label: str) -> None:
        named = self.page.get_by_text(label, exact=True)
        await self.dialog.locator("ha-selector-boolean", has=named).locator("ha-switch").click()

    async def is_on(self, label: str) -> bool:
        """Return whether a switch shows that it is on."""
        named = self.page.get_by_text(label, exact=True)
        switch = self.dialog.locator("ha-selector-boolean", has=named).locator("ha-switch")
        return bool(await switch.evaluate("one => one.checked"))

    async def pick_entity(self, label: str, name: str) -> None:
        """Pick an entity by its name."""
        field = self.dialog.locator("ha-selector-entity", has_text=label).first
        await field.locator("ha-picker-field").last.click()
        await self.page.locator("ha-picker-combo-box input").fill(name)
        await self.page.locator("ha-picker-combo-box ha-combo-box-item", has_text=name).first.click()
        await expect(field).to_contain_text(name)

    async def submit(self) -> dict[str, Any]:
        """Send the form; return the step that follows."""

        def is_step(response: Any) -> bool:
            return response.request.method == "POST" and bool(_FLOW_STEP.search(response.url))

        async with self.page.expect_response(is_step) as sent:
            await self.dialog.get_by_role("button", name="Submit").click()
        step: dict[str, Any] = await (await sent.value).json()
        return step

    async def choose_next(self, option: str) -> dict[str, Any]:
        """Choose from a menu of the flow; return the step that follows."""

        def is_step(response: Any) -> bool:
            return response.request.method == "POST" and bool(_FLOW_STEP.search(response.url))

        async with self.page.expect_response(is_step) as sent:
            await self.dialog.locator("step-flow-menu").get_by_text(option, exact=True).click()
        step: dict[str, Any] = await (await sent.value).json()
        return step

    async def finish(self) -> None:
        """Close the last step ("Skip and finish" where the entry made devices)."""
        await self.dialog.get_by_role("button", name=re.compile("finish|fertig", re.IGNORECASE)).click()
        await self.dialog.locator("ha-dialog").wait_for(state="hidden")
        await self.page.wait_for_function(HAS_STEPPED_BACK)

    async def skip_check(self) -> None:
        """Send the check of the home that follows set-up without a sentence, and close it."""
        await self.fill("sentence", "")
        assert (await self.submit())["type"] == "create_entry"
        await self.finish()

    # The home

    async def more_info(self, entity_id: str) -> Locator:
        """Open the dialog of an entity; return where it says its state."""
        await self.open(f"/home/overview?more-info-entity-id={entity_id}")
        state = self.page.locator("ha-more-info-dialog ha-more-info-state-header p.state")
        await state.wait_for(timeout=FIRST_PAGE_TIMEOUT)
        return state

    # Talking

    async def open_assist(self, agent: str) -> None:
        """Open the dialog and choose the agent."""
        await self.open("/home/overview?conversation=1")
        await self.chat.wait_for(timeout=FIRST_PAGE_TIMEOUT)
        dialog = self.page.locator("ha-voice-command-dialog")
        await dialog.locator("ha-dropdown > ha-button").click()
        await dialog.locator("ha-dropdown-item", has_text=agent).click()
        await expect(dialog.locator("ha-dropdown > ha-button")).to_contain_text(agent)

    async def say(self, text: str, answer: str) -> None:
        """Send a message and wait for this answer; a streamed one grows, so it is its text that is waited for."""
        field = self.chat.locator("#message-input input")
        await field.fill(text)
        await self.page.wait_for_function(IS_LISTENING, arg=await self.chat.element_handle())
        await field.press("Enter")
        await expect(field).to_have_value("")
        await expect(self.answers.last).to_contain_text(answer, timeout=TIMEOUT)

    @property
    def answers(self) -> Locator:
        """What the agent said."""
        return self.chat.locator(".message.hass")
