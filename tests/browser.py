"""A real browser to look at pages with: Debian's chromium and chromedriver, or whatever of that name is on PATH.

Screenshots for the docs are taken with it, from the folder of the tests:

    from browser import Browser
    with Browser() as browser:
        browser.screenshot(Path("report.html"), Path("phone.png"), width=360, scheme="dark")
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import selenium.webdriver

PROGRAMS = (("chromium", "chromium-browser", "google-chrome"), ("chromedriver",))
ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
Scheme = Literal["light", "dark"]


def missing() -> str:
    """Why there is no browser to drive, or nothing."""
    lacking = [names[0] for names in PROGRAMS if not any(map(shutil.which, names))]
    return f"no browser: {' and '.join(lacking)} not found" if lacking else ""


def _program(names: tuple[str, ...]) -> str:
    return next(path for name in names if (path := shutil.which(name)))


class Browser:
    """One headless browser with a profile of its own, as a context manager. ``driver`` is Selenium's."""

    def __enter__(self) -> Browser:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        options = selenium.webdriver.ChromeOptions()
        browser, driver = map(_program, PROGRAMS)
        options.binary_location = browser
        for argument in (*ARGUMENTS, f"--user-data-dir={self._profile.name}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = selenium.webdriver.Chrome(options, selenium.webdriver.ChromeService(driver))
        self.driver.get("about:blank")
        self.requests()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.driver.quit()
        self._profile.cleanup()

    def open(
        self,
        page: Path,
        fragment: str = "",
        *,
        width: int = 1280,
        height: int = 900,
        scheme: Scheme = "light",
        media: str = "screen",
    ) -> None:
        """Load ``page`` afresh in a window of this size, in CSS pixels."""
        about = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self._tell("Emulation.setDeviceMetricsOverride", **about)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._tell("Emulation.setEmulatedMedia", media=media, features=features)
        self.driver.get("about:blank")
        self.driver.get(page.resolve().as_uri() + fragment)

    def screenshot(self, page: Path, png: Path, *, fragment: str = "", whole: bool = False, **how: Any) -> None:
        """Load ``page`` (``how``: see `open`) and take a picture of what the window shows, or of the ``whole`` page."""
        self.open(page, fragment, **how)
        taken = self._tell("Page.captureScreenshot", captureBeyondViewport=whole)
        png.write_bytes(base64.b64decode(taken["data"]))

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of the JavaScript expression ``script``, with ``arguments`` as ``arguments``."""
        return self.driver.execute_script(f"return ({script}\n)", *arguments)

    def console(self) -> list[str]:
        """What the console has said since it was last asked, in the words of warnings and errors."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """The addresses that have been asked for since this was last asked."""
        sent = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [each["params"]["request"]["url"] for each in sent if each["method"] == "Network.requestWillBeSent"]

    def _tell(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)
