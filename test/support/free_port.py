# SPDX-License-Identifier: Apache-2.0
"""A port that a program will listen at, perhaps again and again. The kernel gives ports of its own range to any program that connects or
listens somewhere: one of these may be taken between two of the program's lives. So it is one outside that range."""
import pathlib
import random
import socket

RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port(host="127.0.0.1"):
    first, last = (int(word) for word in RANGE.read_text().split()) if RANGE.exists() else (32768, 60999)
    ports = max(range(10_000, first), range(last + 1, 65_536), key=len)
    if len(ports) < 1000:
        ports = range(10_000, 65_536)  # there is none outside
    draw = random.SystemRandom()  # many tests run at once
    for _ in range(1000):
        port = draw.choice(ports)
        with socket.socket() as probe:
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise AssertionError(f"none of a thousand ports from {ports[0]} to {ports[-1]} is free")
