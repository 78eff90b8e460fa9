// SPDX-License-Identifier: Apache-2.0
#include "intake/fragment_intake.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "weir/event/rob_shell.hpp"

namespace weir::readout {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();

}  // namespace

/// Written by the threads that bring fragments, read by any: relaxed.
struct alignas(64) FragmentIntake::Account {
    std::atomic<std::uint64_t> arrived{0}, bytes{0};
    std::array<std::atomic<std::uint64_t>, rob_reject_count> refused{};
    std::atomic<std::int64_t> last_seen{never};

    void seen(SteadyTime now) noexcept {
        last_seen.store(std::chrono::nanoseconds(now.time_since_epoch()).count(), std::memory_order_relaxed);
    }
};

FragmentIntake::FragmentIntake(RobStore& store, FragmentIntakeOptions options,
                               std::function<void(const Level1Mismatch&)> mismatched)
    : store_(store),
      options_(std::move(options)),
      mismatched_(std::move(mismatched)),
      accounts_(std::make_unique<Account[]>(store.sources().size())) {
    const auto& sources = store.sources();
    for (std::uint32_t i = 0; i < sources.size(); ++i) places_.emplace_back(sources[i], i);
    std::ranges::sort(places_);
}

FragmentIntake::~FragmentIntake() = default;

FragmentIntake::Account* FragmentIntake::account_of(SourceId source) const noexcept {
    const auto found = std::ranges::lower_bound(places_, source, {}, &std::pair<SourceId, std::uint32_t>::first);
    return found == places_.end() || found->first != source ? nullptr : &accounts_[found->second];
}

