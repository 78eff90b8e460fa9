// SPDX-License-Identifier: Apache-2.0
#include "weir/service/event_tap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "weir/base/report.hpp"
#include "weir/base/source_id.hpp"
#include "weir/base/stream_tag.hpp"

namespace weir::service {
namespace {

constexpr std::chrono::milliseconds tap_wait_max{10'000};
constexpr int rest_times = 200;  // after a look, as long as it took

std::optional<std::uint64_t> tap_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

Result<> read_tap_field(std::string_view key, std::string_view value, TapWish& wish) {
    const auto wrong = [&](const char* is) {
        return fail(Errc::usage,
                    fmt::format("{}={} is no wish; {}", on_one_line(key, 40), on_one_line(value, 100), is));
    };
    const auto number = tap_number(value);
    if (key == "stream") {
        if (!parse_stream_key(value)) return wrong("a stream is TYPE_NAME, such as physics_Main");
        wish.stream = value;
    } else if (key == "source") {
        wish.source = parse_source_id(value);
        if (!wish.source) return wrong("a source is a number such as 0x420000");
    } else if (key == "size_min" || key == "size_max") {
        if (!number) return wrong("a size is a number of bytes");
        (key == "size_min" ? wish.size_min : wish.size_max) = *number;
    } else if (key == "incomplete") {
        if (value != "1" && value != "0") return wrong("it is 0 or 1");
        wish.incomplete = value == "1";
    } else if (key == "wait") {
        if (!number || *number > static_cast<std::uint64_t>(tap_wait_max.count()))
            return wrong("it is a number of milliseconds up to 10000");
        wish.wait = std::chrono::milliseconds{*number};
    } else {
        return wrong("there are stream, source, size_min, size_max, incomplete and wait");
    }
    return {};
}

/// Unless the tags are known, and none is of the stream.
bool may_have(const std::string& stream, std::span<const StreamTag> tags) {
    return stream.empty() || tags.empty() ||
           std::ranges::any_of(tags, [&](const StreamTag& tag) { return stream_key(tag) == stream; });
}

/// For an answer that has to say why there was no event.
void note_streams(std::vector<std::string>& seen, std::span<const StreamTag> tags) {
    for (const auto& tag : tags) {
        auto key = stream_key(tag);
        if (seen.size() < EventTap::streams_max && std::ranges::find(seen, key) == seen.end())
            seen.push_back(std::move(key));
    }
}

}  // namespace

Result<TapWish> parse_tap_wish(std::string_view query) {
    TapWish wish;
    while (!query.empty()) {
        const auto field = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(query.size(), field.size() + 1));
        const auto equals = std::min(field.find('='), field.size());
        WEIR_TRY(read_tap_field(field.substr(0, equals), field.substr(std::min(equals + 1, field.size())), wish));
    }
    return wish;
}

void EventTap::offer(std::span<const ConstData> pieces, const Facts& facts, const Clock& clock) {
    const auto begin = clock.now();
    if (begin.time_since_epoch().count() < next_.load(std::memory_order_relaxed)) return;
    std::size_t size = 0;
    for (const auto& piece : pieces) size += piece.size();
    std::vector<Waiting> answered;
    {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock()) return;
        std::string copy;
        for (auto& waiting : waiting_) {
            ++waiting.so_far.passed;
            const auto& wish = waiting.wish;
            if (!may_have(wish.stream, facts.tags)) {
                note_streams(waiting.so_far.streams, facts.tags);
                continue;
            }
            if ((wish.incomplete && !facts.incomplete) || size < wish.size_min || size > wish.size_max) continue;
            if (size > event_max.count()) {
                ++waiting.so_far.too_large;
                continue;
            }
            if (copy.empty()) {
                copy.reserve(size);
                for (const auto& piece : pieces) copy += as_text(piece);
            }
            auto in_event = wish;
            if (!facts.tags.empty()) in_event.stream.clear();  // decided above; the event's own may be others
            const bool look = !in_event.stream.empty() || in_event.source;
            if (look && matches_ && !matches_(as_data(copy), in_event)) continue;
            waiting.so_far.event = copy;
        }
        for (std::size_t i = 0; i < waiting_.size();) {
            if (waiting_[i].so_far.event) {
                answered.push_back(std::move(waiting_[i]));
                waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
            } else {
                ++i;
            }
        }
        waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
    }
    for (auto& one : answered) one.done(std::move(one.so_far));
    const auto end = clock.now();
    next_.store((end + rest_times * (end - begin)).time_since_epoch().count(), std::memory_order_relaxed);
}

void EventTap::ask(TapWish wish, SteadyTime now, Done done) {
    {
        const std::scoped_lock lock(mutex_);
        if (waiting_.size() < waiting_max) {
            const auto until = now + wish.wait;
            waiting_.push_back({std::move(wish), until, std::move(done)});
            waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
            return;
        }
    }
    done({.refused = true});
}

void EventTap::expire(SteadyTime now) {
    std::vector<Waiting> late;
    {
        const std::scoped_lock lock(mutex_);
        const auto first = std::ranges::partition(waiting_, [now](const auto& w) { return w.until > now; }).begin();
        std::ranges::move(first, waiting_.end(), std::back_inserter(late));
        waiting_.erase(first, waiting_.end());
        waiting_count_.store(waiting_.size(), std::memory_order_relaxed);
    }
    for (auto& one : late) one.done(std::move(one.so_far));
}

}  // namespace weir::service
