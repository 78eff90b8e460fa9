# SPDX-License-Identifier: Apache-2.0
"""Boards that send by UDP and die in a run, never send, are masked, are replaced, or lie behind a bad network: processes of their own,
or plain sockets, that use nothing of weir. What each of them sent is compared with the run's account by source, and with the files."""
import json
import random
import signal
import socket
import subprocess
import sys
import urllib.request

import udp_board
import weir_program
from recorder_files import RawFile, expect
from run_input_test import BoardsTest, robs_of
from run_network_triggers_test import header_of
from run_test import Partition
from udp_board import payload_of
from weir_process import wait_until
from weir_program import run

FIRST = 70_000  # level-1 id of the first trigger; above 65535, how far a counter may be behind and only be late
LEADER, TESTED, PARTED, FOREIGN = 0x420000, 0x420001, 0x420002, 0x430000
AT_ONCE = 40  # datagrams for a readout; before there are more it has taken these, so the kernel's buffer does not overflow
MASKED = 0x80000020  # status of the ROB of a masked source

# Each event begins with a fragment of the leader, which the test itself sends last: the other boards' are there already, or will never be.
PARTITION = """
[partition]
name = "udp-boards"
[run]
incomplete_max = "{limit}"
source_silent_after = "1s"
mask_after = "{rule}"
[data]
first_level1_id = 70000
[readout.ros-1]
source = "network"
input_udp = "127.0.0.1:0"
sources = [{first}]
udp_wait = "3s"
[readout.ros-2]
source = "network"
input_udp = "127.0.0.1:0"
sources = ["0x430000"]
udp_wait = "3s"
udp_header_size = 10
udp_magic = "0:2:0xcafe"
udp_length = "2:2"
udp_source = "4:1"
udp_source_base = "0x430000"
udp_part = "5:1"
udp_parts = "6:1"
udp_counter = "8:2"
[supervise.l2sv]
source = "first:0x420000"
[assign.dfm]
[build.sfi-1]
event_deadline = "5s"
suspect_deadline = "120s"
[record.rec-1]
"""


