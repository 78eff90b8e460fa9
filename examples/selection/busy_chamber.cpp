// SPDX-License-Identifier: Apache-2.0
// A selection in C++ for BES III: an event whose drift chamber (sub-detector 0xa1) has many words of data is physics,
// one whose calorimeter (0xa3) alone is busy goes to the calibration of that, the others are not kept.
//
//     g++ -std=c++23 -O2 -fPIC -shared busy_chamber.cpp $(pkg-config --cflags --libs weir-selection) -o busy_chamber.so
//     [filter.ef-1]
//     selection = "busy_chamber.so"
#include <array>
#include <cstdint>

#include "weir/event/fragment.hpp"
#include "weir/selection/result.hpp"

namespace {

using weir::event::FragmentView;
using weir::event::Level;
using weir::event::RodView;

constexpr std::uint8_t drift_chamber = 0xa1, calorimeter = 0xa3;
constexpr std::uint32_t chamber_words_min = 400, calorimeter_words_min = 300;

/// Words of the detector's own data in a ROB; none when it is not one. Every accessor below is checked by parse().
std::uint32_t data_words(weir::ConstData rob) {
    const auto fragment = FragmentView::parse(rob, Level::rob, weir::event::Format::event_3_0);
    if (!fragment) return 0;
    const auto rod = RodView::parse(fragment->payload());
    return rod ? static_cast<std::uint32_t>(rod->words().size()) : 0;
}

void select(const weir::selection::Event& event, weir::selection::Decision& decision) {
    std::uint32_t chamber = 0, energy = 0;
    for (const auto& fragment : event.fragments) {
        if (fragment.detector() == drift_chamber) chamber += data_words(fragment.bytes);
        if (fragment.detector() == calorimeter) energy += data_words(fragment.bytes);
    }
    if (chamber >= chamber_words_min) decision.accept("physics_Main");
    if (energy >= calorimeter_words_min) decision.accept("calibration_Calorimeter");
    decision.level2_words = {chamber, energy};  // what `weir select` writes into the event's header
    weir::selection::Findings findings{.selection = "busy_chamber"};
    findings.add("chamber_words", chamber);
    findings.add("calorimeter_words", energy);
    set_result(decision, findings);  // a fragment of the event: `weir cat` prints it, uproot and ROOT read it
}

}  // namespace

WEIR_SELECTION(select)
