# SPDX-License-Identifier: Apache-2.0
"""What Python costs: events by weir.Sender beside the C interface, and recorded events read to NumPy beside pybes3, on this machine.

    python_bench.py send --program build/release/bin/weir --send-events ./send_events [--events 2000] [--bytes 1000000] [--repeat 5]
    python_bench.py read FILE... [--repeat 5]

`send_events` is send_events.c, built as docs/client.md shows. Each way of a repetition sends to a new recorder below --dir, one after the other. `read` goes
over each file as it is: read it once before, or it is the disk that is measured. Prints one JSON document: each way's GB/s, sorted.
"""
import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy
import weir


class Recorder:
    def __init__(self, program, directory):
        self.process = subprocess.Popen([program, "record", "--listen", "127.0.0.1:0", "--dir", directory, "--create", "--run", "1"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"listening on port (\d+)", line)
            if found:
                self.address = f"127.0.0.1:{found.group(1)}"
                return
        raise SystemExit("python_bench: the recorder did not start")

    def __enter__(self):
        return self.address

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


def by_python(address, events, size, payload, copy):
    with weir.Sender(address, "bench-python") as to:
        to.run()
        begin = time.perf_counter()
        for event in range(1, events + 1):
            to.send(payload, event, "calibration_Test", copy=copy)
        to.flush()
        return time.perf_counter() - begin


def by_c(address, events, size, program):
    return float(subprocess.run([program, address, str(events), str(size)], stdout=subprocess.PIPE, text=True, check=True).stdout)


def send(options):
    array = numpy.full(options.bytes, 0x42, "u1")
    ways = {"C interface, copied": lambda to: by_c(to, options.events, options.bytes, options.send_events),
            "Python, array, copied": lambda to: by_python(to, options.events, options.bytes, array, None),
            "Python, bytes, not copied": lambda to: by_python(to, options.events, options.bytes, array.tobytes(), None)}
    rates = {name: [] for name in ways}
    for _ in range(options.repeat):
        for name, way in ways.items():
            with tempfile.TemporaryDirectory(prefix="weir-bench-", dir=options.dir) as folder, Recorder(options.program, folder) as address:
                rates[name].append(1e-9 * options.events * options.bytes / way(address))
    return rates


def arrays(path):
    """An array of each ROB's data; its words are not looked at."""
    return sum(rob.data.size for event in weir.open(path) for rob in event.rob_list)


def summed(path):
    """The same, and every word of the events is read once."""
    words = 0
    for event in weir.open(path):
        words += int(event.words.sum(dtype="u8")) & 1
        words += sum(rob.data.size for rob in event.rob_list)
    return words


def copied(path):
    """What the machine can: the bytes of the file copied once."""
    return numpy.fromfile(path, "u1").size


def read(options):
    ways = {"weir.open, arrays": arrays, "weir.open, arrays and a sum of all words": summed, "numpy.fromfile": copied}
    try:
        import pybes3
        ways["pybes3, decoded"] = lambda path: len(pybes3.open_raw(str(path)).arrays())  # more work: detectors' hits, not words
    except ImportError:
        print("python_bench: pybes3 is not installed: no peer", file=sys.stderr)
    size = sum(path.stat().st_size for path in options.files)
    rates = {name: [] for name in ways}
    for _ in range(options.repeat):
        for name, way in ways.items():
            begin = time.perf_counter()
            for path in options.files:
                way(path)
            rates[name].append(1e-9 * size / (time.perf_counter() - begin))
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    sending = parts.add_parser("send")
    sending.add_argument("--program", required=True)
    sending.add_argument("--send-events", required=True)
    sending.add_argument("--events", type=int, default=2000)
    sending.add_argument("--bytes", type=int, default=1_000_000)
    sending.add_argument("--dir", help="where the recorders write, a disk or a tmpfs; else the folder for temporary files")
    reading = parts.add_parser("read")
    reading.add_argument("files", nargs="+", type=pathlib.Path)
    for part in (sending, reading):
        part.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    rates = (send if options.part == "send" else read)(options)
    json.dump({name: [round(rate, 4) for rate in sorted(each)] for name, each in rates.items()}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