class BoardProcess:
    """A board that is a process; so it can die."""

    def __init__(self, port, source, count, address="127.0.0.1"):
        self.source, self.sent = source, 0
        self.process = subprocess.Popen([sys.executable, "-B", udp_board.__file__, str(port), hex(source), str(count), address],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def trigger(self, first, last):
        self.process.stdin.write(f"{first} {last}\n")
        self.process.stdin.flush()

    def until_sent(self, first, last):
        line = self.process.stdout.readline()
        expect(line == f"sent {first} {last}\n", f"the board of {self.source:#x} printed {line!r}")
        self.sent += last - first + 1

    def die(self):
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class UdpBoardsTest(BoardsTest):
    def begin(self, *, sources=(LEADER, TESTED), limit="0.1% or 10", rule=""):
        file = self.folder / "boards.toml"
        file.write_text(PARTITION.format(limit=limit, rule=rule, first=", ".join(f'"{source:#x}"' for source in sources)))
        self.process = Partition(self.folder, file, source=None)
        self.addCleanup(self.process.__exit__)
        self.directory = self.process.directory
        wait_until(lambda: self.process.get()["state"] == "running", f"the run; {self.process.err}")
        self.ports = {name: int(self.counters(name)["input_udp_port"]) for name in ("ros-1", "ros-2")}
        self.sent = dict.fromkeys(self.ports, 0)
        self.next = FIRST  # trigger
        self.leader = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(self.leader.close)

    @staticmethod
    def readout_of(source):
        return "ros-2" if source == FOREIGN else "ros-1"

    def board(self, source, count=None, address="127.0.0.1"):
        """Counts as the triggers do, unless told otherwise."""
        board = BoardProcess(self.ports[self.readout_of(source)], source, self.next if count is None else count, address)
        self.addCleanup(board.close)
        return board

    def counters(self, station):
        """Of a station, as it says itself."""
        with urllib.request.urlopen(f"http://{self.process.station(station)['control']}/status", timeout=60) as answer:
            return json.load(answer)["counters"]

    def send(self, station, datagram):
        self.leader.sendto(datagram, ("127.0.0.1", self.ports[station]))
        self.sent[station] += 1

    def until_taken(self, station):
        """What was sent to it; nothing is lost on the way there."""
        def look():
            found = self.counters(station)
            self.assertEqual(found["input_udp_kernel_drops"], 0)
            return found["input_udp_datagrams"] >= self.sent[station]
        wait_until(look, f"{self.sent[station]} datagrams at {station}")

    def trigger(self, triggers, *boards):
        """So many: these boards send, then the leader."""
        end = self.next + triggers
        while self.next < end:
            first, last = self.next, min(self.next + AT_ONCE // 2, end) - 1
            for board in boards:  # one after the other: what came of one is known before others make it look silent
                board.trigger(first, last)
                board.until_sent(first, last)
                self.sent[self.readout_of(board.source)] += last - first + 1
                self.until_taken(self.readout_of(board.source))
            for trigger in range(first, last + 1):
                self.send("ros-1", udp_board.own(LEADER, trigger, payload_of(LEADER, trigger)))
            self.until_taken("ros-1")
            self.until_taken("ros-2")
            self.next = last + 1

    def until_built(self):
        """All of them. Each waits five seconds for what does not come, 32 at a time: one by one they would take longer than this does."""
        self.process.until_built(self.next - FIRST)

    def alarm(self, name):
        return wait_until(lambda: next((alarm["text"] for alarm in self.process.get("/alarms")["alarms"] if alarm["name"] == name), None),
                          f"the alarm {name!r}")

    def account(self, source):
        """Of a source, as run control has it now."""
        return next(one for one in self.process.get()["sources"] if one["source"] == hex(source))

    def end(self, code):
        """The run's result, and {source: its account}; every ledger balances."""
        self.until_built()
        run("run", "stop", "--dir", self.directory, timeout=300)  # 0, too, when run control has ended before it asks how the run was
        result = self.assertEnds(self.process.wait(), code).json
        for station in result["stations"]:
            ledger = station["ledger"]
            self.assertEqual(ledger["received"], ledger["stored"] + sum(ledger["rejected"].values()), station)
            self.assertEqual(ledger["in_hand"], 0, station)
        self.assertEqual(result["events"]["recorded"], self.next - FIRST)
        return result, {int(one["source"], 0): one for one in result["sources"]}

    def compare(self, without, masked=range(0)):
        """Each event is there once, with what each board sent for its trigger; `without`: {source: triggers that have none of it}."""
        seen = []
        for path in sorted(self.directory.rglob("*.data")):
            for _, data in RawFile(path).events():
                trigger = header_of(data)["level1_id"]
                seen.append(trigger)
                statuses = statuses_of(data)
                for source, rob in robs_of(data).items():
                    what = f"trigger {trigger}, source {source:#x}, status {statuses[source]:#x}"
                    if source == TESTED and trigger in masked:
                        self.assertEqual((rob, statuses[source]), (None, MASKED), what)
                    elif trigger in without.get(source, ()):
                        self.assertIsNone(rob, what)
                        self.assertNotEqual(statuses[source], MASKED, what)
                    else:
                        expect(rob is not None, f"{what}: it is missing")
                        payload = payload_of(source, trigger)
                        self.assertEqual(rob[1][:len(payload)], payload, what)
                        self.assertEqual(rob[2], (0, len(payload)), what)
        self.assertEqual(sorted(seen), list(range(FIRST, self.next)))

    def assertAccount(self, account, **numbers):
        """Of a source: these, and 0 of all other words."""
        words = ("expected", "missing", "masked_events", "arrived", "late", "lost", "duplicated", "disordered", "jumps", "refused")
        self.assertEqual({word: account[word] for word in words}, {word: numbers.pop(word, 0) for word in words}, account)
        self.assertEqual(numbers, {})

    def assertIncomplete(self, result, *sources):
        """A bad run, for this reason alone. `sources`: (source, events without it)."""
        events = self.next - FIRST
        which = ", ".join(f"source {source:#x} of {self.readout_of(source)} was missing in {missing} of {events}" for source, missing in sources)
        self.assertEqual(result["events"]["incomplete"], max(missing for _, missing in sources))
        self.assertEqual(result["problems"], [f"{result['events']['incomplete']} of {events} events are incomplete, more than "
                                              f"incomplete_max (0.1% or 10): {which}"])


def statuses_of(event):
    """{source: the status of its ROB} of an event of format 5.0."""
    word = lambda at: int.from_bytes(event[at:at + 4], "little")
    at, found = 4 * word(8), {}
    while at < len(event):
        found[word(at + 16)] = word(at + 24)
        at += 4 * word(at + 4)
    return found


class BoardsThatFail(UdpBoardsTest):
    def test_a_board_that_dies_in_the_run_is_named_and_costs_no_other_board_a_fragment(self):
        self.begin()
        dying, other = self.board(TESTED), self.board(FOREIGN)
        self.trigger(100, dying, other)
        dying.die()
        self.trigger(64, other)
        self.until_built()
        self.assertIn("source 0x420001 of ros-1 is silent: no fragment for ", self.alarm("source 0x420001 is silent"))
        self.assertIn("missing in ", self.alarm("source 0x420001 loses fragments"))
        result, sources = self.end(1)
        self.assertIncomplete(result, (TESTED, 64))
        self.assertAccount(sources[TESTED], expected=164, missing=64, arrived=100)
        for source in (LEADER, FOREIGN):
            self.assertAccount(sources[source], expected=164, arrived=164)
        self.compare({TESTED: range(FIRST + 100, FIRST + 164)})
        self.assertNotIn("has not answered", (self.directory / "log/sfi-1.log").read_text(), "the readout is not what is missing")

    def test_boards_that_are_silent_from_the_start_are_named_and_hold_up_events_for_the_deadline_only(self):
        self.begin()
        self.trigger(64)
        self.until_built()
        for source, readout in ((TESTED, "ros-1"), (FOREIGN, "ros-2")):
            self.assertIn(f"source {source:#x} of {readout} is silent: no fragment for ", self.alarm(f"source {source:#x} is silent"))
        result, sources = self.end(1)
        self.assertIncomplete(result, (TESTED, 64), (FOREIGN, 64))
        for source in (TESTED, FOREIGN):
            self.assertAccount(sources[source], expected=64, missing=64)
            self.assertIsNone(sources[source]["last_seen"])
        self.assertAccount(sources[LEADER], expected=64, arrived=64)
        self.compare(dict.fromkeys((TESTED, FOREIGN), range(FIRST, FIRST + 64)))


class BoardsThatAreMasked(UdpBoardsTest):
    def by_command(self, word):
        """`word`: mask or unmask; the first trigger for which it counts. What comes before it in the run has ended."""
        self.until_built()
        wait_until(lambda: self.process.station("sfi-1")["rate"] == 0, "a builder without events, so the mask begins soon")
        self.assertEnds(run("run", word, hex(TESTED), "--dir", self.directory, "--person", "ann"), 0)
        return self.until_known(word, "ann")

    def until_known(self, what, who):
        """The stations have the last change; the first trigger for which it counts."""
        changes = wait_until(lambda: [one for one in self.process.get()["changes"] if one["what"] == what], f"the {what}")
        self.assertEqual([(one["subject"], one["who"]) for one in changes], [(hex(TESTED), who)])
        number = len(self.process.get()["changes"])
        for station in ("ros-1", "ros-2", "sfi-1"):
            wait_until(lambda: self.counters(station)["mask_changes"] == number, f"{number} changes at {station}")
        return changes[0]["from_level1_id"]

    def returns(self, other, begin):
        """The board is masked from trigger `begin` on. It is repaired, sends again while it is masked, and then is not masked any more."""
        self.trigger(begin - self.next, other)
        self.until_built()
        self.trigger(30, other)
        repaired = self.board(TESTED, address="127.0.0.2")
        gap = self.next - (FIRST + 50)
        self.trigger(30, repaired, other)
        behind = self.by_command("unmask")
        self.trigger(behind - self.next + 30, repaired, other)
        result, sources = self.end(0)
        self.assertEqual(result["problems"], [])
        events, missing, masked = self.next - FIRST, begin - (FIRST + 50), behind - begin
        self.assertEqual(result["events"]["incomplete"], missing)
        self.assertAccount(sources[TESTED], expected=events - masked, missing=missing, masked_events=masked, arrived=50 + repaired.sent, lost=gap)
        for source in (LEADER, FOREIGN):
            self.assertAccount(sources[source], expected=events, arrived=events)
        self.compare({TESTED: range(FIRST + 50, begin)}, masked=range(begin, behind))

    def dies(self):
        tested, other = self.board(TESTED), self.board(FOREIGN)
        self.trigger(50, tested, other)
        tested.die()
        return other

    def test_a_board_that_died_is_masked_by_hand_and_unmasked_when_it_sends_again(self):
        self.begin(limit="1000")
        other = self.dies()
        self.returns(other, self.by_command("mask"))

    def test_a_board_that_died_is_masked_by_the_rule_and_unmasked_by_hand_when_it_sends_again(self):
        self.begin(limit="1000", rule="20 events")
        other = self.dies()
        self.trigger(40, other)
        self.returns(other, self.until_known("mask", "rule mask_after"))


class BoardsThatAreReplaced(UdpBoardsTest):
    def test_another_board_takes_over_from_another_address_and_what_is_lost_in_between_is_counted(self):
        self.begin()
        first, other = self.board(TESTED), self.board(FOREIGN)
        self.trigger(100, first, other)
        first.die()
        self.trigger(40, other)
        second = self.board(TESTED, address="127.0.0.2")
        self.trigger(60, second, other)
        second.die()
        # The next one has the last 20 fragments of the one before in its memory, and sends them again.
        third = self.board(TESTED, count=self.next - 20, address="127.0.0.3")
        third.trigger(self.next - 20, self.next - 1)
        third.until_sent(self.next - 20, self.next - 1)
        self.sent["ros-1"] += 20
        self.trigger(100, third, other)
        result, sources = self.end(1)
        self.assertIncomplete(result, (TESTED, 40))
        self.assertAccount(sources[TESTED], expected=300, missing=40, arrived=260, lost=40, duplicated=20)
        self.assertEqual(first.sent + second.sent + third.sent, 260 + 20)
        for source in (LEADER, FOREIGN):
            self.assertAccount(sources[source], expected=300, arrived=300)
        self.compare({TESTED: range(FIRST + 100, FIRST + 140)})

    def test_of_boards_that_count_anew_nothing_is_taken_for_another_event_and_the_source_is_named(self):
        self.begin()
        first, other = self.board(TESTED), self.board(FOREIGN)
        self.trigger(100, first, other)
        wait_until(lambda: self.account(TESTED)["arrived"] == 100, "the account of the first board")
        boards = [first]
        for begins in (FIRST, FIRST - 5000, 1):  # seen already; older than all that is remembered; so far away that the counter jumped
            boards[-1].die()
            boards.append(self.board(TESTED, count=begins, address=f"127.0.0.{1 + len(boards)}"))
            self.trigger(32, boards[-1], other)
        self.until_built()
        text = self.alarm("source 0x420001 is silent")
        self.assertIn("source 0x420001 of ros-1 is silent: no fragment was taken for ", text)
        self.assertRegex(text, r"; of those that came \d+ were late, \d+ duplicated, \d+ refused, ")
        self.assertIn(f"from {FIRST + 99} to 1", self.alarm("counter_jumped"))
        result, sources = self.end(1)
        self.assertIncomplete(result, (TESTED, 96))
        self.assertAccount(sources[TESTED], expected=196, missing=96, arrived=100, duplicated=32, late=32 + 31, refused=1, jumps=1)
        self.assertEqual(sum(board.sent for board in boards), 100 + 32 + 32 + 32)
        for source in (LEADER, FOREIGN):
            self.assertAccount(sources[source], expected=196, arrived=196)
        self.compare({TESTED: range(FIRST + 100, FIRST + 196)})


class Network:
    """Between a board and a readout: loses, doubles and disorders the datagrams that go through it. What it did is known."""

    def __init__(self, source, make, seed, *, lose=0.05, double=0.05, part_size=None):
        self.source, self.make, self.random, self.lose, self.double, self.part_size = source, make, random.Random(seed), lose, double, part_size
        self.on_the_way, self.lost, self.datagrams, self.doubled, self.disordered = [], set(), 0, 0, 0
        self.newest, self.arrived = 0, set()

    def takes(self, trigger, certain):
        payload = payload_of(self.source, trigger)
        size = self.part_size or len(payload)
        parts = [payload[at:at + size] for at in range(0, len(payload), size)]
        for number, part in enumerate(parts):
            more = (number, len(parts)) if self.part_size else ()
            if not certain and self.random.random() < self.lose:
                self.lost.add(trigger)
                continue
            again = not certain and self.random.random() < self.double
            self.doubled += again
            self.on_the_way += [(trigger, self.make(self.source, trigger, part, *more))] * (1 + again)

    def gives(self):
        """All that is on the way, each datagram up to 8 places from where it was."""
        places = [place + self.random.uniform(0, 8) for place in range(len(self.on_the_way))]
        given = [datagram for _, datagram in sorted(zip(places, self.on_the_way), key=lambda pair: pair[0])]
        self.on_the_way = []
        self.datagrams += len(given)
        for trigger, _ in given:  # of an earlier trigger than one before, and the first of that trigger
            self.disordered += trigger < self.newest and trigger not in self.arrived
            self.newest = max(self.newest, trigger)
            self.arrived.add(trigger)
        return [datagram for _, datagram in given]


class BoardsBehindABadNetwork(UdpBoardsTest):
    def test_what_is_lost_doubled_and_disordered_is_counted_by_source_and_balances_with_what_was_sent(self):
        self.begin(sources=(LEADER, TESTED, PARTED))
        networks = [Network(TESTED, udp_board.own, 1), Network(PARTED, udp_board.own, 2, part_size=300), Network(FOREIGN, udp_board.foreign, 3)]
        events, at_once = 400, 20
        for first in range(FIRST, FIRST + events, at_once):
            for network in networks:
                for trigger in range(first, first + at_once):
                    network.takes(trigger, certain=trigger == FIRST + events - 1)
                for datagram in network.gives():
                    self.send(self.readout_of(network.source), datagram)
                self.until_taken(self.readout_of(network.source))
            self.trigger(at_once)
        taken = {station: self.counters(station) for station in self.ports}
        result, sources = self.end(1)
        for network in networks:
            lost = len(network.lost)
            self.assertGreater(min(lost, network.doubled, network.disordered), 10, "this test tests something")
            self.assertAccount(sources[network.source], expected=events, missing=lost, arrived=events - lost, lost=lost,
                               duplicated=network.doubled, disordered=network.disordered)
            self.assertIn(f"source {network.source:#x} of {self.readout_of(network.source)} was missing in {lost} of {events}", result["problems"][0])
        whole = [network for network in networks if not network.part_size]
        for network in whole:
            account = sources[network.source]
            self.assertEqual(network.datagrams, account["arrived"] + account["duplicated"])
        self.assertAccount(sources[LEADER], expected=events, arrived=events)
        parted = networks[1]
        self.assertEqual({name: count for name, count in taken["ros-1"].items() if name.startswith("input_udp_") and count > 0}, {
            "input_udp_port": self.ports["ros-1"], "input_udp_receive_buffer": taken["ros-1"]["input_udp_receive_buffer"],
            "input_udp_bytes": taken["ros-1"]["input_udp_bytes"], "input_udp_datagrams": self.sent["ros-1"],
            "input_udp_whole": 3 * events - len(networks[0].lost) - len(parted.lost), "input_udp_duplicate": networks[0].doubled + parted.doubled,
            "input_udp_part": parted.datagrams - parted.doubled - (events - len(parted.lost))})
        self.compare({network.source: network.lost for network in networks})


if __name__ == "__main__":
    weir_program.main()
