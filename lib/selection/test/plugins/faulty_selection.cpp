// SPDX-License-Identifier: Apache-2.0
// A selection with every fault that authors make: the global id selects one.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "weir/selection/selection.hpp"

namespace {

/// What the station gets as a request.
void send_raw_request(std::size_t bytes) {
    std::vector<unsigned char> message(12 + bytes);
    const std::uint32_t head[]{0x41535257, 4, static_cast<std::uint32_t>(bytes)};
    std::memcpy(message.data(), head, sizeof head);
    static_cast<void>(!::write(3, message.data(), message.size()));
}

/// Requests in two steps; looks at the first fragment when the last is there.
void step(const weir::selection::Event& event, weir::selection::Decision& decision) {
    using weir::SourceId;
    const auto first = event.request({SourceId{50}, SourceId{7}, SourceId{51}, SourceId{50}, SourceId{91}});
    const auto second = event.request({SourceId{52}, SourceId{51}});
    std::uint32_t missing = 0;
    for (const auto fragments : {first, second}) {
        for (const auto& fragment : fragments) {
            if (fragment.state == weir::selection::FragmentState::missing) ++missing;
            else decision.level2_words.push_back(static_cast<std::uint32_t>(fragment.bytes.size() / 4));
        }
    }
    decision.level2_words.push_back(missing);
    const auto bytes = first[0].bytes.first(std::min<std::size_t>(4, first[0].bytes.size()));
    decision.result.assign(bytes.begin(), bytes.end());
    decision.accept();
}

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
        case 20: return step(event, decision);
        case 21:
            if (event.request({weir::SourceId{50}})[0].bytes.empty()) return;
            decision.level2_words = {50};
            return;
        case 22:
            for (int i = 0; i < 100; ++i) static_cast<void>(event.request({weir::SourceId{50}}));
            return decision.accept();
        case 23:
            static_cast<void>(event.request({weir::SourceId{50}}));
            for (volatile bool forever = true; forever;) ::usleep(1000);
            return;
        case 24: static_cast<void>(event.request({weir::SourceId{50}})); std::abort();
        case 25:
            ::ualarm(100'000, 0);
            static_cast<void>(event.request({weir::SourceId{50}}));
            return;
        case 26: send_raw_request(7); break;
        case 27: send_raw_request(4 * 4097); break;
        case 30:
            decision.accept("physics_Main");
            return decision.accept("calibration_Muons", {weir::SourceId{7}, weir::SourceId{9}});
        case 31: return decision.accept("calibration_Muons", {});
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
