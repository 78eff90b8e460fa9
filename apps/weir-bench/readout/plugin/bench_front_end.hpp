// SPDX-License-Identifier: Apache-2.0
// A front-end that makes as little as one can: fragments of one size, of each of its sources for each event, with their
// level-1 ids in order, as fast as they are taken. weir-bench-front-end.so and the bare loop beside it run it;
// weir_bench_front_end.py is the same in Python.
#pragma once

#include <cstdlib>
#include <vector>

#include "weir/readout/front_end.hpp"

namespace weir::app {

/// The size of its fragments in bytes is in the environment, which a worker process inherits.
inline constexpr const char* bench_fragment_size = "WEIR_BENCH_FRAGMENT_SIZE";

class BenchFrontEnd final : public readout::FrontEnd {
public:
    void begin_run(RunNumber, std::span<const SourceId> sources) override {
        sources_.assign(sources.begin(), sources.end());
        const char* size = std::getenv(bench_fragment_size);
        payload_.assign(size == nullptr ? 1000 : std::strtoul(size, nullptr, 10), std::byte{0x5a});
    }
    void poll(readout::FragmentSink& out) override {
        for (int i = 0; i < 100; ++i) {
            const auto event = Level1Id{++event_};
            for (const auto source : sources_)
                if (!out.send({.source = source, .level1_id = event, .status_words = {}, .payload = payload_})) return;
        }
    }

private:
    std::vector<SourceId> sources_;
    std::vector<std::byte> payload_;
    std::uint32_t event_ = 0;
};

}  // namespace weir::app
