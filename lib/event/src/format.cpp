// SPDX-License-Identifier: Apache-2.0
#include "weir/event/format.hpp"

#include "weir/event/raw_file_records.hpp"

namespace weir::event {

const char* name(Format format) noexcept {
    switch (format) {
        case Format::opaque: return "opaque";
        case Format::event_5_0: return "event-5.0";
        case Format::event_3_0: return "event-3.0";
    }
    return "unknown";
}

std::optional<Format> parse_format(std::string_view text) noexcept {
    for (const auto format : {Format::opaque, Format::event_5_0, Format::event_3_0})
        if (text == name(format)) return format;
    return std::nullopt;
}

std::uint32_t file_version(Format format) noexcept {
    return format == Format::event_3_0 ? file_version_bes3 : file_version_current;
}

}  // namespace weir::event
