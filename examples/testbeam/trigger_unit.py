# SPDX-License-Identifier: Apache-2.0
"""A trigger unit: triggers at random times, as particles come. Each goes over the trigger line to every board, and to weir.

    trigger_unit.py --boards 4 --triggers 20000 --rate 2000

When weir has no room, or a board does not take its triggers, it waits: the dead time that it prints.
"""
import argparse
import random
import socket
import sys
import time

import weir
from trigger_line import LINE, TRIGGER


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--supervisor", default="127.0.0.1:9200", help="HOST:PORT of weir's supervisor (%(default)s)")
    parser.add_argument("--boards", type=int, default=4, help="waits until so many boards are on the line (%(default)s)")
    parser.add_argument("--triggers", type=int, default=20_000)
    parser.add_argument("--rate", type=float, default=2000, help="a second (%(default)s)")
    given = parser.parse_args()
    with socket.create_server(LINE) as listener:
        print(f"trigger unit: waits for {given.boards} boards", flush=True)
        listener.settimeout(60)
        boards = []
        while len(boards) < given.boards:
            try:
                boards.append(listener.accept()[0])
            except TimeoutError:
                sys.exit(f"trigger unit: only {len(boards)} of {given.boards} boards are on the line; start the others, or give --boards")
        for board in boards:
            board.settimeout(None)
    drawn, dead = random.Random(1), 0.0
    # A small window, 256 triggers: what has no answer is an event that weir has no room for yet, and soon the unit waits with it. The
    # boards are never further ahead of weir than this, and a board that cannot wait needs room for as many.
    print(f"trigger unit: waits for weir at {given.supervisor}", flush=True)
    with weir.TriggerSender(given.supervisor, "trigger-unit", window_bytes=8 * 1024) as to:
        print(f"trigger unit: run {to.run()}", flush=True)
        begun = next_at = time.monotonic()
        for number in range(1, given.triggers + 1):
            next_at += drawn.expovariate(given.rate)
            if (early := next_at - time.monotonic()) > 0.001:
                time.sleep(early)
            at = time.time_ns()
            before = time.monotonic()
            to.send(number, at, type=1)
            for board in boards:
                board.sendall(TRIGGER.pack(number, at))
            waited = time.monotonic() - before
            if waited > 0.01:  # nothing happens meanwhile; what would have is not made up for
                dead += waited
                next_at = max(next_at, time.monotonic())
        seconds = time.monotonic() - begun
    for board in boards:
        board.close()
    print(f"trigger unit: {given.triggers} triggers in {seconds:.1f} s, dead time {100 * dead / seconds:.1f} %")


if __name__ == "__main__":
    try:
        main()
    except (weir.SendError, TimeoutError, OSError) as error:
        sys.exit(f"trigger unit: {error}")
