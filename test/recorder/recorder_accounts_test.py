# SPDX-License-Identifier: Apache-2.0
"""The answers of a recorder to the events that it was sent: each is acknowledged and stored, or rejected and counted."""
import struct

import recorder_wire as wire
from recorder_wire import Peer
from weir_process import RecorderProcess, wait_until
from weir_program import ProgramTest, main

RUN = 7


class Accounts(ProgramTest):
    def setUp(self):
        super().setUp()
        self.recorder = RecorderProcess(self.folder, self.folder / "data", run=RUN)
        self.addCleanup(self.recorder.__exit__, None, None, None)

    def connect(self, name=b"test", **more):
        peer = Peer(self.recorder.port)
        self.addCleanup(peer.close)
        peer.send(wire.hello(RUN, name, **more))
        return peer, peer.receive_only(wire.WELCOME)

    def test_events_that_name_no_stream_are_counted_everywhere(self):
        peer, _ = self.connect()
        for sequence in range(1, 12):
            peer.send(wire.event(sequence, b"payload", tag=None if sequence % 2 == 0 else (b"physics", b"Main")))
        for sequence in (2, 4, 6, 8, 10):
            self.assertEqual(struct.unpack_from("<QH", peer.receive_only(wire.REJECT)), (sequence, wire.NO_TAGS))
        peer.receive_acknowledgement_of(11)
        self.assertEqual(self.recorder.metrics()['weir_rejected_events_total{reason="no_tags"}'], 5)
        self.recorder.printed(r"5 events were rejected \(no_tags 5\)|1 events were rejected \(no_tags 1\)")
        ended = self.assertEnds(self.recorder.stop(), 0)
        self.assertEqual(ended.json["events"], {"received": 11, "acknowledged": 6, "rejected": {"no_tags": 5}})
        self.assertEqual((ended.json["copies"]["received"], ended.json["copies"]["stored"]), (6, 6))

    def test_what_another_connection_claims_of_a_session_costs_no_event_of_it(self):
        secret = 0x1234_5678_9ABC_DEF0
        peer, _ = self.connect(b"filter", incarnation=secret)
        peer.send(wire.event(1, b"the first"))
        peer.receive_acknowledgement_of(1)
        other, _ = self.connect(b"filter", incarnation=secret, oldest=1 << 40)  # it holds none below
        self.assertEqual(peer.receive_bye()[0], wire.REPLACED)
        again, welcome = self.connect(b"filter", incarnation=secret, oldest=2)
        self.assertEqual(struct.unpack_from("<I", welcome, 4)[0], 0, "no ranges of sequences that are not here")
        self.assertEqual(struct.unpack_from("<Q", welcome, 24)[0], 1)
        for sequence in range(2, 102):
            again.send(wire.event(sequence, b"of the session", oldest=2))
        again.receive_acknowledgement_of(101)
        self.recorder.printed("ALARM sequence gap")
        self.recorder.printed("still holds")
        self.assertNotIn("%x" % secret, self.recorder.err)
        ended = self.assertEnds(self.recorder.stop(), 0)
        self.assertEqual((ended.json["events"]["acknowledged"], ended.json["copies"]["stored"]), (101, 101))
        other.close()

    def test_a_session_whose_oldest_held_falls_is_closed(self):
        peer, _ = self.connect(oldest=5)
        peer.send(wire.event(5, b"payload", oldest=5))
        peer.send(wire.event(6, b"payload", oldest=1))
        self.assertEqual(peer.receive_bye()[0], wire.MALFORMED)
        self.assertEnds(self.recorder.stop(), 0)


if __name__ == "__main__":
    main()
