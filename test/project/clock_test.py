# SPDX-License-Identifier: Apache-2.0
"""Time comes from a base::Clock, and every wait can be stopped: no product source asks the system for the time or sleeps
on its own, but for those below, each with its reason. Tests, benchmarks and fuzzers may."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("lib/*/include", "lib/*/src", "lib/*/worker", "apps/cli", "apps/weir", "bindings/*")
NOT_PRODUCT = {"test", "testing", "bench", "fuzz"}

TIME = r"\b(?:steady_clock|system_clock|high_resolution_clock)\s*::\s*now\b|chrono\s*::\s*\w+_clock\s*;|\b(?:clock_gettime|gettimeofday|timespec_get)\s*\("
SLEEP = r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\s*\("

ASKS_THE_SYSTEM = {
    "lib/base/include/weir/base/clock.hpp": "SystemClock, which all others ask",
    "lib/base/src/threads/thread_account.cpp": "a measuring instrument: it accounts for the time that threads really took",
    "lib/checksum/src/parallel/handover_spin.cpp": "measures the processor, to choose how long a thread spins",
    "lib/checksum/src/parallel/parallel_cutoff.cpp": "measures the processor, to choose from which size on threads pay",
    "lib/checksum/src/parallel/task_slots.cpp": "spins for a measured time; there is nothing in it that a test could move",
    "lib/digest/src/lanes/lane_kernels.cpp": "measures the processor, to choose the fastest kernel",
}
SLEEPS = {}


def uses(pattern):
    """The product's sources with `pattern` outside comments, from the root."""
    found = set()
    for folder in FOLDERS:
        for path in (path for root in ROOT.glob(folder) for path in root.rglob("*.[hc]*")):
            name = path.relative_to(ROOT)
            if path.is_file() and not NOT_PRODUCT & set(name.parts):
                text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
                if re.search(pattern, text):
                    found.add(str(name))
    return found


class Clocks(unittest.TestCase):
    def test_the_search_finds_what_it_looks_for(self):
        for text in ("std::chrono::steady_clock::now()", "system_clock ::now()", "using C = std::chrono::steady_clock;",
                     "::clock_gettime(CLOCK_MONOTONIC, &t)", "gettimeofday(&t, nullptr)"):
            self.assertRegex(text, TIME)
        for text in ("std::chrono::steady_clock::time_point t;", "clock_.now()", "system_clock().wall()"):
            self.assertNotRegex(text, TIME)
        for text in ("std::this_thread::sleep_for(1ms)", "sleep_until(t)", "::usleep(1)", "::nanosleep(&t, nullptr)"):
            self.assertRegex(text, SLEEP)
        self.assertNotRegex("stoppable_sleep(time, stop)", SLEEP)

    def test_time_comes_from_a_clock(self):
        found = uses(TIME)
        self.assertEqual(sorted(found - set(ASKS_THE_SYSTEM)), [], "take a base::Clock, as system_clock.hpp says")
        self.assertEqual(sorted(set(ASKS_THE_SYSTEM) - found), [], "no longer so: strike it off the list")

    def test_every_wait_can_be_stopped(self):
        found = uses(SLEEP)
        self.assertEqual(sorted(found - set(SLEEPS)), [], "wait for an event as well, or use stoppable_sleep()")
        self.assertEqual(sorted(set(SLEEPS) - found), [], "no longer so: strike it off the list")


if __name__ == "__main__":
    unittest.main()
