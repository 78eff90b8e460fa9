// SPDX-License-Identifier: Apache-2.0
#include "weir/workload/replay_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "raw_file_contents.hpp"
#include "weir/base/assert.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::workload {
namespace {

constexpr Bytes uncompressed_max = 64_MiB;  // of one event

/// A copy with new ids, and the pool that it came from (which must go last).
struct Copy {
    std::shared_ptr<memory::BufferPool> pool;
    memory::Buffer buffer;
};

StreamTag whole_events(std::string type, std::string name) {
    StreamTag tag;
    tag.type = std::move(type);
    tag.name = std::move(name);
    return tag;
}

event::RodRules rules_of(event::Format format) {
    return format == event::Format::event_3_0 ? event::RodRules::bes3() : event::RodRules{};
}

}  // namespace

StreamTag stream_of_file(const std::filesystem::path& path, std::optional<std::string_view> head_stream) {
    if (head_stream) {
        if (auto tag = parse_stream_key(*head_stream)) return std::move(*tag);
    }
    if (const auto parsed = event::parse_raw_file_name(path.filename().native())) {
        if (valid_stream_type(parsed->name.stream_type) && valid_stream_name(parsed->name.stream_name))
            return whole_events(parsed->name.stream_type, parsed->name.stream_name);
    }
    const auto stem = path.stem().native();
    return whole_events("physics", valid_stream_name(stem) ? stem : "Replay");
}

Result<std::unique_ptr<ReplaySource>> ReplaySource::open(const ReplayOptions& options, FileSystem& system) {
    if (options.files.empty()) return fail(Errc::usage, "no file to replay was named");
    std::unique_ptr<ReplaySource> source(new ReplaySource);
    source->keep_ids_ = options.keep_ids;
    source->first_id_ = options.first_id;
    for (const auto& path : options.files) {
        WEIR_TRY(source->read(path, options, system));
    }
    if (source->events_.empty())
        return fail(Errc::usage,
                    fmt::format("{} holds no event; name a file with events", options.files.front().native()));
    // Classes of buffers are up to a quarter larger than what is asked for; two must fit at least.
    const auto limit = std::max(options.copies_size_max, Bytes{source->event_size_max_} * 3);
    source->copies_ = std::make_shared<memory::BufferPool>(limit);
    return source;
}

Result<> ReplaySource::read(const std::filesystem::path& path, const ReplayOptions& options, FileSystem& system) {
    const auto left = options.files_size_max - std::min(files_size_, options.files_size_max);
    auto file =
        WEIR_TRY(read_raw_file(path, left,
                               fmt::format("the files together are larger than {}, and are held in memory; name fewer",
                                           to_string(options.files_size_max)),
                               system));
    files_size_ += Bytes{file.bytes->size()};
    if (!file.index.end)
        reports_.push_back(
            fmt::format("{} has no end record; whole events, which are sent: {}; bytes behind them, which are not: {}",
                        path.native(), file.index.blocks.size(), file.index.bytes_after));
    if (auto added = add(path, options, file); !added) return in_file(path, std::move(added.error()));
    return {};
}

Result<> ReplaySource::add(const std::filesystem::path& path, const ReplayOptions& options,
                           const RawFileContents& file) {
    const auto& head = file.index.head;
    const auto format = head.format();
    if (events_.empty()) {
        format_ = format;
        run_ = options.run.value_or(head.run.run);
    }
    if (format != format_)
        return fail(Errc::usage,
                    fmt::format("it holds {} events and the files before it {}; send them one after the other",
                                event::name(format), event::name(format_)));
    if (keep_ids_ && format == event::Format::opaque)
        return fail(Errc::usage, "opaque events have no ids to keep; leave --keep-ids out");
    if (keep_ids_ && head.run.run != run_)
        return fail(Errc::usage,
                    fmt::format("--keep-ids keeps run {} of this file, which is not run {}; send it alone and "
                                "without --run",
                                number(head.run.run), number(run_)));

    const auto stream = options.stream ? *options.stream : stream_of_file(path, head.metadata_value("Stream"));
    const auto events = file.index.blocks.size();
    events_.reserve(events_.size() + events);
    for (std::size_t i = 0; i < events; ++i) {
        auto event = look_at(file.event(i), file.bytes, stream);
        if (!event) return std::unexpected(in_event(i + 1, std::move(event.error())));
        event_size_max_ = std::max<std::uint64_t>(event_size_max_, event->bytes.size());
        events_.push_back(std::move(*event));
    }
    return {};
}

Result<ReplaySource::RecordedEvent> ReplaySource::look_at(ConstData bytes, std::shared_ptr<const Contents> owner,
                                                          const StreamTag& stream) const {
    if (bytes.empty()) return fail(Errc::unsupported, "it has no bytes; an event without payload cannot be sent");
    RecordedEvent recorded{.bytes = bytes, .owner = std::move(owner), .tags = {stream}};
    if (format_ == event::Format::opaque) return recorded;

    const auto view = WEIR_TRY(event::EventView::parse(bytes, format_));
    recorded.ids = view.ids();
    auto tags = WEIR_TRY(view.stream_tags());
    if (!tags.empty()) recorded.tags = std::move(tags);
    if (keep_ids_) return recorded;

    if (view.compression() != event::Compression::none) {  // the ids inside must change too
        auto unpacked = WEIR_TRY(event::decompress_event(view, uncompressed_max));
        recorded.owner = std::make_shared<const Contents>(std::move(unpacked));
        recorded.bytes = *recorded.owner;
    }
    auto plan = event::RestampPlan::make(recorded.bytes, format_, rules_of(format_));
    if (!plan) {
        plan.error().context += "; --keep-ids sends it as it is";
        return std::unexpected(std::move(plan.error()));
    }
    recorded.plan = std::move(*plan);
    return recorded;
}

SourcedEvent ReplaySource::unchanged(const RecordedEvent& event, std::uint64_t n) const {
    const bool opaque = format_ == event::Format::opaque;
    return {.global_id = opaque ? global_id_of(n, first_id_) : event.ids.global_id,
            .level1_id = opaque ? level1_id_of(n) : event.ids.level1_id,
            .lumi_block = event.ids.lumi_block,
            .tags = event.tags,
            .data = event.bytes,
            .owner = event.owner};
}

std::optional<SourcedEvent> ReplaySource::make(std::uint64_t n) {
    WEIR_ASSERT(repeats() || n < events_.size());
    const auto& event = events_[static_cast<std::size_t>(n % events_.size())];
    if (!event.plan) return unchanged(event, n);

    auto buffer = copies_->try_take(event.bytes.size());
    if (!buffer) return std::nullopt;
    auto ids = event.ids;
    ids.run = run_;
    ids.global_id = global_id_of(n, first_id_);
    ids.level1_id = level1_id_of(n);
    std::ranges::copy(event.bytes, buffer->data().begin());
    event.plan->apply(buffer->data(), ids);

    auto copy = std::make_shared<Copy>(Copy{.pool = copies_, .buffer = std::move(*buffer)});
    const auto data = std::as_const(copy->buffer).data();
    return SourcedEvent{.global_id = ids.global_id,
                        .level1_id = ids.level1_id,
                        .lumi_block = ids.lumi_block,
                        .tags = event.tags,
                        .data = data,
                        .owner = std::move(copy)};
}

}  // namespace weir::workload
