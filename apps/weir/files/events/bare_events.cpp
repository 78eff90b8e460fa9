// SPDX-License-Identifier: Apache-2.0
#include "files/events/bare_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/base/endian.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/markers.hpp"

namespace weir::app {
namespace {

constexpr std::uint64_t start_size = 2 * event::word_bytes;  // marker and size

}  // namespace

bool holds_bare_events(const std::filesystem::path& path) {
    const auto file = File::open(path, File::Mode::read);
    std::array<std::byte, start_size> start{};
    return file && file->read_at(0, start) && load_little<std::uint32_t>(start) == event::event_marker;
}

Result<BareEvents> BareEvents::open(const std::filesystem::path& path) {
    auto file = WEIR_TRY(File::open(path, File::Mode::read));
    const auto size = WEIR_TRY(file.size());
    return BareEvents(std::move(file), size);
}

Result<std::optional<FileWalk::Block>> BareEvents::next(std::vector<std::byte>& bytes) {
    if (at_ == size_) return std::nullopt;
    const auto where = [&] { return fmt::format("{}, offset {}", file_.path().native(), at_); };
    std::array<std::byte, start_size> start{};
    if (size_ - at_ < start.size()) return fail(Errc::truncated, fmt::format("{}: ends inside an event", where()));
    WEIR_TRY(file_.read_at(at_, start));
    const auto size = event::EventView::announced_size(start);
    if (!size) return fail(size.error().code, fmt::format("{}: {}", where(), size.error().context));
    if (*size < start.size()) return fail(Errc::corrupt, fmt::format("{}: its header gives {} bytes", where(), *size));
    if (*size > datafile::RawFileReader::event_size_max.count())
        return fail(Errc::limit, fmt::format("{}: its header gives {} bytes, more than {}", where(), *size,
                                             to_string(datafile::RawFileReader::event_size_max)));
    if (*size > size_ - at_)
        return fail(Errc::truncated,
                    fmt::format("{}: its header gives {} bytes, and {} are there", where(), *size, size_ - at_));
    bytes.resize(*size);
    WEIR_TRY(file_.read_at(at_, bytes));
    FileWalk::Block block;
    block.number = ++events_;
    block.offset = at_;
    block.separator.block_number = static_cast<std::uint32_t>(events_);
    block.separator.size = static_cast<std::uint32_t>(*size);
    at_ += *size;
    return block;
}

event::Format BareEvents::format_of(ConstData event) {
    return event::EventView::parse(event, event::Format::event_3_0) ? event::Format::event_3_0
                                                                    : event::Format::event_5_0;
}

}  // namespace weir::app
