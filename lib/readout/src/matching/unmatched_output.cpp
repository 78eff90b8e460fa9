// SPDX-License-Identifier: Apache-2.0
#include "matching/unmatched_output.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

namespace weir::readout {
namespace {

constexpr Bytes window{16ULL << 20};

}  // namespace

Result<std::unique_ptr<UnmatchedOutput>> UnmatchedOutput::open(const UnmatchedRecorder& to, const std::string& name) {
    delivery::SenderOptions options;
    options.host = to.host;
    options.name = name + "-unmatched";
    options.join_run = true;
    options.window = window;
    options.tls = to.tls;
    return std::unique_ptr<UnmatchedOutput>(
        new UnmatchedOutput(WEIR_TRY(delivery::Sender::open(std::move(options))), to.host));
}

UnmatchedOutput::UnmatchedOutput(std::unique_ptr<delivery::Sender> sender, std::string host)
    : host_(std::move(host)), sender_(std::move(sender)) {}

void UnmatchedOutput::send(const wire::InputFragment& fragment) {
    record_.clear();
    wire::encode(fragment, record_);
    const auto bytes = std::make_shared<const std::vector<std::byte>>(record_);
    const delivery::Piece piece{.data = *bytes, .owner = bytes};
    const auto sent = sender_->try_send({.global_id = GlobalEventId{next_}, .tags = {tag_}}, std::span(&piece, 1));
    if (sent && *sent) ++next_;
    else no_room_.fetch_add(1, std::memory_order_relaxed);
}

void UnmatchedOutput::finish(std::chrono::milliseconds at_most, const Reporter& report) {
    if (sender_->stats().connected) static_cast<void>(sender_->flush(at_most));
    over_.store(true, std::memory_order_relaxed);
    const auto ended = counts();
    if (ended.dropped == 0) return;
    const auto problem = sender_->stats().last_problem;
    report({.severity = Severity::warning,
            .what = "fragments that fit no trigger were not kept by their recorder",
            .where = host_,
            .why = fmt::format("{} of {}{}{}", ended.dropped, ended.dropped + ended.recorded,
                               problem.empty() ? "" : ": ", problem),
            .advice = "start the recorder that match_unmatched names, or leave the key out"});
}

UnmatchedOutput::Counts UnmatchedOutput::counts() const {
    const auto stats = sender_->stats();
    return {.recorded = stats.acknowledged,
            .dropped = no_room_.load(std::memory_order_relaxed) +
                       (over_.load(std::memory_order_relaxed) ? stats.held : 0) +
                       std::accumulate(stats.rejected.begin(), stats.rejected.end(), std::uint64_t{0})};
}

}  // namespace weir::readout
