// SPDX-License-Identifier: Apache-2.0
// A selection in C++ that requests its data in steps, as level 2 does: most events are decided by a few fragments, and
// only those that may be kept cost more. While one event waits for its fragments, others are decided on.
//
//     g++ -std=c++23 -O2 -fPIC -shared in_steps.cpp $(pkg-config --cflags --libs weir-selection) -o in_steps.so
//     [supervise.l2sv]
//     regions = 1                   # any fragment: what this selection needs it requests itself
//     [select.l2pu-1]
//     selection = "in_steps.so"
#include <array>
#include <cstdint>
#include <span>

#include "weir/event/fragment.hpp"
#include "weir/selection/selection.hpp"

namespace {

using weir::SourceId;
using weir::event::FragmentView;
using weir::event::Level;
using weir::event::RodView;
using weir::selection::FragmentState;

constexpr std::array flight_counters{SourceId{0xa20000}, SourceId{0xa20001}};
constexpr std::array inner_chamber{SourceId{0xa10000}, SourceId{0xa10001}, SourceId{0xa10002}, SourceId{0xa10003}};
constexpr std::array calorimeter{SourceId{0xa30000}, SourceId{0xa30001}, SourceId{0xa30002}, SourceId{0xa30003}};
constexpr std::uint32_t flight_words_min = 20, chamber_words_min = 100, calorimeter_words_min = 130;

/// Words of the detector's own data in these fragments; a fragment that is missing has none.
std::uint32_t data_words(std::span<const weir::selection::Fragment> fragments) {
    std::uint32_t words = 0;
    for (const auto& fragment : fragments) {
        if (fragment.state == FragmentState::missing) continue;
        const auto rob = FragmentView::parse(fragment.bytes, Level::rob, weir::event::Format::event_3_0);
        if (!rob) continue;
        if (const auto rod = RodView::parse(rob->payload())) words += static_cast<std::uint32_t>(rod->words().size());
    }
    return words;
}

void select(const weir::selection::Event& event, weir::selection::Decision& decision) {
    const auto flight = data_words(event.request(flight_counters));
    decision.level2_words = {flight};
    if (flight < flight_words_min) return;  // rejected, and nothing else was moved

    const auto chamber = data_words(event.request(inner_chamber));
    decision.level2_words.push_back(chamber);
    if (chamber < chamber_words_min) return;

    const auto energy = data_words(event.request(calorimeter));
    decision.level2_words.push_back(energy);
    if (energy < calorimeter_words_min) return;
    decision.accept("physics_Main");
    decision.accept("calibration_Calorimeter", calorimeter);  // in the filter: these fragments only
}

}  // namespace

WEIR_SELECTION(select)
