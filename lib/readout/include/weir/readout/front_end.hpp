// SPDX-License-Identifier: Apache-2.0
// The interface for authors of front-ends: code that reads boards out, in a shared library that `weir readout` loads:
//
//     #include <weir/readout/front_end.hpp>
//     struct Counter final : weir::readout::FrontEnd {
//         void read_out(const weir::readout::Trigger& trigger, weir::readout::FragmentSink& out) override {
//             const auto word = number(trigger.level1_id);
//             out.send({.source = weir::SourceId{0x420000}, .payload = std::as_bytes(std::span(&word, 1))});
//         }
//     };
//     WEIR_FRONT_END(Counter)
//
// All calls of one object come from one thread, and each returns soon: one that takes longer than `time_limit` hangs.
// Time in send(), which waits while the readout's buffers are full, does not count. docs/front-ends.md is the guide.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <type_traits>

#include "weir/base/ids.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::readout {

/// Of the supervisor, for a front-end that reads out on request.
struct Trigger {
    Level1Id level1_id{};
    std::uint32_t type = 0;
    std::chrono::nanoseconds time{0};  // since 1970
};

class FragmentSink {
public:
    /// Takes one fragment; its views need to be valid for the call only. Waits while the readout's buffers are full:
    /// that is the busy of this front-end. Within read_out() a fragment without a level-1 id gets that of the trigger;
    /// elsewhere one with a time goes to the trigger of that time, where the readout matches (`match = "time:..."`).
    /// False: the run ends and there is no room; return.
    virtual bool send(const wire::InputFragment& fragment) = 0;

protected:
    ~FragmentSink() = default;
};

/// What is thrown is reported, and the front-end called again. A new object is made for each run.
class FrontEnd {
public:
    virtual ~FrontEnd() = default;
    /// Throwing here lets the start of the run fail. `sources`: those of this readout in the partition file.
    virtual void begin_run(RunNumber, std::span<const SourceId> /*sources*/) {}
    /// Again and again during a run: looks whether there is data, and sends it. May wait for some. A call that sent
    /// nothing is followed by a pause of `poll_interval`.
    virtual void poll(FragmentSink&) {}
    /// For each trigger of the supervisor, in their order.
    virtual void read_out(const Trigger&, FragmentSink&) {}
    /// What is still here may be sent.
    virtual void end_run(FragmentSink&) {}
};

/// The description of a library: one that was built against another layout is refused when it is loaded.
struct FrontEndFace {
    static constexpr std::uint32_t current = 1;
    std::uint32_t version = current;
    std::uint32_t fragment_size = sizeof(wire::InputFragment);
    std::uint32_t trigger_size = sizeof(Trigger);
    bool polls = false, reads_out = false;  // which functions it has of its own
    FrontEnd* (*make)() = nullptr;
};

/// Its functions must be public.
template <class Mine>
constexpr FrontEndFace front_end_face() noexcept {
    FrontEndFace face;
    face.polls = !std::is_same_v<decltype(&Mine::poll), void (FrontEnd::*)(FragmentSink&)>;
    face.reads_out = !std::is_same_v<decltype(&Mine::read_out), void (FrontEnd::*)(const Trigger&, FragmentSink&)>;
    face.make = [] -> FrontEnd* { return new Mine; };
    return face;
}

}  // namespace weir::readout

/// Once in a shared library: `Class` is its front-end, and can be made without arguments.
#define WEIR_FRONT_END(Class)                                                                           \
    extern "C" __attribute__((visibility("default"))) const weir::readout::FrontEndFace weir_front_end; \
    const weir::readout::FrontEndFace weir_front_end = weir::readout::front_end_face<Class>();
