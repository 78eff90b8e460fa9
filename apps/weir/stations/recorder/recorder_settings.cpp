// SPDX-License-Identifier: Apache-2.0
#include "stations/recorder/recorder_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "stations/frame/input_settings.hpp"
#include "stations/frame/setting_checks.hpp"

namespace weir::app {

void RecorderSettings::declare(service::Settings& settings, const std::string& section) {
    auto& o = options;
    if (section == alone) {  // in a partition run control sets these
        settings.add(section, "run", run, "run number; 0: the next free one of the catalogue");
        settings.add(section, "metrics", metrics, "address and port for Prometheus; port 0: any free one; empty: none");
        settings.add(section, "stop_deadline", stop_deadline,
                     "how long a stop takes: for events in hand, then for closing files, 5s at least; what is "
                     "open then is closed by the next start");
    }
    settings
        .add(section, "listen", listen,
             section == alone ? "address and port that senders connect to; port 0: any free one"
                              : "address and port that senders connect to; empty: 127.0.0.1:0, or the machine's "
                                "address in [network] data")
        .each(section == alone ? &check_address : &check_listen);
    settings.add(section, "directories", directories,
                 "where files go, one directory a disk; the catalogue is in the first");
    settings.add(section, "catalogue", o.catalogue,
                 "postgresql://...: shared with other recorders; a path: another file; "
                 "empty: only the one in the first directory");
    settings.add(section, "project", o.project, "project in file names");
    settings.add(section, "recorder", o.recorder, "name of this recorder in file names");
    settings
        .add(section, "mode", mode,
             "how checksums are made: by the receiving thread at receipt, by one thread a "
             "stream, by that thread with helpers, or not at all")
        .one_of({"receipt", "original", "parallel", "off"});
    settings.add(section, "check", check, "how deep each event is checked before it is taken")
        .one_of({"none", "header", "fragments"});
    settings.add(section, "file_version", file_version, "version of the files: 6 or 2; 0: 2 for event 3.0, else 6");
    settings.add(section, "memory", o.memory, "for events and blocks together; when it is full the senders wait");
    settings.add(section, "segment", o.segment, "size of a block that is written at once");
    settings.add(section, "event_max", o.receiver.event_size_max, "largest event that is taken");
    settings.add(section, "file_size_max", o.file_size_max, "a file ends before it grows beyond this");
    settings.add(section, "file_events_max", o.file_events_max, "a file ends at this many events; 0: no limit");
    settings.add(section, "file_age_max", o.file_age_max, "a file ends at this age; 0s: no limit");
    settings
        .add(section, "files_per_stream", o.files_per_stream,
             "files of a stream and lumi block that are open at once, each on another disk")
        .at_least(1)
        .at_most(64);
    settings.add(section, "streams_max", o.streams_max, "streams of a run").at_least(1).at_most(4096);
    settings
        .add(section, "lumi_blocks_open_max", o.lumi_blocks_open_max, "lumi blocks of a stream that stay open at once")
        .at_least(1);
    settings.add(section, "lumi_block_grace", o.lumi_block_grace,
                 "a lumi block closes this long after a newer one began");
    settings.add(section, "late", late, "an event of a lumi block that is closed: into a new file, or rejected")
        .one_of({"new-file", "reject"});
    settings
        .add(section, "files_closing_max", o.files_closing_max,
             "files of a disk that wait to be closed; then no new ones are begun there; when that is so on all disks "
             "senders wait")
        .at_least(1)
        .at_most(65536);
    settings.add(section, "sync_interval", o.sync_interval,
                 "how long an event may wait for the sync that acknowledges it");
    settings.add(section, "sync", o.sync, "false: acknowledged WITHOUT being on stable storage; for measurements");
    settings.add(section, "direct", direct, "direct I/O through io_uring; auto: on ext4 and XFS")
        .one_of({"auto", "on", "off"});
    settings.add(section, "write_threads", o.write_threads, "threads that write, where io_uring is not used")
        .at_least(1)
        .at_most(64);
    settings.add(section, "queue_depth", o.queue_depth, "blocks being written at once").at_least(1).at_most(1024);
    settings.add(section, "disk_reserve", o.disk_reserve,
                 "of each disk, kept to close what is open; 0B: 1/32 of it, 256KiB to 16MiB");
    settings.add(section, "disk_headroom", o.disk_headroom,
                 "with less free a disk pauses; 0B: half of memory, at most 1/16 of the disk");
    settings.add(section, "disk_retry", o.disk_retry,
                 "until a disk that failed is tried again; then twice as long, up to 10 s");
    settings.add(section, "disk_silence_max", o.disk_silence_max,
                 "without an end of any call a disk is taken out of use after this");
    settings.add(section, "full_warning", o.full_warning,
                 "alarm when the disks will be full sooner at the present rate; 0s: none");
    settings.add(section, "receivers", o.receiver.threads, "threads that receive; 0: one a core, at most 4")
        .at_most(256);
    settings.add(section, "connections_max", o.receiver.connections_max, "connections at once").at_least(1);
    settings.add(section, "idle_when_full", o.receiver.idle_when_full,
                 "when all connections are taken, those without an event for so long "
                 "make room");
    settings.add(section, "header_deadline", o.receiver.header_deadline,
                 "for HELLO, and to finish a header once begun");
    settings.add(section, "payload_idle_max", o.receiver.payload_idle_max,
                 "without one byte of an event that was begun");
    settings.add(section, "payload_rate_min", o.receiver.payload_rate_min,
                 "bytes per second of an event that was begun; 0B: any");
    settings
        .add(section, "checksum_threads", checksum_threads, "mode parallel: threads besides the stream's own; 0: none")
        .at_most(256);
    settings.add(section, "checksum_cutoff", checksum_cutoff,
                 "mode parallel: smaller events are not split; 0B: measured at start");
    settings.add(section, "tls_certificate", tls_certificate,
                 "PEM file; senders must use TLS and show a certificate of tls_ca");
    settings.add(section, "tls_key", tls_key, "PEM file: the key of tls_certificate");
    settings.add(section, "tls_any_name", options.receiver.tls_any_name,
                 "true: a certificate of tls_ca is good for senders of every name, not of its own alone");
    settings.add(section, "heartbeat", options.receiver.heartbeat,
                 "each end of a connection sends something this often; three times "
                 "nothing ends it. 0s: never");
    settings.add(section, "tls_ca", tls_ca, "PEM file: the authority that signs the certificates of senders");
    settings.add(section, "plain", plain, "true: plain TCP also on addresses that other machines reach");
    settings.add(section, "unique_events", o.unique_events,
                 "true: an event with a global id that is stored already in this run, from any "
                 "sender, is rejected as a duplicate");
    settings.add(section, "unique_memory_max", o.unique_memory_max,
                 "for the global ids of a run; beyond it new ones are taken "
                 "unchecked, with an alarm");
}

Result<recorder::RecorderOptions> RecorderSettings::to_options() const {
    auto result = options;
    const auto address = WEIR_TRY(transport::parse_host_port(listen));
    result.receiver.listen = address;
    result.receiver.tls = {tls_certificate, tls_key, tls_ca};
    if (!result.receiver.tls.any() && !plain) {
        WEIR_TRY(check_plain(address, "--tls-certificate, --tls-key and --tls-ca, or --plain"));
    }
    for (const auto& directory : directories) result.directories.emplace_back(directory);
    if (run != 0) result.run = RunNumber{run};
    const auto mode_word = recorder::parse_mode(mode);
    if (!mode_word)
        return fail(Errc::usage, fmt::format("\"{}\" is not a mode; choose receipt, original, parallel or off", mode));
    result.mode = *mode_word;
    const auto depth = event::parse_depth(check);
    if (!depth)
        return fail(Errc::usage,
                    fmt::format("\"{}\" is not a depth of checks; choose none, header or fragments", check));
    result.check = *depth;
    const auto policy = recorder::parse_late_policy(late);
    if (!policy)
        return fail(Errc::usage,
                    fmt::format("\"{}\" is not a policy for late events; choose new-file or reject", late));
    result.late = *policy;
    if (direct == "auto") {
        result.direct = recorder::DirectIo::automatic;
    } else if (direct == "on" || direct == "off") {
        result.direct = direct == "on" ? recorder::DirectIo::on : recorder::DirectIo::off;
    } else {
        return fail(Errc::usage, fmt::format("\"{}\" is not a choice for direct I/O; choose auto, on or off", direct));
    }
    if (file_version != 0) result.file_version = file_version;
    result.parallel.threads = checksum_threads;
    result.parallel.cutoff = checksum_cutoff.count();
    WEIR_TRY(result.check_consistency());
    return result;
}

}  // namespace weir::app
