# SPDX-License-Identifier: Apache-2.0
"""weir.Sender, FragmentSender and TriggerSender: against a real recorder, a real partition, and a trigger input of a page that knows the
documented protocol only."""
import collections
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import weir

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "test" / "support"), str(ROOT / "test" / "run")]
import recorder_wire as wire
from client_test import record_of
from recorder_files import RawFile
from run_input_test import BoardsTest, payload_of
from weir_process import wait_until
from weir_program import ProgramTest, Recorder

ANSWER_IN_TIME = 120.0  # seconds that a loaded machine may need


def with_program(case):
    return unittest.skipUnless("WEIR_PROGRAM" in os.environ, "the program weir is not built here")(case)


class Nobody:
    """A port at which nobody answers."""

    def __enter__(self):
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))  # and does not listen: the port stays taken
        return f"127.0.0.1:{self.socket.getsockname()[1]}"

    def __exit__(self, *_):
        self.socket.close()


@with_program
class Events(ProgramTest):
    def stored(self, directory):
        return collections.Counter(bytes(data) for path in directory.rglob("*.data") for _, data in RawFile(path).events())

    def test_what_is_sent_from_objects_of_many_kinds_is_recorded_bit_for_bit(self):
        directory, expected, ended, states = self.folder / "D", collections.Counter(), [], []
        with Recorder(directory) as recorder:
            with weir.Sender(recorder.address, "python", on_ended=lambda *each: ended.append(each),
                             on_state=lambda *each: states.append(each), close_timeout=ANSWER_IN_TIME) as to:
                self.assertEqual(to.run(ANSWER_IN_TIME), 7)
                array = numpy.empty(2500, "u4")
                for event in range(1, 201):
                    array[:] = event  # the same memory again: what can be written to is copied
                    frozen = numpy.arange(event, event + 2500, dtype="u4")
                    frozen.flags.writeable = False
                    lent = bytearray(event.to_bytes(4, "little") * 100)
                    for kind, payload in enumerate((b"%d" % event * 900, array, memoryview(frozen)[3:], [b"two", array[:7], frozen])):
                        whole = b"".join(bytes(part) for part in payload) if isinstance(payload, list) else bytes(payload)
                        expected[whole] += 1
                        self.assertEqual(to.send(payload, 5 * event + kind, "physics_Main"), 5 * event + kind - 4)
                    expected[bytes(lent)] += 1
                    to.send(lent, 5 * event + 4, ["physics_Main"], level1_id=event, lumi_block=0, copy=False)
            stats = to.stats()
            self.assertEqual(recorder.stop().code, 0)
        self.assertEqual((stats.sent, stats.taken, stats.rejected, stats.open), (1000, 1000, {}, 0))
        self.assertEqual(sorted(ended), [(number, number, None) for number in range(1, 1001)])
        self.assertIn(("connected", ""), states)
        self.assertEqual(self.stored(directory), expected)
        with self.assertRaisesRegex(weir.SendError, "closed"):
            to.send(b"late", 1, "physics_Main")
        to.close()

    def test_an_event_that_is_not_taken_is_an_exception_unless_it_was_reported(self):
        with Recorder(self.folder / "D") as recorder:
            with self.assertRaisesRegex(weir.NotTaken, f"1 of 3 events were not taken by {recorder.address}: 1 no_tags") as caught:
                with weir.Sender(recorder.address, "python", close_timeout=ANSWER_IN_TIME) as to:
                    to.send(b"good", 1, "calibration_Test")
                    to.send(b"without a stream", 2, [])
                    to.send(b"good too", 3, "calibration_Test")
            self.assertEqual(caught.exception.rejected, {"no_tags": 1})
            self.assertEqual((to.stats().taken, to.stats().rejected), (2, {"no_tags": 1}))
            ended = []
            with weir.Sender(recorder.address, "python", run=7, on_ended=lambda *each: ended.append(each), format="event-5.0",
                             close_timeout=ANSWER_IN_TIME) as to:
                to.send(b"not an event", 1, "physics_Main")
            self.assertEqual(ended, [(1, 1, "malformed_event")])
            with self.assertRaises(ZeroDivisionError):  # the block's own exception
                with weir.Sender(recorder.address, "python") as to:
                    to.send(b"without a stream", 1, [])
                    1 / 0
            self.assertEqual(recorder.stop().code, 0)

    def test_a_callback_that_raises_or_calls_its_sender_harms_nothing(self):
        raised, reported = [], []
        self.addCleanup(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = lambda what: raised.append(str(what.exc_value))

        def on_ended(first, last, reason):
            try:
                to.flush()
            except weir.SendError as error:
                reported.append(str(error))
            raise RuntimeError(f"of {first}")

        with Recorder(self.folder / "D") as recorder:
            with weir.Sender(recorder.address, "python", on_ended=on_ended, close_timeout=ANSWER_IN_TIME) as to:
                for event in range(1, 4):
                    to.send(b"good", event, "calibration_Test")
            self.assertEqual(recorder.stop().code, 0)
        self.assertEqual(raised, ["of 1", "of 2", "of 3"])
        self.assertEqual(len(reported), 3)
        self.assertIn("cannot call it", reported[0])


@with_program
class Fragments(BoardsTest):
    def test_boards_in_python_bring_what_they_sent(self):
        events, sources = 1500, {0x420000: 0, 0x420001: 0, 0x430000: 1}
        self.partition(events, 'events_max = 64\nmemory = "1MiB"')  # small: boards wait for room
        ports, failures = self.ports(), []

        def board(source, port):
            try:
                with weir.FragmentSender(f"127.0.0.1:{port}", f"board-{source:x}", close_timeout=ANSWER_IN_TIME) as to:
                    for event in range(1, events + 1):
                        payload = payload_of(source, event)
                        if event % 2:
                            payload = numpy.frombuffer(payload, "u1")
                        to.send(source, event, payload, time_ns=1000 * event, status_words=[0xABCD])
            except Exception as error:  # shown by the test
                failures.append(error)

        threads = [threading.Thread(target=board, args=(source, ports[readout])) for source, readout in sources.items()]
        for thread in threads:
            thread.start()
        report = self.finish()
        for thread in threads:
            thread.join(ANSWER_IN_TIME)
        self.assertEqual(failures, [])
        self.compare(events, sources)
        self.assertEqual(report["problems"], [])

    def test_the_example_brings_what_its_record_holds_and_ends_with_1_when_it_was_not_taken(self):
        events, sources, example = 300, (0x420000, 0x420001, 0x430000), ROOT / "examples" / "client" / "board.py"
        self.partition(events)
        first, second = self.ports()

        def begin(source, port, count):
            return subprocess.Popen([sys.executable, example, f"127.0.0.1:{port}", hex(source), str(count), self.folder / f"{source:x}.record"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        stranger = begin(0x999999, first, 3)
        out, err = stranger.communicate(timeout=ANSWER_IN_TIME)
        self.assertEqual((stranger.returncode, out), (1, "0 of 3 fragments taken\n"), err)
        self.assertIn("unknown_source", err)
        boards = [begin(source, second if source == 0x430000 else first, events) for source in sources]
        for board in boards:
            out, err = board.communicate(timeout=ANSWER_IN_TIME)
            self.assertEqual((board.returncode, out), (0, f"{events} of {events} fragments taken\n"), err)
        self.finish()
        records = {source: record_of(self.folder / f"{source:x}.record") for source in sources}
        recorded = self.recorded()
        self.assertEqual(sorted(recorded), list(range(1, events + 1)))
        for event, robs in recorded.items():
            self.assertEqual({source: rob[1] for source, rob in robs.items()}, {source: records[source][event] for source in sources})

    def test_what_a_readout_refuses_is_named_and_triggers_are_nothing_for_it(self):
        self.partition(5)
        first, second = self.ports()
        with self.assertRaisesRegex(weir.NotTaken, "3 of 3 fragments were not taken.*3 unknown_source"):
            with weir.FragmentSender(f"127.0.0.1:{first}", "board", close_timeout=ANSWER_IN_TIME) as to:
                for event in range(1, 4):
                    to.send(0x999999, event, b"data")
        why = []
        unit = weir.TriggerSender(f"127.0.0.1:{first}", "unit", on_state=lambda *each: why.append(each))
        self.addCleanup(unit.close)
        with self.assertRaises(weir.SendError):
            unit.send(1)  # it may have failed by then
            unit.flush(ANSWER_IN_TIME)
        self.assertEqual(unit.stats().state, "failed")
        wait_until(lambda: why and why[-1][0] == "failed", "the report of it", ANSWER_IN_TIME)
        self.assertIn("trigger", why[-1][1])
        self.process.stop()  # its stations end before their folder is removed


class TriggerInput(threading.Thread):
    """Takes blocks of triggers from one sender, as docs/formats has them, and refuses those of an odd type."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.triggers, self.failure, self.any_run = [], None, None

    def run(self):
        try:
            peer = wire.Peer.__new__(wire.Peer)
            peer.socket, _ = self.listener.accept()
            with peer:
                self.serve(peer)
        except wire.Closed:
            pass
        except Exception as error:  # shown by the test
            self.failure = error

    def serve(self, peer):
        kind, hello = peer.receive()
        assert (kind, hello[2]) == (wire.HELLO, 5), (kind, hello)
        self.any_run = hello[3]
        credit = 1 << 20
        meta = struct.pack("<H2xIQQQIIQHxx", 2, 0, credit, 1 << 20, 0, 358395, 0, 1, 4) + b"l2sv"
        peer.send(wire.header(wire.WELCOME, meta) + meta)
        while True:
            head = peer._exactly(24)
            kind, meta_size, payload_size = head[5], *struct.unpack_from("<IQ", head, 8)
            meta, block = peer._exactly(meta_size), peer._exactly(payload_size)
            if kind != wire.EVENT:
                continue
            sequence, = struct.unpack_from("<Q", meta)
            assert struct.unpack_from("<I", meta, 32)[0] == wire.crc32c(block)
            at, place, refused = 0, 0, b""
            while at < len(block):
                size, event, when, kind_of, crossing, count = struct.unpack_from("<IIqII2xH", block, at)
                self.triggers.append((event, when, kind_of, crossing, struct.unpack_from(f"<{count}I", block, at + 32)))
                if kind_of % 2:
                    refused += struct.pack("<IHxx", place, 10)
                at, place = at + size, place + 1
            if refused:
                meta = struct.pack("<QI4x", sequence, len(refused) // 8) + refused
                peer.send(wire.header(8, meta) + meta)
            credit += 24 + meta_size + payload_size
            meta = struct.pack("<QQI4x", credit, sequence, 0)
            peer.send(wire.header(wire.ACK, meta) + meta)


class Triggers(unittest.TestCase):
    def test_triggers_arrive_as_the_format_has_them_and_each_ends_once(self):
        unit = TriggerInput()
        self.addCleanup(unit.listener.close)
        unit.start()
        sent, ended = [], []
        with weir.TriggerSender(unit.address, "trigger-unit", on_ended=lambda *each: ended.append(each), close_timeout=ANSWER_IN_TIME) as to:
            self.assertEqual(to.run(ANSWER_IN_TIME), 358395)
            for event in range(1, 1001):
                words = numpy.arange(event % 9, dtype="u4") if event % 3 else list(range(event % 9))
                sent.append((event, 1_700_000_000_000_000_000 - event, event % 8, 0xFFFFFFFF - event, tuple(range(event % 9))))
                self.assertEqual(to.send(event, sent[-1][1], type=event % 8, bunch_crossing=sent[-1][3], words=words), event)
            self.assertTrue(to.flush(ANSWER_IN_TIME))
        unit.join(ANSWER_IN_TIME)
        self.assertIsNone(unit.failure)
        self.assertEqual(unit.any_run, 1)
        self.assertEqual(unit.triggers, sent)
        fates = {number: reason for first, last, reason in ended for number in range(first, last + 1)}
        self.assertEqual(sum(last - first + 1 for first, last, _ in ended), 1000)
        self.assertEqual(fates, {event: "out_of_order" if event % 2 else None for event in range(1, 1001)})
        stats = to.stats()
        self.assertEqual((stats.sent, stats.taken, stats.rejected, stats.open), (1000, 500, {"out_of_order": 500}, 0))


class WithoutAConnection(unittest.TestCase):
    def filled(self, address):
        """A sender whose window is full."""
        to = weir.FragmentSender(address, "board", window_bytes=1000)
        self.addCleanup(to.close)
        wait_until(lambda: to.try_send(1, 1, bytes(60_000)) is None, "a full window")
        return to

    def test_a_sender_without_room_says_so_and_why(self):
        with Nobody() as address:
            to = self.filled(address)
            self.assertTrue(to.busy())
            wait_until(lambda: to.stats().last_problem, "an attempt to connect")
            with self.assertRaisesRegex(TimeoutError, f"{address} had no room for 0.01 s: no connection \\(.*refused"):
                to.send(1, 2, bytes(60_000), timeout=0.01)
            self.assertFalse(to.flush(0))
            self.assertIsNone(to.run(0))
            stats = to.stats()
            self.assertEqual((stats.taken, stats.open, stats.state, stats.reconnects), (0, stats.sent, "connecting", 0))
            self.assertGreater(stats.waits, 1)
            with self.assertRaisesRegex(TimeoutError, f"1 of 1 events have no answer of {address} within 0.01 s: no connection"):
                with weir.Sender(address, "events", close_timeout=0.01) as events:
                    events.send(b"x", 1, "physics_Main")

    def test_a_sender_that_gave_up_fails(self):
        with Nobody() as address:
            to = weir.Sender(address, "events", run=5, give_up_after=0.001)
            self.addCleanup(to.close)
            with self.assertRaisesRegex(weir.SendError, "the sender has failed"):
                to.send(b"x", 1, "physics_Main")
                to.flush()
            wait_until(lambda: to.stats().state == "failed", "the state of a sender that failed")

    def test_a_signal_ends_a_wait_and_other_threads_run_meanwhile(self):
        def stop(*_):
            raise KeyboardInterrupt

        with Nobody() as address:
            to = self.filled(address)
            self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, stop))
            main = threading.get_ident()

            def interrupt():
                wait_until(lambda: sys._current_frames()[main].f_code.co_filename == weir.sending.__file__, "a call that waits")
                os.kill(os.getpid(), signal.SIGUSR1)

            for wait in (lambda: to.send(1, 3, bytes(60_000)), to.flush, to.run):
                other = threading.Thread(target=interrupt)
                with self.assertRaises(KeyboardInterrupt):
                    other.start()
                    wait()
                other.join()

    def test_close_ends_the_wait_of_another_thread(self):
        with Nobody() as address:
            to, errors = self.filled(address), []
            waits = to.stats().waits

            def send():
                try:
                    to.send(1, 3, bytes(60_000))
                except weir.SendError as error:
                    errors.append(str(error))

            other = threading.Thread(target=send)
            other.start()
            wait_until(lambda: to.stats().waits > waits, "a call that waits")
            to.close()
            other.join(ANSWER_IN_TIME)
            self.assertEqual(errors, ["the sender is closed"])

    def test_bytes_that_were_lent_stay_until_their_event_has_ended(self):
        with Nobody() as address, weir.Sender(address, "events", close_timeout=0) as to:
            lent, kept = bytearray(1000), bytearray(1000)
            to.send(lent, 1, "physics_Main", copy=False)
            to.send(kept, 2, "physics_Main")
            kept.extend(b"more")
            with self.assertRaises(BufferError):
                lent.extend(b"more")
            references = sys.getrefcount(lent)
            to.close()
            lent.extend(b"more")
            self.assertEqual(sys.getrefcount(lent), references - 1)

    def test_what_cannot_be_sent_is_named(self):
        with Nobody() as address:
            event = weir.Sender(address, "events", run=1)
            board = weir.FragmentSender(address, "board", run=1)
            unit = weir.TriggerSender(address, "unit", run=1)
            for to in (event, board, unit):
                self.addCleanup(to.close)
            for call, kind, words in (
                    (lambda: event.send(b"", 1, "physics_Main"), ValueError, "without payload"),
                    (lambda: event.send("text", 1, "physics_Main"), TypeError, "encode"),
                    (lambda: event.send(numpy.zeros((4, 4)).T[1:], 1, "physics_Main"), BufferError, "side by side"),
                    (lambda: event.send(b"x", -1, "physics_Main"), ValueError, "global_id is a number from 0x0 to"),
                    (lambda: event.send(b"x", 1, "physics"), ValueError, "physics"),
                    (lambda: event.send(b"x", 1, "physics_Main", timeout=float("nan")), ValueError, "seconds"),
                    (lambda: board.send(1 << 32, 1, b"x"), ValueError, "source is a number from 0x0 to 0xffffffff, not 0x100000000"),
                    (lambda: board.send(1, "one", b"x"), TypeError, "level1_id is a whole number, not 'one'"),
                    (lambda: board.send(1, 1, 5), TypeError, "bytes"),
                    (lambda: board.send(1, 1, b"x", status_words=[1, -1]), ValueError, "status word 1"),
                    (lambda: board.send(1, 1, b"x", status_words=range(65)), ValueError, "65 status words, 64 are the most"),
                    (lambda: board.send(1, 1, b"x", status_words=[1], kind="rod"), ValueError, "status words"),
                    (lambda: board.send(1, 1, b"x", kind="ros"), ValueError, "data, rod or rob, not 'ros'"),
                    (lambda: unit.send(1, words=range(257)), ValueError, "257 words, 256 are the most"),
                    (lambda: weir.Sender("nowhere", "me"), ValueError, "nowhere"),
                    (lambda: weir.Sender(address, "my name"), ValueError, "my name"),
                    (lambda: weir.Sender(address, "me", run=-1), ValueError, "run is a number"),
                    (lambda: weir.Sender(address, "me", format="raw"), ValueError, "opaque, event-5.0 or event-3.0"),
                    (lambda: weir.Sender(address, "me", give_up_after=-1), ValueError, "give_up_after"),
                    (lambda: weir.Sender(address, "me", tls=("a", "b")), ValueError, "three PEM files"),
                    (lambda: weir.Sender(address, "me", tls=("/none/a", "/none/b", "/none/c")), (ValueError, weir.SendError), "/none/")):
                with self.assertRaisesRegex(kind, words):
                    call()
            for to in (event, board, unit):
                self.assertEqual(to.stats().sent, 0)

    def test_a_process_that_was_forked_off_has_no_part_in_its_parents_sender(self):
        with Nobody() as address:
            to = weir.Sender(address, "events", on_state=lambda *_: None)
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    to.send(b"x", 1, "physics_Main")
                except weir.SendError as error:
                    code = 0 if "forked" in str(error) else 2
                to.close()
                del to
                os._exit(code)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            self.assertEqual(to.send(b"x", 1, "physics_Main"), 1)
            to.close()

    def test_a_program_that_ends_without_closing_ends_as_it_would(self):
        program = ("import sys, weir\n"
                   "kept = weir.Sender(sys.argv[1], 'kept', on_state=lambda *_: None, on_ended=lambda *_: print(kept))\n"
                   "kept.send(bytearray(9), 1, 'physics_Main', copy=False)\n"
                   "weir.FragmentSender(sys.argv[1], 'dropped', on_state=lambda *_: None).send(1, 1, b'x')\n"
                   "sys.exit(5)\n")
        with Nobody() as address, tempfile.TemporaryDirectory(prefix="weir-test-") as folder:
            ended = subprocess.run([sys.executable, "-c", program, address], capture_output=True, text=True, cwd=folder, timeout=ANSWER_IN_TIME)
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (5, "", ""))


if __name__ == "__main__":
    unittest.main()
