// SPDX-License-Identifier: Apache-2.0
// Whole events to send: of recorded files, or synthetic. A source makes event number n of a run on request, so that any
// number of connections can draw from one source, and n alone decides the ids and streams of the event. The memory of
// all events in flight is bounded: when it is used up the source makes none until an event was released.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/event/format.hpp"

namespace weir::workload {

/// An event ready to be sent.
struct SourcedEvent {
    GlobalEventId global_id{};
    Level1Id level1_id{};
    LumiBlock lumi_block{};
    std::vector<StreamTag> tags{};
    ConstData data{};                     // valid while `owner` is kept
    std::shared_ptr<const void> owner{};  // releasing it returns the memory to the source; any thread
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

    /// Notes for the user about the source, a line each: a file that was cut short, for example.
    [[nodiscard]] virtual std::vector<std::string> reports() const { return {}; }
};

/// The ids that go with event number n: the global id counts from `first`, the level-1 id from 1 on in
/// the low 24 bits and, with each overflow, in the reset counter above them.
[[nodiscard]] GlobalEventId global_id_of(std::uint64_t n, GlobalEventId first) noexcept;
[[nodiscard]] Level1Id level1_id_of(std::uint64_t n) noexcept;

}  // namespace weir::workload
