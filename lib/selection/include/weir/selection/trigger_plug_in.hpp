// SPDX-License-Identifier: Apache-2.0
// The interface for authors of trigger plug-ins: code that reads a trigger unit, in a shared library that
// `weir supervise` runs in a process of its own:
//
//     #include <weir/selection/trigger_plug_in.hpp>
//     struct Spill final : weir::selection::TriggerPlugIn {
//         void poll(weir::selection::TriggerSink& out) override {
//             while (unit.has_trigger())
//                 if (!out.send({.time_ns = unit.time_ns(), .type = 1})) return;
//         }
//     };
//     WEIR_TRIGGER_PLUG_IN(Spill)
//
// All calls come from one thread, and each returns soon: one that takes longer than `time_limit` hangs, and its process
// is started again. Time in send(), which waits while there is no room for an event, does not count.
// docs/trigger-plug-ins.md is the guide.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/ids.hpp"

namespace weir::selection {

struct PlugInTrigger {
    std::optional<Level1Id> level1_id{};    // nothing: the one that follows the last
    std::optional<std::int64_t> time_ns{};  // since 1970, or of the unit's clock; nothing: now
    std::uint32_t type = 0;                 // of the trigger, as it stands in the event
    std::uint32_t bunch_crossing_id = 0;
    std::span<const std::uint32_t> words{};  // of level 1; 256 at most
};

class TriggerSink {
public:
    /// Takes one trigger; its words need to be valid for the call only. Waits while the supervisor has no room for more
    /// events: that is the busy of the trigger unit. False: the run ends and the trigger is no event; return.
    virtual bool send(const PlugInTrigger& trigger) = 0;
    /// The next send() would wait: a unit that can be vetoed is.
    [[nodiscard]] virtual bool busy() = 0;

protected:
    ~TriggerSink() = default;
};

/// What is thrown is reported, and the plug-in called again. A new object is made for each run, and for each start of
/// its process.
class TriggerPlugIn {
public:
    virtual ~TriggerPlugIn() = default;
    /// Throwing here lets the start of the run fail. `next`: the level-1 id of the next trigger, the first of the run
    /// unless the process was started again in it.
    virtual void begin_run(RunNumber, Level1Id /*next*/) {}
    /// Again and again during a run: looks whether there are triggers, and sends them in their order. May wait for
    /// some. A call that sent nothing is followed by a pause of `poll_interval`.
    virtual void poll(TriggerSink& out) = 0;
    virtual void end_run() {}
};

/// The description of a library: one that was built against another layout is refused when it is loaded.
struct TriggerPlugInFace {
    static constexpr std::uint32_t current = 1;
    std::uint32_t version = current;
    std::uint32_t trigger_size = sizeof(PlugInTrigger);
    TriggerPlugIn* (*make)() = nullptr;
};

template <class Mine>
constexpr TriggerPlugInFace trigger_plug_in_face() noexcept {
    TriggerPlugInFace face;
    face.make = [] -> TriggerPlugIn* { return new Mine; };
    return face;
}

}  // namespace weir::selection

/// Once in a shared library: `Class` is its trigger plug-in, and can be made without arguments.
#define WEIR_TRIGGER_PLUG_IN(Class)                                                                                  \
    extern "C" __attribute__((visibility("default"))) const weir::selection::TriggerPlugInFace weir_trigger_plug_in; \
    const weir::selection::TriggerPlugInFace weir_trigger_plug_in = weir::selection::trigger_plug_in_face<Class>();
