# SPDX-License-Identifier: Apache-2.0
"""page_load.py [STATIONS CLIENTS SECONDS]: what the page costs (100, 50, 20): the main thread of a browser that shows so many stations, run
control without and with so many clients that ask every second, and the data of a partition that goes as fast as it can, without and with those
clients in turn. Stations are simulated as in test/hosts/many_stations.py. Prints one line of JSON; `./run page` runs it."""
import json
import os
import pathlib
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "hosts")]
from browser import Browser, until_text  # noqa: E402
from many_stations import Partition, cpu_seconds, until  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = os.environ["WEIR_PROGRAM"]
REQUEST = b"GET /live HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n"


def ask_every_second(address, clients, seconds):
    """So many connections, each of which asks once a second, spread over it. In a process of its own; returns what was answered."""
    host, port = address.split(":")
    selector = selectors.DefaultSelector()
    sockets = []
    for i in range(clients):
        one = socket.create_connection((host, int(port)), source_address=(f"127.0.1.{1 + i % 5}", 0))  # browsers of several machines
        selector.register(one, selectors.EVENT_READ)
        sockets.append(one)
    answered = nbytes = step = 0
    begin = time.monotonic()
    while True:
        due = begin + step / clients
        wait = due - time.monotonic()
        if due - begin >= seconds:
            break
        for key, _ in selector.select(max(wait, 0)):
            got = key.fileobj.recv(1 << 20)
            if not got:
                sys.exit("run control closed a connection")
            nbytes += len(got)
            answered += got.count(b"HTTP/1.1 200 OK\r\n")
        if time.monotonic() >= due:
            one = sockets[step % clients]
            one.sendall(REQUEST)
            step += 1
    print(json.dumps({"asked": step, "answered": answered, "bytes": nbytes}))


class Clients:
    def __init__(self, address, clients, seconds):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, "ask", address, str(clients), str(seconds)], stdout=subprocess.PIPE, text=True)

    def answered(self):
        out, _ = self.process.communicate(timeout=300)
        return json.loads(out)


def simulated(stations, clients, seconds):
    with tempfile.TemporaryDirectory(prefix="weir-page-") as folder, Partition(pathlib.Path(folder), 10, stations) as partition:
        partition.until_runs()
        time.sleep(3)

        def cores(work=None):
            before, begin = cpu_seconds(partition.run.pid), time.monotonic()
            done = work() if work else time.sleep(seconds)
            return (cpu_seconds(partition.run.pid) - before) / (time.monotonic() - begin), done

        without, _ = cores()
        with_clients, asked = cores(lambda: Clients(partition.address, clients, seconds).answered())
        again, _ = cores()
        browser = Browser()
        try:
            page = browser.page(f"http://{partition.address}/")
            until_text(page, "main", "sfi-1")
            time.sleep(3)
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})

            def main_thread():
                return {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}

            before, begin = main_thread(), time.monotonic()
            heap = []
            for _ in range(seconds):
                time.sleep(1)
                heap.append(main_thread()["JSHeapUsedSize"])
            after, passed = main_thread(), time.monotonic() - begin
            busy = (after["TaskDuration"] - before["TaskDuration"]) / passed
            document = urllib.request.urlopen(f"http://{partition.address}/live", timeout=30).read()
        finally:
            browser.close()
        return {"stations": stations, "clients": clients, "browser_main_thread": round(busy, 4), "browser_heap_mb": round(max(heap) / 1e6, 1),
                "run_control_cores": {"without": [round(without, 4), round(again, 4)], "with_clients": round(with_clients, 4)},
                "live_bytes": len(document), **asked}


def full_rate(clients, windows, seconds):
    """Ratios of neighbouring windows: events recorded with clients over events recorded without."""
    with tempfile.TemporaryDirectory(prefix="weir-page-") as folder:
        file = pathlib.Path(folder) / "generator.toml"
        text = (ROOT / "examples" / "generator.toml").read_text()
        file.write_text(text.replace("rate = 1000 ", "rate = 0 "))
        run = subprocess.Popen([WEIR, "run", file, "--dir", f"{folder}/D", "--events", "2000000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            place = pathlib.Path(folder) / "D" / "run-control.json"
            address = until(lambda: place.exists() and json.loads(place.read_text())["control"], "run control answers")

            def recorded():
                with urllib.request.urlopen(f"http://{address}/partition", timeout=60) as answer:
                    return json.loads(answer.read())["events"]["recorded"]

            until(lambda: recorded() > 1000, "events are recorded")
            rates = []
            for window in range(windows):
                asking = Clients(address, clients, seconds) if window % 2 else None
                before, begin = recorded(), time.monotonic()
                time.sleep(seconds)
                rates.append((recorded() - before) / (time.monotonic() - begin))
                if asking:
                    asking.answered()
                time.sleep(0.5)
        finally:
            run.terminate()
            run.wait(120)
    ratios = [2 * rates[i] / (rates[i - 1] + rates[i + 1]) for i in range(1, windows - 1, 2)]
    return {"rate_hz": round(statistics.median(rates[::2])), "ratio_median": round(statistics.median(ratios), 4),
            "ratio_quartiles": [round(q, 4) for q in statistics.quantiles(ratios, n=4)[::2]], "pairs": len(ratios)}


def main():
    if sys.argv[1:2] == ["ask"]:
        return ask_every_second(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    stations, clients, seconds = (int(word) for word in (sys.argv[1:4] + ["100", "50", "20"][len(sys.argv) - 1:]))
    print(json.dumps({**simulated(stations, clients, seconds), "full_rate": full_rate(clients, 41, 3)}))


if __name__ == "__main__":
    main()
