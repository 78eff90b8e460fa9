// SPDX-License-Identifier: Apache-2.0
#include "settlement/held_answers.hpp"

#include <iterator>

namespace weir::recorder {

void HeldAnswers::begin(RunNumber run, std::string recorder, std::size_t patience,
                        std::span<const catalogue::LedgerRow> known) {
    const std::scoped_lock lock(mutex_);
    run_ = run;
    recorder_ = std::move(recorder);
    patience_ = patience;
    for (const auto& row : known) {
        if (row.recorder == recorder_) before_[{row.stream_type, row.stream_name}] = row.rejected;
    }
}

void HeldAnswers::count(const Ledger& ledger, wire::RejectReason reason, std::uint64_t copies) {
    const std::scoped_lock lock(mutex_);
    waiting_[&ledger][wire::index(reason)] += copies;
}

void HeldAnswers::hold(Held answer) {
    const std::scoped_lock lock(mutex_);
    held_.push_back(std::move(answer));
}

bool HeldAnswers::pass_over() {
    const std::scoped_lock lock(mutex_);
    return held_.empty() || passed_over_++ < patience_;
}

HeldAnswers::Round HeldAnswers::take() {
    const std::scoped_lock lock(mutex_);
    Round round;
    passed_over_ = 0;
    round.answers = std::exchange(held_, {});
    auto changed = std::exchange(not_written_, {});
    for (const auto& [ledger, counts] : std::exchange(waiting_, {})) {
        auto& sum = taken_[ledger];
        for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
        changed.insert(ledger);
    }
    changed.insert(writing_.begin(), writing_.end());
    writing_.insert(changed.begin(), changed.end());
    round.ledgers.assign(changed.begin(), changed.end());
    for (const auto* ledger : changed) round.counts.push_back(total(*ledger));
    return round;
}

void HeldAnswers::written(const Round& round) {
    const std::scoped_lock lock(mutex_);
    for (const auto* ledger : round.ledgers) writing_.extract(ledger);
}

datafile::RejectedCopies HeldAnswers::total(const Ledger& ledger) const {
    datafile::RejectedCopies total{run_, recorder_, ledger.stream_type(), ledger.stream_name(), {}};
    if (const auto before = before_.find({total.stream_type, total.stream_name}); before != before_.end())
        total.copies = before->second;
    const auto& since = taken_.at(&ledger);
    for (const auto reason : wire::reject_reasons) {
        if (const auto n = since[wire::index(reason)]; n > 0) total.copies[wire::name(reason)] += n;
    }
    return total;
}

void HeldAnswers::not_written(Round round) {
    const std::scoped_lock lock(mutex_);
    round.answers.insert(round.answers.end(), std::make_move_iterator(held_.begin()),
                         std::make_move_iterator(held_.end()));
    held_ = std::move(round.answers);
    for (const auto* ledger : round.ledgers) writing_.extract(ledger);
    not_written_.insert(round.ledgers.begin(), round.ledgers.end());
    passed_over_ = patience_;  // the next volume with a round, which may be a good one
}

HeldAnswers::Counts HeldAnswers::taken(const Ledger& ledger) const {
    const std::scoped_lock lock(mutex_);
    const auto found = taken_.find(&ledger);
    return found == taken_.end() ? Counts{} : found->second;
}

}  // namespace weir::recorder
