// SPDX-License-Identifier: Apache-2.0
// A settlement's target that remembers every answer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "settlement/settlement.hpp"

namespace weir::recorder {

class Answers final : public AnswerTarget {
public:
    void acknowledge(std::span<const delivery::Answer> events) override {
        for (const auto& event : events) answers_.push_back("acknowledged " + name(event));
    }
    void reject(delivery::Answer event, wire::RejectReason reason, std::string) override {
        answers_.push_back("rejected " + name(event) + ": " + wire::name(reason));
    }
    void not_passed_on(std::span<const delivery::Answer> events) override {
        for (const auto& event : events) answers_.push_back("not passed on " + name(event));
    }
    void send_again(std::span<const delivery::Answer> events) override {
        for (const auto& event : events) answers_.push_back("returned " + name(event));
    }
    void retry() override { answers_.push_back("retry"); }

    /// Since the last call: "acknowledged 1/7" is event 7 of session 1.
    [[nodiscard]] std::vector<std::string> take() { return std::exchange(answers_, {}); }

private:
    static std::string name(const delivery::Answer& event) {
        return std::to_string(number(event.session)) + "/" + std::to_string(number(event.sequence));
    }

    std::vector<std::string> answers_;
};

}  // namespace weir::recorder