IntakeAnswer FragmentIntake::refused(Account* account, RobReject reason) {
    if (account != nullptr) account->refused[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
    return {IntakeResult::refused, reason};
}

IntakeAnswer FragmentIntake::refuse(Account* account, RobReject reason) {
    store_.ledger().refuse(reason);
    return refused(account, reason);
}

void FragmentIntake::refuse(std::optional<SourceId> source, RobReject reason, SteadyTime now) {
    auto* const account = source ? account_of(*source) : nullptr;
    if (account != nullptr) account->seen(now);
    static_cast<void>(refuse(account, reason));
}

event::SourceRule FragmentIntake::rule_of(SourceId source) const noexcept {
    const auto found = options_.rules.sources.find(source);
    return found == options_.rules.sources.end() ? event::SourceRule{} : found->second;
}

void FragmentIntake::never_came(SourceId source, Level1Id first, Level1Id last) {
    NeverCame lost{source, first, number(last) - number(first) + 1};  // counters wrap
    mark_lost(lost);
    if (lost.count == 0) return;
    if (!unmarked_.empty() && unmarked_.back().source == source && unmarked_.back().end() == lost.first)
        unmarked_.back().count += lost.count;
    else if (unmarked_.size() < unmarked_max) unmarked_.push_back(lost);
}

void FragmentIntake::mark_lost(NeverCame& lost) {
    const auto offset = static_cast<std::uint32_t>(rule_of(lost.source).level1_offset);
    while (lost.count > 0 && store_.mark_lost(Level1Id{number(lost.first) - offset}, lost.source)) {
        lost.first = Level1Id{number(lost.first) + 1};
        --lost.count;
    }
}

bool FragmentIntake::mark_lost() {
    for (auto& lost : unmarked_) mark_lost(lost);
    std::erase_if(unmarked_, [](const NeverCame& lost) { return lost.count == 0; });
    return !unmarked_.empty();
}

IntakeAnswer FragmentIntake::take(const wire::InputFragment& fragment, SteadyTime now) {
    auto* const account = account_of(fragment.source);
    if (account == nullptr) return refuse(nullptr, RobReject::unknown_source);
    const bool by_time = options_.by_time && !fragment.level1_id && fragment.time_ns;
    const auto answer = by_time ? options_.by_time(fragment, now) : take_known(fragment, *account);
    if (answer.result != IntakeResult::full) account->seen(now);  // not each time that a block is tried again
    return answer;
}

IntakeAnswer FragmentIntake::take_matched(wire::InputFragment fragment, Level1Id event) {
    auto* const account = account_of(fragment.source);
    if (account == nullptr) return refuse(nullptr, RobReject::unknown_source);
    fragment.level1_id = Level1Id{number(event) + static_cast<std::uint32_t>(rule_of(fragment.source).level1_offset)};
    return take_known(fragment, *account);
}

IntakeAnswer FragmentIntake::take_known(const wire::InputFragment& fragment, Account& account) {
    const auto rule = rule_of(fragment.source);
    switch (fragment.kind) {
        case wire::PayloadKind::raw: return take_raw(fragment, rule, account);
        case wire::PayloadKind::rod: return take_rod(fragment, rule, account);
        case wire::PayloadKind::rob: return take_rob(fragment, rule, account);
    }
    return refuse(&account, RobReject::malformed);
}

IntakeAnswer FragmentIntake::take_raw(const wire::InputFragment& fragment, const event::SourceRule& rule,
                                      Account& account) {
    if (!fragment.level1_id) return refuse(&account, RobReject::no_level1_id);
    const Level1Id event{number(*fragment.level1_id) - static_cast<std::uint32_t>(rule.level1_offset)};
    if (fragment.status_words.size() > wire::input_status_words_max) return refuse(&account, RobReject::malformed);
    std::array<std::uint32_t, 2 + wire::input_status_words_max> status;  // set as far as it is used
    status[0] = 0;
    status[1] = static_cast<std::uint32_t>(fragment.payload.size());
    std::ranges::copy(fragment.status_words, status.begin() + 2);
    event::RobShell shell;
    const auto made =
        event::make_shell(shell, {.source = fragment.source, .run = options_.run, .level1_id = *fragment.level1_id},
                          std::span(status).first(2 + fragment.status_words.size()), fragment.payload.size(),
                          {.format = options_.format});
    if (!made) return refuse(&account, RobReject::malformed);
    const std::array pieces{shell.head(), fragment.payload, shell.tail()};
    return put(event, fragment, pieces, fragment.payload.size(), account);
}

/// The event that a ROD belongs to. `marked`: its ROB is marked as one with a wrong id.
FragmentIntake::Placed FragmentIntake::place(const wire::InputFragment& fragment, const event::SourceRule& rule,
                                             ConstData rod, std::size_t offset, bool marked) {
    const auto view = event::RodView::parse(rod, offset);
    if (!view) return {.fault = RobReject::malformed};
    const auto shift = static_cast<std::uint32_t>(rule.level1_offset);
    if (!fragment.level1_id) {
        if (rule.exempt || marked) return {.fault = RobReject::no_level1_id};
        return {.event = Level1Id{number(view->level1_id()) - shift}};
    }
    const Level1Id event{number(*fragment.level1_id) - shift};
    if (rule.exempt || marked || view->level1_id() == *fragment.level1_id) return {.event = event};
    store_.mark_lost(event, fragment.source);
    if (mismatched_) mismatched_({fragment.source, *fragment.level1_id, view->level1_id()});
    return {.event = event, .fault = RobReject::level1_mismatch};
}

IntakeAnswer FragmentIntake::take_rod(const wire::InputFragment& fragment, const event::SourceRule& rule,
                                      Account& account) {
    const auto placed = place(fragment, rule, fragment.payload, 0, false);
    event::RobShell shell;
    auto fault = placed.fault;
    if (!fault &&
        !event::make_shell_around(shell, fragment.source, fragment.payload.size(), {.format = options_.format}))
        fault = RobReject::malformed;
    if (fault) return refuse(&account, *fault);
    const std::array pieces{shell.head(), fragment.payload};
    return put(placed.event, fragment, pieces, fragment.payload.size(), account);
}

IntakeAnswer FragmentIntake::take_rob(const wire::InputFragment& fragment, const event::SourceRule& rule,
                                      Account& account) {
    const auto rob = event::FragmentView::parse(fragment.payload, event::Level::rob, options_.format);
    if (!rob || rob->bytes().size() != fragment.payload.size() || rob->source() != fragment.source)
        return refuse(&account, RobReject::malformed);
    const std::array pieces{fragment.payload};
    if (rob->payload().empty()) {  // its status has the reason
        if (rob->status() == 0) return refuse(&account, RobReject::malformed);
        if (!fragment.level1_id) return refuse(&account, RobReject::no_level1_id);
        const Level1Id event{number(*fragment.level1_id) - static_cast<std::uint32_t>(rule.level1_offset)};
        return put(event, fragment, pieces, fragment.payload.size(), account);
    }
    const bool marked = (rob->status() & event::status::level1_id) != 0;
    const auto placed = place(fragment, rule, rob->payload(), rob->payload_offset(), marked);
    if (placed.fault) return refuse(&account, *placed.fault);
    return put(placed.event, fragment, pieces, fragment.payload.size(), account);
}

IntakeAnswer FragmentIntake::put(Level1Id event, const wire::InputFragment& fragment, std::span<const ConstData> pieces,
                                 std::size_t bytes, Account& account) {
    RobReject reason{};
    switch (store_.put(event, RobPieces{fragment.source, pieces}, reason)) {
        case PutResult::stored: break;
        case PutResult::full: return {IntakeResult::full, RobReject::full};
        case PutResult::refused: return refused(&account, reason);
    }
    account.arrived.fetch_add(1, std::memory_order_relaxed);
    account.bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (options_.first == fragment.source) options_.on_first(event, fragment.time_ns);
    return {};
}

std::vector<SourceCounts> FragmentIntake::counts() const {
    std::vector<SourceCounts> all;
    const auto& sources = store_.sources();
    all.reserve(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto& account = accounts_[i];
        SourceCounts counts{.source = sources[i],
                            .arrived = account.arrived.load(std::memory_order_relaxed),
                            .bytes = account.bytes.load(std::memory_order_relaxed)};
        for (std::size_t r = 0; r < rob_reject_count; ++r)
            counts.refused[r] = account.refused[r].load(std::memory_order_relaxed);
        if (const auto seen = account.last_seen.load(std::memory_order_relaxed); seen != never)
            counts.last_seen = SteadyTime(std::chrono::nanoseconds(seen));
        all.push_back(counts);
    }
    return all;
}

wire::RefuseReason refuse_reason(RobReject reason) noexcept {
    using wire::RefuseReason;
    switch (reason) {
        case RobReject::late:
        case RobReject::cleared: return RefuseReason::late;
        case RobReject::duplicate: return RefuseReason::duplicate;
        case RobReject::unknown_source: return RefuseReason::unknown_source;
        case RobReject::malformed: return RefuseReason::malformed;
        case RobReject::level1_mismatch: return RefuseReason::level1_mismatch;
        case RobReject::too_large: return RefuseReason::too_large;
        case RobReject::full: return RefuseReason::full;
        case RobReject::no_level1_id: return RefuseReason::no_level1_id;
        case RobReject::too_far_ahead: return RefuseReason::too_far_ahead;
        case RobReject::stopping: return RefuseReason::stopping;
        case RobReject::not_cleared:
        case RobReject::made_ahead:
        case RobReject::no_trigger:
        case RobReject::ambiguous:
        case RobReject::clock_unknown: break;  // of what was in hand, or waited for its trigger
    }
    return RefuseReason::other;
}

}  // namespace weir::readout
