# SPDX-License-Identifier: Apache-2.0
"""page_load.py [STATIONS CLIENTS SECONDS]: what the page costs (100, 50, 20): the main thread of a browser that shows so many stations, run
control without and with so many clients that ask every second, and the data of a partition that goes as fast as it can, without and with those
clients in turn. Stations are simulated as in test/hosts/many_stations.py. Prints two lines of JSON; `./run page` runs it."""
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


class FullRate:
    """A partition that goes as fast as it can. compare() looks at it in windows, every second one with something beside it."""

    def __init__(self, folder):
        self.directory = pathlib.Path(folder) / "D"
        file = pathlib.Path(folder) / "generator.toml"
        text = (ROOT / "examples" / "generator.toml").read_text()
        file.write_text(text.replace("rate = 1000 ", "rate = 0 ").replace('rob_size = "2kB"', 'rob_size = "200B"'))  # the disk is to last
        self.run = subprocess.Popen([WEIR, "run", file, "--dir", self.directory, "--events", "2000000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        place = self.directory / "run-control.json"
        self.address = until(lambda: place.exists() and json.loads(place.read_text())["control"], "run control answers")
        until(lambda: self.look()[0] > 1000, "events are recorded")

    def look(self):
        """(events recorded, CPU seconds of all stations) so far."""
        with urllib.request.urlopen(f"http://{self.address}/partition", timeout=60) as answer:
            partition = json.loads(answer.read())
        return partition["events"]["recorded"], sum(cpu_seconds(s["pid"]) for s in partition["stations"] if s["pid"] > 0)

    def compare(self, beside, windows, seconds):
        """`beside(seconds)` begins it, and returns what waits for its end. Ratios with it over without, of neighbouring windows."""
        rates, costs = [], []
        for window in range(windows):
            wait = beside(seconds) if window % 2 else lambda: None
            (events, cpu), begin = self.look(), time.monotonic()
            time.sleep(seconds)
            more, later = self.look()
            rates.append((more - events) / (time.monotonic() - begin))
            costs.append((later - cpu) / max(more - events, 1))
            wait()
            time.sleep(0.5)

        def ratios(values):
            all_of_them = [2 * values[i] / (values[i - 1] + values[i + 1]) for i in range(1, windows - 1, 2)]
            low, middle, high = statistics.quantiles(all_of_them, n=4)
            return {"median": round(middle, 4), "quartiles": [round(low, 4), round(high, 4)]}

        return {"rate_hz": round(statistics.median(rates[::2])), "rate": ratios(rates), "cpu_of_stations_an_event": ratios(costs), "pairs": windows // 2}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run.terminate()
        self.run.wait(120)


def full_rate(clients, windows, seconds):
    with tempfile.TemporaryDirectory(prefix="weir-page-") as folder, FullRate(folder) as partition:
        tapped = []

        def taps(for_seconds):
            """Two that take all they get; on a processor only while nobody else wants it, as if they were on other machines."""
            tapping = []
            for i in range(2):
                with open(pathlib.Path(folder) / f"tap-{i}", "wb") as out:
                    tapping.append(subprocess.Popen(["chrt", "-i", "0", WEIR, "tap", "--dir", partition.directory, "--rate", "0"], stdout=out, stderr=subprocess.DEVNULL))

            def wait():
                for i, one in enumerate(tapping):
                    one.terminate()
                    one.wait(60)
                    tapped.append((pathlib.Path(folder) / f"tap-{i}").read_bytes().count(b"\n"))
            return wait

        with_clients = partition.compare(lambda s: Clients(partition.address, clients, s).answered, windows, seconds)
        with_taps = partition.compare(taps, windows, seconds)
        return {"clients": with_clients, "two taps": {**with_taps, "tapped_a_window": round(statistics.mean(tapped), 1)}}


def main():
    if sys.argv[1:2] == ["ask"]:
        return ask_every_second(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    stations, clients, seconds = (int(word) for word in (sys.argv[1:4] + ["100", "50", "20"][len(sys.argv) - 1:]))
    print(json.dumps(simulated(stations, clients, seconds)), flush=True)
    print(json.dumps({"full_rate": full_rate(clients, 31, 3)}))


if __name__ == "__main__":
    main()
