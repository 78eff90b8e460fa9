// SPDX-License-Identifier: Apache-2.0
// A trigger plug-in that makes as little as one can: triggers with two words, as fast as they are taken.
// weir_bench_triggers.py is the same in Python.
#include <array>

#include "weir/selection/trigger_plug_in.hpp"

namespace {

struct Triggers final : weir::selection::TriggerPlugIn {
    void poll(weir::selection::TriggerSink& out) override {
        constexpr std::array<std::uint32_t, 2> words{0x5a5a5a5a, 1};
        for (int i = 0; i < 100; ++i)
            if (!out.send({.time_ns = ++time_ns, .type = 1, .words = words})) return;
    }
    std::int64_t time_ns = 0;
};

}  // namespace

WEIR_TRIGGER_PLUG_IN(Triggers)
