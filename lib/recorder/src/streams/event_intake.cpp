// SPDX-License-Identifier: Apache-2.0
#include "streams/event_intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/partial.hpp"

namespace weir::recorder {
namespace {

constexpr std::size_t copies_max = 64;  // of an event: bits of PartialCopies::State

event::Format format_of(wire::EventFormat format) {
    switch (format) {
        case wire::EventFormat::event_5_0: return event::Format::event_5_0;
        case wire::EventFormat::event_3_0: return event::Format::event_3_0;
        case wire::EventFormat::opaque:
        case wire::EventFormat::fragments:  // whose senders a recorder refuses
        case wire::EventFormat::triggers: return event::Format::opaque;
    }
    return event::Format::opaque;
}

std::uint64_t nanoseconds(WallTime time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

Result<event::EventPieces> cut(const delivery::IncomingEvent& event, const StreamTag& tag, event::Format format) {
    const auto view = WEIR_TRY(event::EventView::parse(event.payload.data(), format));
    return event::cut_event(view, tag);
}

}  // namespace

EventIntake::EventIntake(const RecorderOptions& options, StreamSet& streams, Settlement& settlement,
                         SegmentPool& segments, checksum::Stores stores, const Clock& clock)
    : options_(options),
      streams_(streams),
      settlement_(settlement),
      segments_(segments),
      copier_(options, stores),
      clock_(clock) {}

delivery::Taken EventIntake::take(delivery::IncomingEvent& event) {
    if (!settlement_.has_room()) return delivery::Taken::full;
    Streams streams;
    if (auto rejection = check(event, streams)) {
        const auto ledgers = streams_.ledgers_of(event.meta.tags, settlement_.unplaced());
        settlement_.reject(event, ledgers, rejection->reason, std::move(rejection->text));
        return delivery::Taken::yes;
    }
    std::vector<Ledger*> ledgers;
    ledgers.reserve(streams.size());
    for (const auto* entry : streams) ledgers.push_back(&entry->stream->ledger());
    auto taking = settlement_.begin(event, ledgers);
    if (!taking) return delivery::Taken::yes;
    if (streams.front()->thread == nullptr) return place_copies(event, streams, std::move(*taking));
    queue_copies(std::move(event), streams, *taking);
    return delivery::Taken::yes;
}

void EventIntake::not_passed_on(delivery::SessionId session, const wire::EventMeta& event, wire::RejectReason reason,
                                delivery::CreditHold& credit) {
    const auto ledgers = streams_.ledgers_of(event.tags, settlement_.unplaced());
    settlement_.not_passed_on({session, event.sequence}, event.global_id, ledgers, reason, credit);
}

/// Finds the event's streams, in the order of its tags; or why it can never be stored.
std::optional<EventIntake::Rejection> EventIntake::check(const delivery::IncomingEvent& event, Streams& streams) {
    using enum wire::RejectReason;
    const auto& tags = event.meta.tags;
    if (tags.empty()) return Rejection{no_tags, "the event names no stream"};
    if (tags.size() > copies_max)
        return Rejection{bad_tag, fmt::format("an event can name at most {} streams", copies_max)};
    const auto format = format_of(event.format);
    if (const auto good = event::check_event(event.payload.data(), format, options_.check); !good)
        return Rejection{malformed_event, good.error().context};
    streams.reserve(tags.size());
    for (const auto& tag : tags) {
        const auto entry = streams_.find_or_make(tag, format);
        if (!entry)
            return Rejection{entry.error(), fmt::format("stream {}: {}", stream_key(tag), wire::name(entry.error()))};
        if (std::ranges::find(streams, *entry) != streams.end())
            return Rejection{bad_tag, fmt::format("stream {} is named twice", stream_key(tag))};
        streams.push_back(*entry);
        if (!tag.partial()) continue;
        if (const auto pieces = cut(event, tag, format); !pieces) return Rejection{cannot_cut, pieces.error().context};
    }
    return std::nullopt;
}

delivery::Taken EventIntake::place_copies(delivery::IncomingEvent& event, const Streams& streams,
                                          Settlement::Taking taking) {
    for (std::uint16_t copy = 0; copy < streams.size(); ++copy) {
        if (!taking.needs(copy)) continue;
        const auto bit = std::uint64_t{1} << copy;
        auto& stream = *streams[copy]->stream;
        switch (place(stream, event, taking.state.ticket, copy, streams_.earlier(streams, taking.stored(), copy))) {
            case Placed::yes: taking.state.taken |= bit; break;
            case Placed::late:
                taking.state.taken |= bit;
                settlement_.late(stream.ledger(), *taking.state.ticket, copy);
                break;
            case Placed::full: settlement_.stop(std::move(taking)); return delivery::Taken::full;
        }
    }
    auto credit = std::exchange(event, {}).credit;
    settlement_.end(taking, credit);
    return delivery::Taken::yes;
}

void EventIntake::queue_copies(delivery::IncomingEvent event, const Streams& streams,
                               const Settlement::Taking& taking) {
    const auto in_hand = std::make_shared<EventInHand>(std::move(event), taking.state.ticket);  // with their threads
    for (std::uint16_t copy = 0; copy < streams.size(); ++copy) {
        if (!taking.needs(copy)) continue;
        // Whether the copies before it come late is not known yet: they are taken to be stored.
        streams[copy]->thread->push([this, in_hand, copy, stream = streams[copy]->stream.get(),
                                     earlier = streams_.earlier(streams, ~std::uint64_t{0}, copy)] {
            place_waiting(*stream, *in_hand, copy, earlier);
        });
    }
    settlement_.end(taking, in_hand->event.credit);
}

void EventIntake::place_waiting(Stream& stream, EventInHand& in_hand, std::uint16_t copy,
                                const datafile::EarlierStreams& earlier) {
    constexpr std::chrono::milliseconds retry{20};  // also when no segment comes back: a file may be possible again
    while (true) {
        switch (place(stream, in_hand.event, in_hand.ticket, copy, earlier)) {
            case Placed::yes: return;
            case Placed::late: return settlement_.late(stream.ledger(), *in_hand.ticket, copy, &in_hand.event.credit);
            case Placed::full: segments_.wait_for_freed(retry); break;
        }
        // A stop has waited long enough: the event has no answer, its sender keeps it.
        if (clock_.now().time_since_epoch().count() >= wait_until_.load(std::memory_order_relaxed)) return;
    }
}

EventIntake::Placed EventIntake::place(Stream& stream, const delivery::IncomingEvent& event,
                                       const std::shared_ptr<Ticket>& ticket, std::uint16_t copy,
                                       datafile::EarlierStreams earlier) {
    const auto& tag = event.meta.tags[copy];
    event::EventPieces pieces;
    if (tag.partial()) {
        auto cut_again = cut(event, tag, stream.format());
        WEIR_ASSERT(cut_again.has_value());  // check() has cut it once
        pieces = std::move(*cut_again);
    }
    CopyRequest request;
    request.length = tag.partial() ? pieces.size() : event.payload.size();
    request.event = event.meta.global_id;
    request.level1 = event.meta.level1_id;
    request.lumi_block = event.meta.lumi_block;
    request.copy = copy;
    request.copies = static_cast<std::uint16_t>(event.meta.tags.size());
    request.received_ns = nanoseconds(clock_.wall());
    request.earlier = std::move(earlier);
    request.ticket = ticket;
    request.ledger = &stream.ledger();
    Place place;
    std::shared_ptr<StreamFile> file;
    switch (stream.assign(request, place, file)) {
        case Stream::Assigned::yes: break;
        case Stream::Assigned::nowhere: waits_for_file_.store(true); [[fallthrough]];
        case Stream::Assigned::full: return Placed::full;
        case Stream::Assigned::late: return Placed::late;
    }
    settlement_.placed(stream.ledger());
    file->complete(place, tag.partial() ? copier_.copy(pieces, place)
                                        : copier_.copy(event.payload.data(), event.payload_crc, place));
    return Placed::yes;
}

}  // namespace weir::recorder
