# SPDX-License-Identifier: Apache-2.0
"""What a recorder has rejected is in its catalogue, by reason, when it was killed at any moment: each copy of which the sender
has an answer, and no more than the sender has sent. WEIR_KILLS is how often it is killed; ./run rejections N sets it."""
import collections
import os
import random
import sqlite3
import struct
import threading

import recorder_wire as wire
from weir_process import RecorderProcess
from weir_program import ProgramTest, main, run

RUN = 7
KILLS = int(os.environ.get("WEIR_KILLS", 12))
EVENT_5_0 = 1
NAMES = {4: "too_large", 5: "no_tags", 3: "malformed_event", 7: "streams_exceeded"}  # by the numbers of the protocol


class Rejected(threading.Thread):
    """A sender whose events are all rejected but the first. One at a time: of one at most it does not know whether it was counted."""

    def __init__(self, port, name, reason, form=wire.OPAQUE, **event):
        super().__init__(daemon=True)
        self.port, self.name_, self.reason, self.form, self.event = port, name, reason, form, event
        self.sent = self.answered = 0
        self.error = None

    def run(self):
        try:
            with wire.Peer(self.port) as peer:
                peer.send(wire.hello(RUN, self.name_, form=self.form))
                peer.receive_only(wire.WELCOME)
                if self.reason == "duplicate":
                    self.send_again(peer)
                sequence = 1
                while True:
                    self.sent += 1
                    peer.send(wire.event(sequence, b"x" * 100, oldest=sequence, **self.event))
                    answered, why = struct.unpack_from("<QH", peer.receive_only(wire.REJECT))
                    assert (answered, NAMES[why]) == (sequence, self.reason), (answered, why)
                    self.answered += 1
                    sequence += 1
        except (OSError, wire.Closed):
            pass  # killed
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def send_again(self, peer):
        message = wire.event(1, b"x" * 100, **self.event)
        peer.send(message)
        peer.receive_acknowledgement_of(1)
        while True:
            self.sent += 1
            peer.send(message)
            peer.receive_acknowledgement_of(1)
            self.answered += 1


class Rejections(ProgramTest):
    def recorder(self, port=None):
        settings = self.folder / "weir.toml"
        settings.write_text("[record]\nstreams_max = 3\n", encoding="ascii")
        return RecorderProcess(self.folder, self.folder / "data", "--config", settings, "--event-max", "1KiB", "--memory", "64MiB",
                               run=RUN, port=port)

    def counted(self):
        """By reason, and received, stored."""
        with sqlite3.connect(self.folder / "data" / "weir.catalogue", timeout=60) as catalogue:
            by_reason = dict(catalogue.execute("SELECT reason, SUM(copies) FROM reader_rejections GROUP BY reason"))
            totals = catalogue.execute("SELECT SUM(received), SUM(stored) FROM ledgers").fetchone()
        return by_reason, totals

    def test_the_catalogue_counts_what_was_answered_through_kills(self):
        weather = random.Random(17)
        answered, sent = collections.Counter(), collections.Counter()
        recorder = self.recorder()
        try:
            for kill in range(KILLS):
                name = b"-%d" % kill
                senders = [
                    Rejected(recorder.port, b"no-tags" + name, "no_tags", tag=None),
                    Rejected(recorder.port, b"malformed" + name, "malformed_event", EVENT_5_0, tag=(b"physics", b"Main")),
                    Rejected(recorder.port, b"one-stream-more" + name, "streams_exceeded", tag=(b"physics", b"Fourth")),
                    Rejected(recorder.port, b"again" + name, "duplicate", tags=[(b"calibration", b"One"), (b"calibration", b"Two"),
                                                                               (b"calibration", b"Three")]),
                ]
                senders[3].start()  # makes the streams
                self.wait_for_first(senders[3])
                for sender in senders[:3]:
                    sender.start()
                weather_stop = threading.Event()
                weather_stop.wait(weather.uniform(0.05, 1.2))
                recorder.kill()
                for sender in senders:
                    sender.join(60)
                    self.assertIsNone(sender.error)
                    copies = 3 if sender.reason == "duplicate" else 1  # one for each stream
                    answered[sender.reason] += copies * sender.answered
                    sent[sender.reason] += copies * sender.sent
                recorder = self.recorder(recorder.port)
                by_reason, _ = self.counted()
                for reason in answered:
                    self.assertLessEqual(answered[reason], by_reason.get(reason, 0), (reason, kill))
                    self.assertLessEqual(by_reason.get(reason, 0), sent[reason], (reason, kill))
            self.assertEnds(recorder.stop(), 0)
        finally:
            recorder.__exit__()
        by_reason, (received, stored) = self.counted()
        self.assertEqual(set(by_reason), set(answered))
        self.assertEqual(received, stored + sum(by_reason.values()))
        self.assertEqual(stored, 3 * KILLS)
        print(f"{KILLS} kills: answered {dict(answered)}, counted {by_reason}, sent {dict(sent)}", flush=True)
        self.assertEnds(run("verify", self.folder / "data"), 0)

    def wait_for_first(self, sender):
        while sender.sent == 0 and sender.is_alive():
            sender.join(0.005)


if __name__ == "__main__":
    main()
