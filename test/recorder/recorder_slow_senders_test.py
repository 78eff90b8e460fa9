# SPDX-License-Identifier: Apache-2.0
"""Ten senders that are slow, each above the least rate and each with an event as large as is taken: a good sender beside
them does not stand still until theirs have come or are disconnected."""
import threading

import recorder_wire as wire
from weir_process import RecorderProcess, SenderProcess
from weir_program import ProgramTest, main

SLOW = 10
SIZE = 60 << 20
PIECE = 96 << 10
PIECES_A_SECOND = 16  # 1.5 MiB/s each: above the least rate also when memory is short


class SlowSenders(ProgramTest):
    def test_a_good_sender_is_done_before_ten_slow_ones_have_sent_one_event_each(self):
        with RecorderProcess(self.folder, self.folder / "data") as recorder:
            stop, sent, peers = threading.Event(), [0] * SLOW, []

            def send_slowly(n, peer):
                piece = bytes(PIECE)
                while sent[n] < SIZE and not stop.wait(1 / PIECES_A_SECOND):
                    try:
                        peer.send(piece[:SIZE - sent[n]])
                    except OSError:  # it was too slow for a recorder whose memory is short, or had to wait for too long
                        return
                    sent[n] += PIECE

            for n in range(SLOW):
                peers.append(wire.Peer(recorder.port))
                peers[-1].send(wire.hello(7, b"slow-%d" % n))
                peers[-1].send(wire.event(1, b"", size=SIZE))  # the header; the sum is never looked at
            threads = [threading.Thread(target=send_slowly, args=each) for each in enumerate(peers)]
            for thread in threads:
                thread.start()
            try:
                with SenderProcess(self.folder, recorder.port, "--events", 300, "--connections", 2) as sender:
                    report = sender.report()
                at_the_end = list(sent)
                self.assertGreater(recorder.metrics()["weir_events_waiting_for_memory"], 0)
                self.assertGreater(recorder.metrics()["weir_memory_waits_total"], 0)
                recorder.printed("ALARM.*senders wait for memory")  # when one of the slow has waited for 10 s
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
                for peer in peers:
                    peer.close()
            self.assertEqual(report["events"]["acknowledged"], 300)
            self.assertTrue(all(size < SIZE for size in at_the_end), at_the_end)
            self.assertEnds(recorder.stop(), 0)


if __name__ == "__main__":
    main()
