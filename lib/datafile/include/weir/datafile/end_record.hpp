// SPDX-License-Identifier: Apache-2.0
// The last record of a file, from what the file and its sequence hold.
#pragma once

#include <vector>

#include "weir/base/clock.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::datafile {

/// Of a file with so many events and bytes of events.
[[nodiscard]] inline std::vector<std::byte> end_record(const FileOpened& opened, std::uint64_t events,
                                                       std::uint64_t bytes, WallTime closed, bool last_of_sequence) {
    event::FileEnd end;
    end.closed = event::CalendarTime::local(closed);
    end.events_in_file = static_cast<std::uint32_t>(events);
    end.mib_in_file = event::rounded_mib(Bytes{bytes});
    end.events_in_sequence = static_cast<std::uint32_t>(opened.events_before + events);
    end.mib_in_sequence = event::rounded_mib(Bytes{opened.bytes_before + bytes});
    end.last_of_sequence = last_of_sequence;
    std::vector<std::byte> record(event::file_end_size_bytes);
    event::encode_file_end(std::span<std::byte, event::file_end_size_bytes>(record), end);
    return record;
}

}  // namespace weir::datafile
