// SPDX-License-Identifier: Apache-2.0
// Everything that can be set on a recorder, with its default. Filled and checked at the edge (command
// line, configuration file); every queue, pool and file has its limit here.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/checksum/parallel_adler32.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/event/check.hpp"
#include "weir/recorder/direct_io.hpp"

namespace weir::recorder {

/// How events come to their place and sum.
enum class Mode {
    receipt,   // the receiving thread copies and sums in one pass; the file's sum is folded
    original,  // one thread a stream, zlib's adler32 in it: as ATLAS recorded in Run 1 and 2
    parallel,  // the same with the parallel adler32 (Le Goff and Avolio)
    off,       // no adler32 at all
};
[[nodiscard]] const char* name(Mode mode) noexcept;
[[nodiscard]] std::optional<Mode> parse_mode(std::string_view text) noexcept;

/// What is done with an event whose lumi block was closed before it came.
enum class LatePolicy { new_file, reject };
[[nodiscard]] const char* name(LatePolicy policy) noexcept;
[[nodiscard]] std::optional<LatePolicy> parse_late_policy(std::string_view text) noexcept;

struct RecorderOptions {
    delivery::ReceiverOptions receiver;              // listen address, connections, event size, deadlines
    std::vector<std::filesystem::path> directories;  // one a volume; the catalogue is in the first
    bool create_directories = false;  // those that are not there, or have no marker: docs/formats/volume-marker.md
    std::string catalogue;         // empty: only there; postgresql://...: carried over into that one; else another file
    std::optional<RunNumber> run;  // nothing: one that a crash left open, else the next free one
    bool run_again = false;        // `run` goes on also where this recorder has closed it
    std::string project = "data_test";
    std::string recorder = "weir";  // the application in file names

    Mode mode = Mode::receipt;
    checksum::ParallelOptions parallel;  // for Mode::parallel
    event::Depth check = event::Depth::header;
    std::optional<std::uint32_t> file_version;  // 2 or 6; nothing: as the format needs it (3.0: 2, else 6)

    Bytes memory = 1_GiB;   // half for events being received, half for blocks being written
    Bytes segment = 1_MiB;  // of a block
    Bytes file_size_max = 4_GiB;
    std::uint32_t file_events_max = 0;  // 0: no limit
    std::chrono::seconds file_age_max{0};
    std::uint32_t files_per_stream = 1;  // open at once, of a stream and lumi block, each on another volume
    std::uint32_t streams_max = 64;
    std::uint32_t lumi_blocks_open_max = 8;              // of a stream
    std::chrono::milliseconds lumi_block_grace{10'000};  // after the first event of a newer block
    LatePolicy late = LatePolicy::new_file;
    std::uint32_t files_closing_max = 256;  // of a volume that wait to be closed; then no new ones are begun there

    bool unique_events = false;  // an event whose global id is stored already in this run is rejected as a duplicate
    Bytes unique_memory_max = 512_MiB;  // for their ids; then others are taken unchecked

    std::chrono::milliseconds sync_interval{50};
    bool sync = true;  // false breaks promise 2; loud, and written into the catalogue
    DirectIo direct = DirectIo::automatic;
    unsigned write_threads = 2;
    unsigned queue_depth = 32;

    Bytes disk_reserve = 0_B;                   // of a volume, kept to close what is open; 0: by its size
    Bytes disk_headroom = 0_B;                  // with less free it pauses; 0: as much as may be in write memory
    std::chrono::milliseconds disk_retry{100};  // first try of a volume that failed; then twice as long, up to 10 s
    std::chrono::milliseconds disk_silence_max{
        60'000};                              // without an end of any call, then a volume is taken out of use
    std::chrono::seconds full_warning{1800};  // alarm when the disks will be full sooner at the present rate

    /// Errc::usage: which option contradicts which, and what to change.
    [[nodiscard]] Result<> check_consistency() const;
};

}  // namespace weir::recorder
