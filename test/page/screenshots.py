# SPDX-License-Identifier: Apache-2.0
"""Pictures of each page, light and dark, wide and narrow: python3 -B test/page/screenshots.py FOLDER. Looked at by people; docs/pages
keeps some."""
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import weir_program
from browser import Browser, Partition, take_control, until, until_text


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    work = tempfile.mkdtemp(prefix="weir-pictures-")
    sizes = pathlib.Path(work) / "sizes.py"
    sizes.write_text((pathlib.Path(__file__).resolve().parents[2] / "docs/monitors.md").read_text().split("<!-- test: sizes.py -->\n```python\n")[1].split("```")[0])
    contact = lambda text: text.replace('name = "generator"', 'name = "testbeam"\ncontact = "DAQ on call, 16-4711"') + f'\n[monitor.sizes]\nmonitor = "{sizes}"\n'
    with Partition(work, change=contact) as partition:
        browser = Browser()
        weir_program.run("run", "start", "--dir", partition.directory, "--comment", "pedestals", "--parameter", "beam=off", timeout=200)
        time.sleep(4)
        weir_program.run("run", "stop", "--dir", partition.directory, "--reason", "enough", timeout=200)
        weir_program.run("run", "start", "--dir", partition.directory, "--comment", "muons, 120 GeV, table at 12 mm", "--parameter", "beam=on", "--parameter", "energy=120 GeV", timeout=200)
        time.sleep(20)
        weir_program.run("run", "mask", "0x420003", "--person", "bob", "--dir", partition.directory)
        page = browser.page(partition.address)
        take_control(page, "ann")

        def pictures(name, **more):
            for dark in (False, True):
                for width, height in ((1280, 900), (390, 844)):
                    shot = browser.page(f"{partition.address}/#{more.get('hash', name)}", width, height, dark)
                    until_text(shot, "#age", "live")
                    if name == "event":
                        shot.get_by_role("button", name="Next event").click()
                        until_text(shot, "main", "sub-detector")
                    time.sleep(2.5)
                    shot.screenshot(path=folder / f"{name}-{'dark' if dark else 'light'}-{width}.png", full_page=width == 390)
                    shot.context.close()

        pictures("partition")
        page.screenshot(path=folder / "control-light-1280.png", full_page=True)
        pictures("wall")
        pid = next(s["pid"] for s in __import__("json").loads(page.evaluate("() => fetch('/partition').then((a) => a.text())"))["stations"] if s["name"] == "sfi-1")
        os.kill(pid, signal.SIGKILL)
        until_text(page, ".troubles", "sfi-1 died")
        pictures("trouble", hash="partition")
        for name in ("alarms", "files", "event", "runs", "log"):
            pictures(name)
        pictures("run", hash="runs/1")
        pictures("histograms", hash="histograms/sizes/where")
        partition.signal(signal.SIGSTOP)
        until_text(page, "#age", "STALE")
        page.screenshot(path=folder / "stale-light-1280.png")
        partition.signal(signal.SIGCONT)
        browser.close()
        partition.stop()
    shutil.rmtree(work)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
