# SPDX-License-Identifier: Apache-2.0
"""A real browser for the tests of the page: Debian's Chromium, driven by Playwright, which is installed once in the build folder.
A test that imports this is run again by the Python that has Playwright. Where either cannot be had, the test is skipped, and that
is reported; in CI it fails."""
import os
import pathlib
import shutil
import sys
import unittest

import python_venv
from weir_process import Process, wait_until
from weir_program import PROGRAM, SKIPPED

REQUIREMENT = "axe-playwright-python==0.1.8"  # with Playwright itself
ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "examples" / "generator.toml"


def absent(why):
    print(f"NOT TESTED: the page in a browser: {why}", file=sys.stderr)
    sys.exit(1 if os.environ.get("CI") else SKIPPED)


CHROMIUM = shutil.which("chromium") or absent("there is no chromium; tools/setup --dev installs it")
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    try:
        python = python_venv.python_with(REQUIREMENT, "axe_playwright_python", PROGRAM)
    except unittest.SkipTest as why:
        absent(why)
    os.execv(python, [str(python), "-B", *sys.argv])


class Browser:
    """Chromium with nothing open yet. What a page complains of is kept: errors of scripts, dialogs, what it may not load."""

    def __init__(self):
        self.playwright = sync_playwright().start()
        self.chromium = self.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        self.complaints = []

    def page(self, address, width=1280, height=900, dark=False, context=None):
        context = context or self.context(width, height, dark)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error} {error.stack}"))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda line: self._heard(line))
        page.goto(address)
        return page

    def context(self, width=1280, height=900, dark=False, **more):
        return self.chromium.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **more)

    def _heard(self, line):
        refused = "the server responded with a status of 4" in line.text  # a refused command is an answer
        if line.type == "error" and not refused and "ERR_CONNECTION" not in line.text and "ERR_TIMED_OUT" not in line.text:
            self.complaints.append(f"console: {line.text}")

    def close(self):
        self.chromium.close()
        self.playwright.stop()


class Partition(Process):
    """`weir run --wait` of the example with made events."""

    def __init__(self, folder, *arguments, text=None, change=lambda text: text):
        self.directory = pathlib.Path(folder) / "D"
        file = pathlib.Path(folder) / "generator.toml"
        file.write_text(change(text or GENERATOR.read_text().replace("rate = 1000 ", "rate = 200 ")))
        super().__init__(folder, "run", file, "--dir", self.directory, "--wait", *arguments)
        self.address = self.printed(r"run control is at (http://\S+) ").group(1)


def until(page, script, what, argument=None, within=120):
    """Waits in the browser, in which nothing is polled slower than it is drawn; returns the seconds that it took."""
    import time
    begun = time.monotonic()
    try:
        page.wait_for_function(script, arg=argument, timeout=within * 1000)
    except Exception as late:
        raise AssertionError(f"{what}; the page shows:\n{page.inner_text('body')[:3000]}") from late
    return time.monotonic() - begun


def until_text(page, selector, text, within=120):
    return until(page, "([selector, text]) => document.querySelector(selector)?.textContent.includes(text)",
                 f"no {text!r} in {selector}", [selector, text], within)


def take_control(page, name):
    page.get_by_role("button", name="Take control").click()
    page.get_by_label("Your name").fill(name)
    page.get_by_role("dialog").get_by_role("button", name="Take control").click()
    until_text(page, "#holder", f"You ({name})")
