// SPDX-License-Identifier: Apache-2.0
#include "triggers/outside/trigger_order.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "weir/wire/dataflow.hpp"

namespace weir::selection {
namespace {

constexpr Bytes ids_memory_max = 16_MiB;

void report_ids(const Reporter& report, Severity severity, std::string alarm, std::string what, const std::string& ids,
                std::string advice) {
    report({.severity = severity,
            .what = std::move(what),
            .why = fmt::format("level-1 ids {}", ids),
            .advice = std::move(advice),
            .key = alarm,
            .alarm = std::move(alarm)});
}

}  // namespace

void TriggerOrder::Ids::insert(Level1Id first, std::uint32_t count) {
    if (ids_.memory() > ids_memory_max.count()) known_ = false;
    if (!known_ || count == 0) return;
    const auto last = number(first) + (count - 1);
    if (last >= number(first)) return ids_.insert({GlobalEventId{number(first)}, GlobalEventId{last}});
    ids_.insert({GlobalEventId{number(first)}, GlobalEventId{std::numeric_limits<std::uint32_t>::max()}});
    ids_.insert({GlobalEventId{0}, GlobalEventId{last}});
}

service::EventIds TriggerOrder::Ids::events() const {
    // A set that is not whole is not known: it would name some and be taken for all.
    return known_ ? service::EventIds(ids_) : service::EventIds(ids_, Bytes{0});
}

void TriggerOrder::start_run(Level1Id first) {
    *this = TriggerOrder(std::move(who_));
    next_ = NextTrigger(first);
}

void TriggerOrder::skip(Level1Id from, Level1Id to) {
    const auto count = number(to) - number(from);
    if (count == 0) return;
    skipped_.push_back({from, count});
    run_.lost.insert(from, count);
    news_.lost.insert(from, count);
    counts_.lost += count;
    passed_ += count;
}

TriggerOrder::Verdict TriggerOrder::judge(Level1Id id) {
    const auto next = next_.id();
    const auto jumped_to = next_.jumped_to();
    if (next_.take(id)) {
        skip(next, id);
        const bool came = jumped_to && number(id) == number(*jumped_to) + 1;  // and was refused
        if (came && run_.lost.erase(*jumped_to)) --counts_.lost;
        ++passed_;
        return Verdict::good;
    }
    const auto ahead = wire::level1_distance(id, next);
    if (ahead >= 0) {
        ++counts_.too_far_ahead;
        run_.too_far_ahead.insert(id);
        news_.too_far_ahead.insert(id);
        return Verdict::too_far_ahead;
    }
    const bool before_the_run = static_cast<std::uint64_t>(-std::int64_t{ahead}) > passed_;
    // When not all that were lost are known, one that comes now was lost as well as not.
    if (const bool was_lost = run_.lost.erase(id); was_lost || before_the_run || !run_.lost.known()) {
        if (was_lost) --counts_.lost;
        ++counts_.out_of_order;
        run_.out_of_order.insert(id);
        news_.out_of_order.insert(id);
        return Verdict::out_of_order;
    }
    ++counts_.doubled;
    run_.doubled.insert(id);
    news_.doubled.insert(id);
    return Verdict::doubled;
}

void TriggerOrder::add_to(TriggerCounts& counts) const noexcept {
    counts.lost += counts_.lost;
    counts.doubled += counts_.doubled;
    counts.out_of_order += counts_.out_of_order;
    counts.too_far_ahead += counts_.too_far_ahead;
}

std::vector<SkippedIds> TriggerOrder::take_skipped() { return std::exchange(skipped_, {}); }

void TriggerOrder::report_to(const Reporter& report) {
    if (!news_.lost.empty())
        report_ids(report, Severity::error, "triggers_lost", "triggers never came, and their events are not built",
                   news_.lost.text(),
                   fmt::format("look whether {} lost its count; [data] first_level1_id is the first", who_));
    if (!news_.out_of_order.empty())
        report_ids(report, Severity::error, "triggers_out_of_order",
                   "triggers that came behind later ones were refused", news_.out_of_order.text(),
                   fmt::format("{} has to send in the order of level-1 ids", who_));
    if (!news_.doubled.empty())
        report_ids(report, Severity::warning, "triggers_doubled", "triggers that came again were refused",
                   news_.doubled.text(),
                   fmt::format("each event is built once; look whether {} was started again", who_));
    if (!news_.too_far_ahead.empty())
        report_ids(
            report, Severity::error, "triggers_too_far_ahead",
            fmt::format("triggers far ahead of the next, {}, were refused", number(next_.id())),
            news_.too_far_ahead.text(),
            fmt::format("the counter of {} jumped; its next trigger shows whether it counts on from there", who_));
    news_ = {};
}

service::StationEvents TriggerOrder::faults() const {
    service::StationEvents all;
    const auto add = [&](const char* what, const Ids& ids) {
        if (!ids.empty()) all.emplace(what, ids.events());
    };
    add("triggers lost", run_.lost);
    add("triggers doubled", run_.doubled);
    add("triggers out of order", run_.out_of_order);
    add("triggers too far ahead", run_.too_far_ahead);
    return all;
}

}  // namespace weir::selection
