// SPDX-License-Identifier: Apache-2.0
// The result of a selection as an object: its findings in an event, for later readers of the event. An object goes
// into the decision in ROOT's own bytes with the name of its class, object-wise, so that `weir cat`, ROOT and uproot
// read it out of the recorded event (docs/formats/objects.md):
//
//     weir::selection::Findings findings{.selection = "busy chamber"};
//     findings.add("chamber_words", 405);
//     set_result(decision, findings);
//
// Findings needs no code but this. Any class of your own that is described (weir/serial/describe.hpp) does as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/endian.hpp"
#include "weir/selection/selection.hpp"
#include "weir/serial/describe.hpp"
#include "weir/serial/writer.hpp"

namespace weir::selection {

struct Quantity {
    std::string name{};
    double value = 0;

    bool operator==(const Quantity&) const = default;
};

/// Numbers with names. A dictionary that a selection in Python gives as its result becomes one.
struct Findings {
    std::string selection{};  // what found them
    std::vector<Quantity> quantities{};

    void add(std::string name, double value) { quantities.push_back({std::move(name), value}); }
    bool operator==(const Findings&) const = default;
};

/// The object becomes the decision's result, in place of an earlier one. An object that is too large or too deep is
/// reported when the decision is checked: as an error of the selection on this event.
template <serial::Object T>
void set_result(Decision& decision, const T& object) {
    serial::Writer writer;
    decision.result.clear();
    if (const auto written = writer.write_any(&object); !written) {
        decision.trouble = "the result: " + written.error().message();
        return;
    }
    decision.result.assign(writer.data().begin(), writer.data().end());
}

/// The result in the data words of a level-2 result's ROD, whose first word is its size. Nothing: they are no such
/// words.
[[nodiscard]] inline std::optional<ConstData> result_in(ConstData rod_data) {
    constexpr std::size_t word = sizeof(std::uint32_t);
    if (rod_data.size() < word) return std::nullopt;
    const std::size_t size = load_little<std::uint32_t>(rod_data);
    if (size > rod_data.size() - word) return std::nullopt;
    return rod_data.subspan(word, size);
}

}  // namespace weir::selection

// Members may be added at the end, with the next version.
template <>
inline constexpr auto weir::serial::description<weir::selection::Quantity> =
    weir::serial::members("name", "value").version(1).grows_at_end();
template <>
inline constexpr auto weir::serial::description<weir::selection::Findings> =
    weir::serial::members("selection", "quantities").version(1).grows_at_end();
