// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/run_inquiry.hpp"

#include <algorithm>
#include <utility>

namespace weir::delivery {

Result<RunInquiry> RunInquiry::begin(const SenderOptions& options, const std::vector<std::string>& hosts) {
    RunInquiry inquiry;
    for (const auto& host : hosts) {
        auto asking = options;
        asking.host = host;
        asking.join_run = true;
        asking.run = {};
        asking.incarnation = 0;  // it sends nothing: a session of its own
        asking.on_final = {};
        auto sender = WEIR_TRY(Sender::open(std::move(asking)));
        inquiry.senders_.push_back(std::move(sender));
    }
    return inquiry;
}

Result<std::optional<RunNumber>> RunInquiry::wait(std::chrono::milliseconds timeout) {
    const auto each =
        std::max(timeout / std::max<std::ptrdiff_t>(std::ssize(senders_), 1), std::chrono::milliseconds(1));
    std::optional<Error> failure;
    std::size_t failed = 0;
    for (const auto& sender : senders_) {
        const auto run = sender->run(each);
        if (run && *run) return run;
        if (run) continue;
        ++failed;
        if (!failure) failure = run.error();
    }
    if (failed == senders_.size() && failure) return std::unexpected(std::move(*failure));
    return std::nullopt;
}

std::string RunInquiry::last_problem() const {
    for (const auto& sender : senders_) {
        if (auto problem = sender->stats().last_problem; !problem.empty()) return problem;
    }
    return {};
}

}  // namespace weir::delivery
