// SPDX-License-Identifier: Apache-2.0
#include "stations/handoff/handoff_metrics.hpp"

namespace weir::app {

service::Metrics::Collection collect_handoff(service::Metrics& metrics, const handoff::HandOff& hand_off,
                                             catalogue::Catalogue& catalogue, const Clock& clock) {
    return metrics.collect([&hand_off, &catalogue, &clock](service::MetricSink& sink) {
        const auto summary = hand_off.summary();
        const auto real = [](auto n) { return static_cast<double>(n); };
        for (const auto& d : summary.destinations) {
            const service::Labels labels{{"destination", d.name}};
            sink.counter("weir_handoff_files_total", "files copied and verified", labels, real(d.transferred));
            sink.counter("weir_handoff_verified_bytes_total", "bytes of files copied and verified", labels,
                         real(d.bytes));
            sink.counter("weir_handoff_sent_bytes_total", "bytes sent, also of attempts that failed", labels,
                         real(d.bytes_sent));
            sink.counter("weir_handoff_failures_total", "attempts that failed", labels, real(d.failed));
            sink.counter("weir_handoff_wrong_bytes_total",
                         "attempts after which the destination had other bytes than it was sent", labels,
                         real(d.wrong_bytes));
            sink.counter("weir_handoff_unverified_total", "copies whose sum the destination did not say when asked",
                         labels, real(d.unverified));
            sink.gauge("weir_handoff_waiting_files", "files to be copied, now or later", labels, real(d.waiting));
            sink.gauge("weir_handoff_files_in_hand", "files being copied", labels, real(d.in_hand));
            sink.gauge("weir_handoff_oldest_seconds", "age of the oldest file that is not copied, since it was closed",
                       labels, d.oldest ? std::chrono::duration<double>(clock.wall() - *d.oldest).count() : 0);
            sink.gauge("weir_handoff_destination_up", "0 after an attempt that failed by the destination", labels,
                       d.up ? 1 : 0);
        }
        sink.counter("weir_handoff_transferred_files_total", "files that every destination has", {},
                     real(summary.files_transferred));
        sink.counter("weir_handoff_quarantined_files_total", "files found damaged here, and not handed over", {},
                     real(summary.files_quarantined));
        sink.counter("weir_handoff_files_without_sum_total", "files not handed over: the catalogue has no sum of them",
                     {}, real(summary.files_without_sum));
        sink.counter("weir_handoff_deleted_files_total", "files deleted here", {}, real(summary.files_deleted));
        sink.counter("weir_handoff_deleted_bytes_total", "bytes of files deleted here", {},
                     real(summary.bytes_deleted));
        sink.counter("weir_handoff_catalogue_failures_total", "times the catalogue could not be read or written", {},
                     real(summary.catalogue_failures));
        if (const auto waiting = catalogue.changes_waiting())
            sink.gauge("weir_catalogue_changes_waiting", "changes that have not reached the shared catalogue yet", {},
                       real(*waiting));
    });
}

}  // namespace weir::app
