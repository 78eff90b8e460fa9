// SPDX-License-Identifier: Apache-2.0
// A selection with every fault that authors make: the global id selects one.
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "weir/selection/selection.hpp"

namespace {

void select(const weir::selection::Event& event, weir::selection::Decision& decision) {
    switch (number(event.global_id) % 100) {
        case 1: throw std::runtime_error("cannot divide by zero");
        case 2:
            for (volatile bool forever = true; forever;) ::usleep(1000);
            return;
        case 3: std::abort();
        case 4: ::_exit(3);
        case 5: decision.accept("physics/Main"); return;
        case 6: throw 42;
        case 7:
            if (::write(3, "this is no answer, at all", 25) < 0) return;
            break;
        case 8: return;  // rejected
        case 9:
            for (int stream = 0; stream < 33; ++stream) decision.accept("physics_S" + std::to_string(stream));
            return;
        default: break;
    }
    decision.accept("physics_Main");
    decision.level2_words = {static_cast<std::uint32_t>(event.bytes()),
                             static_cast<std::uint32_t>(event.fragments.size())};
    if (const auto* fragment = event.find(weir::SourceId{7}))
        decision.result.assign(fragment->bytes.begin(), fragment->bytes.end());
}

}  // namespace

WEIR_SELECTION(select)
