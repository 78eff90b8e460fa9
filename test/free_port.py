# SPDX-License-Identifier: Apache-2.0
"""A port that a program will listen at, perhaps again and again. The kernel gives ports of its own range to whoever connects or
listens somewhere: one of these may be taken between two of the program's lives. So it is one below that range."""
import pathlib
import random
import socket

RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(host="127.0.0.1"):
    first_of_kernel = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32768
    draw = random.SystemRandom()  # many tests run at once
    for _ in range(1000):
        port = draw.randrange(10_000, max(first_of_kernel, 10_001))
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise AssertionError(f"no port from 10000 to {first_of_kernel} is free")
