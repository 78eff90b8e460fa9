// SPDX-License-Identifier: Apache-2.0
// What a notifier is given: one event of the partition, or several of one kind that are summed up.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/ids.hpp"
#include "weir/control/notifier.hpp"

namespace weir::control {

struct NotifyMessage {
    NotifyEvent event = NotifyEvent::test;
    WallTime when{};
    RunNumber run{};                      // 0: none yet
    std::string text{};                   // a sentence for people, without the partition's name
    std::string station{}, alarm{};       // of an alarm
    Severity severity = Severity::error;  // of an alarm
    boost::json::object details{};        // of a run
    std::uint64_t more = 0;               // further messages of this event that this one stands for
    std::vector<std::string> others{};    // the first of those, by name

    /// "rec-1: volume dropped", "run 17"
    [[nodiscard]] std::string name() const;
};

/// Sums another one of the same event up in this one.
void sum_up(NotifyMessage& into, const NotifyMessage& other);

/// "testbeam: alarm of rec-1: volume dropped: ...; and 57 more alarms". One line.
[[nodiscard]] std::string text_of(const NotifyMessage& message, const std::string& partition);
/// The document, on one line. `missed`: messages before it that were not sent.
[[nodiscard]] std::string document_of(const NotifyMessage& message, const std::string& partition, std::uint64_t missed);
/// "WEIR_EVENT=alarm" and so on: what a script asks for first.
[[nodiscard]] std::vector<std::string> variables_of(const NotifyMessage& message, const std::string& partition);

}  // namespace weir::control
