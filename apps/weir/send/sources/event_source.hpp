// SPDX-License-Identifier: Apache-2.0
// Where the events come from that are sent: recorded files, or a synthetic workload. A source makes
// event number n of a run when asked, so that any number of connections can draw from one source, and
// n alone says which ids and streams the event has. The memory of all events underway is bounded: when
// it is used up the source says so, and has some again once an event has become final.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/event/format.hpp"
#include "weir/wire/event_format.hpp"

namespace weir::app {

/// An event ready to be sent. The payload's owner keeps its memory; letting go of it gives the memory back
/// to the source, from any thread.
struct SourcedEvent {
    delivery::EventDescription description{};
    delivery::Piece payload{};
};

/// All calls may be made from any thread. Events may outlive their source.
class EventSource {
public:
    virtual ~EventSource() = default;

    [[nodiscard]] virtual RunNumber run() const = 0;
    /// Instead of its own run; before the first make().
    virtual void set_run(RunNumber run) = 0;
    [[nodiscard]] virtual event::Format format() const = 0;

    /// Events after which the source is at its end or begins again; nothing: it goes on for ever.
    [[nodiscard]] virtual std::optional<std::uint64_t> events_once() const = 0;
    /// More than events_once() can be had, as new events.
    [[nodiscard]] virtual bool repeats() const = 0;
    [[nodiscard]] virtual Bytes event_size_max() const = 0;

    /// Event number n, from 0. Nothing: the memory is used up for now.
    [[nodiscard]] virtual std::optional<SourcedEvent> make(std::uint64_t n) = 0;

    /// What a user should know about it, a line each: a file that was cut short, for example.
    [[nodiscard]] virtual std::vector<std::string> remarks() const { return {}; }
};

/// The same format in the words of the delivery protocol.
[[nodiscard]] wire::EventFormat to_wire(event::Format format) noexcept;

/// The ids that go with event number n: the global id counts from `first`, the level-1 id from 1 on in
/// the low 24 bits and, with each overflow, in the reset counter above them.
[[nodiscard]] GlobalEventId global_id_of(std::uint64_t n, GlobalEventId first) noexcept;
[[nodiscard]] Level1Id level1_id_of(std::uint64_t n) noexcept;

}  // namespace weir::app
