// SPDX-License-Identifier: Apache-2.0
#include "stations/recorder/recorder_metrics.hpp"

#include <fmt/format.h>

namespace weir::app {

service::Metrics::Collection collect_recorder(service::Metrics& metrics, const recorder::Recorder& recorder) {
    return metrics.collect([&recorder](service::MetricSink& sink) {
        const auto s = recorder.summary();
        const auto real = [](auto n) { return static_cast<double>(n); };
        const auto seconds = [](std::chrono::nanoseconds t) { return std::chrono::duration<double>(t).count(); };
        sink.gauge("weir_run_info", "the run that is being recorded", {{"run", fmt::to_string(number(s.run))}}, 1);
        sink.counter("weir_received_events_total", "whole events received", {}, real(s.receiver.received));
        sink.counter("weir_received_bytes_total", "payload bytes of events taken", {}, real(s.receiver.bytes));
        sink.counter("weir_acknowledged_events_total", "events on stable storage", {}, real(s.receiver.acknowledged));
        for (const auto& [reason, count] : s.events_rejected)
            sink.counter("weir_rejected_events_total",
                         "events received and neither acknowledged nor in hand, by reason", {{"reason", reason}},
                         real(count));
        sink.counter("weir_duplicate_events_total", "events received again and not stored again", {},
                     real(s.receiver.duplicates));
        sink.counter("weir_unchecked_events_total",
                     "with unique_events: events taken without looking for their duplicates", {},
                     real(s.events_unchecked));
        sink.counter("weir_partial_events_total", "events cut off by the end of their connection", {},
                     real(s.receiver.partial));
        sink.counter("weir_skipped_sequences_total", "sequences that senders skipped", {}, real(s.receiver.gaps));
        for (std::size_t i = 1; i < wire::bye_reason_count; ++i)
            sink.counter("weir_connections_closed_total", "connections that the recorder ended, by reason",
                         {{"reason", wire::name(static_cast<wire::ByeReason>(i))}}, real(s.receiver.closed[i]));
        sink.counter("weir_insecure_connections_total",
                     "connections that ended because of TLS: certificates, or other bytes", {},
                     real(s.receiver.insecure));
        if (const auto ends = recorder.certificate_ends())
            sink.gauge("weir_tls_certificate_ends_timestamp_seconds",
                       "when the certificate of a port ends, seconds since 1970", {{"port", "data"}},
                       seconds(ends->time_since_epoch()));
        sink.gauge("weir_connections", "connections open now", {}, real(s.receiver.connections));
        for (const auto& stream : s.streams) {
            const service::Labels labels{{"stream", stream.name}};
            sink.counter("weir_copies_received_total", "copies received: stored + rejected + in hand", labels,
                         real(stream.copies.received));
            sink.counter("weir_copies_stored_total", "copies on stable storage", labels, real(stream.copies.stored));
            sink.counter("weir_stored_bytes_total", "bytes of events stored", labels, real(stream.copies.bytes_stored));
            sink.gauge("weir_copies_in_hand", "copies received and not yet stored or rejected", labels,
                       real(stream.copies.in_hand()));
            sink.gauge("weir_stream_files_open", "files of the stream that are open, of all its lumi blocks", labels,
                       real(stream.files_open));
        }
        for (const auto& [reason, count] : s.copies_rejected)
            sink.counter("weir_copies_rejected_total", "copies refused, by reason", {{"reason", reason}}, real(count));
        sink.counter("weir_files_closed_total", "files closed", {}, real(s.files));
        sink.gauge("weir_catalogue_changes_waiting", "changes that the shared catalogue does not have yet", {},
                   real(s.catalogue_changes_waiting));
        sink.gauge("weir_event_memory_bytes", "memory of events being received", {}, real(s.buffers_in_use.count()));
        sink.counter("weir_memory_waits_total", "times that an event had to wait for memory before its bytes were read",
                     {}, real(s.receiver.waits_for_memory));
        sink.gauge("weir_events_waiting_for_memory",
                   "events that wait for memory that others hold of which not all bytes have come", {},
                   real(s.receiver.waiting_for_others));
        sink.gauge("weir_memory_limit_bytes", "configured limit of event and block memory", {},
                   real(s.memory_limit.count()));
        sink.gauge("weir_segments_free", "free blocks of write memory", {}, real(s.segments_free));
        sink.gauge("weir_segments", "blocks of write memory", {}, real(s.segments));
        for (const auto& volume : s.volumes) {
            const service::Labels labels{{"volume", volume.directory}};
            sink.gauge("weir_volume_free_bytes", "free space of a volume, without the reserve", labels,
                       real(volume.free_space.count()));
            sink.gauge("weir_volume_full", "1 while the volume is full and takes no events", labels,
                       volume.state == recorder::VolumeState::full ? 1 : 0);
            sink.gauge("weir_volume_failed", "1 while the volume has failed and takes no events", labels,
                       volume.state == recorder::VolumeState::failed ? 1 : 0);
            sink.histogram("weir_sync_duration_seconds",
                           "time of sync rounds of a volume: data of each file that has some, and the journal", labels,
                           volume.syncs);
        }
        sink.gauge("weir_files_waiting", "files that wait to be closed", {}, real(s.files_waiting));
        sink.gauge("weir_waits_for_closing",
                   "1 while so many files wait to be closed that no new ones are begun and senders wait", {},
                   s.waits_for_closing ? 1 : 0);
        sink.gauge("weir_recording_paused", "1 while no volume takes events and the senders wait", {},
                   s.paused ? 1 : 0);
        if (s.until_full)
            sink.gauge("weir_until_full_seconds", "until the volumes are full, at the rate of the last 3 minutes", {},
                       real(s.until_full->count()));
        sink.histogram("weir_acknowledgement_duration_seconds",
                       "from the arrival of a whole event to its acknowledgement, of one event in 64", {}, s.answers);
        sink.gauge("weir_recording_failed", "1 while every volume has failed", {}, recorder.failure() ? 1 : 0);
    });
}

}  // namespace weir::app
