// SPDX-License-Identifier: Apache-2.0
#include "watch/tap/tap_file.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "files/events/bare_events.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::app {

Result<TapFile> TapFile::create(const std::filesystem::path& path) {
    return TapFile(WEIR_TRY(File::open(path, File::Mode::create_new)));
}

Result<> TapFile::append(ConstData bytes) {
    WEIR_TRY(file_.write_at(at_, bytes));
    at_ += bytes.size();
    return {};
}

Result<> TapFile::write(ConstData bytes, WallTime now) {
    if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) return fail(Errc::limit, "an event of 4 GiB or more");
    const auto format = BareEvents::format_of(bytes);
    const auto event = event::EventView::parse(bytes, format);
    const auto run = event ? event->ids().run : run_;  // a damaged one belongs to those beside it
    if (!format_) {
        event::FileHead head;
        head.version = format == event::Format::event_3_0 ? event::file_version_bes3 : event::file_version_current;
        head.opened = event::CalendarTime::local(now);
        head.application = "weir-tap";
        head.name_core = "weir_tap";
        head.run.run = run;
        if (format != event::Format::event_3_0)
            head.metadata = event::compose_metadata(Guid::random(), {}, parse_stream_key("monitoring_Tap").value(),
                                                    "tap", LumiBlock{}, format);
        const auto encoded = WEIR_TRY(event::encode_file_head(head));
        WEIR_TRY(append(encoded));
        format_ = format;
        run_ = run;
    }
    if (run_ == RunNumber{}) run_ = run;
    if (event && (run != run_ || format != *format_))
        return fail(Errc::refused, fmt::format("{} has events of run {}, and one of run {} came", file_.path().native(),
                                               number(run_), number(run)));
    std::array<std::byte, event::separator_size_bytes> separator{};
    event::encode_separator(separator, {++events_, static_cast<std::uint32_t>(bytes.size())});
    WEIR_TRY(append(separator));
    event_bytes_ += bytes.size();
    return append(bytes);
}

Result<> TapFile::finish(WallTime now) {
    if (!format_) return {};  // no event came: the file is empty
    const auto mib = event::rounded_mib(Bytes{event_bytes_});
    std::array<std::byte, event::file_end_size_bytes> end{};
    event::encode_file_end(end, {.closed = event::CalendarTime::local(now),
                                 .events_in_file = events_,
                                 .mib_in_file = mib,
                                 .events_in_sequence = events_,
                                 .mib_in_sequence = mib,
                                 .last_of_sequence = true});
    return append(end);
}

}  // namespace weir::app
