// SPDX-License-Identifier: Apache-2.0
#include "matching/matched_intake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/system_clock.hpp"

namespace weir::readout {
namespace {

constexpr std::size_t triggers_max = 1U << 18;  // that are known at once
constexpr std::size_t notices_max = 1U << 20;   // that came and were not taken yet
constexpr std::chrono::milliseconds look{5};    // how soon a fragment without room is tried again, at the latest

TimeMatcherOptions matcher_options(const TimeMatching& options) {
    return {.window = options.window,
            .offset_max = options.offset_max,
            .settle = options.settle,
            .unlocked_after = options.unlocked_after,
            .waiting_max = options.waiting_max};
}

RobReject reject_of(Match match) noexcept {
    switch (match) {
        case Match::ambiguous: return RobReject::ambiguous;
        case Match::unlocked: return RobReject::clock_unknown;
        case Match::none:
        case Match::trigger: break;
    }
    return RobReject::no_trigger;
}

}  // namespace

/// As it came, with bytes of its own.
struct MatchedIntake::Fragment {
    wire::InputFragment head;
    std::vector<std::byte> bytes;
    SteadyTime came{};
    Level1Id event{};  // once it is known

    Fragment(const wire::InputFragment& from, SteadyTime now)
        : head(from), bytes(from.payload.begin(), from.payload.end()), came(now) {
        head.payload = bytes;
    }
    Fragment(Fragment&&) = default;  // the bytes stay where they are
    Fragment& operator=(Fragment&&) = default;
    Fragment(const Fragment&) = delete;
    Fragment& operator=(const Fragment&) = delete;
    ~Fragment() = default;

    /// What it counts for: an empty one too has a price.
    [[nodiscard]] static std::size_t cost(std::size_t bytes) noexcept { return bytes + sizeof(Fragment); }
};

struct MatchedIntake::Source {
    const SourceId id;
    TimeMatcher matcher;
    std::deque<Fragment> waiting{};  // as the matcher has them
    std::deque<Fragment> ready{};    // whose trigger is known
    std::uint64_t added = 0;

    // Under the mutex:
    std::size_t held = 0, fragments = 0;
    TimeMatcherCounts counts{};

    Source(SourceId source, const TimeMatcherOptions& options, const TriggerTimes& triggers)
        : id(source), matcher(options, triggers) {}
};

MatchedIntake::MatchedIntake(FragmentIntake& intake, const TimeMatching& options, Reporter report, const Clock& clock,
                             std::function<void(const wire::InputFragment&)> unmatched)
    : intake_(intake),
      options_(options),
      report_(std::move(report)),
      clock_(clock),
      unmatched_(std::move(unmatched)),
      share_(options.memory.count() / std::max<std::size_t>(intake.store().sources().size(), 1)),
      triggers_(triggers_max) {
    for (const auto source : intake.store().sources()) {
        auto& made = sources_.emplace_back(std::make_unique<Source>(source, matcher_options(options), triggers_));
        places_.emplace(source, made.get());
    }
}

MatchedIntake::~MatchedIntake() = default;

IntakeAnswer MatchedIntake::add(const wire::InputFragment& fragment, SteadyTime now) {
    const auto found = places_.find(fragment.source);
    if (found == places_.end()) return {IntakeResult::refused, RobReject::unknown_source};
    auto& source = *found->second;
    const auto cost = Fragment::cost(fragment.payload.size());
    if (cost > share_) {
        intake_.refuse(source.id, RobReject::too_large, now);
        return {IntakeResult::refused, RobReject::too_large};
    }
    {
        const std::scoped_lock lock(mutex_);
        if (source.held + cost > share_ || source.fragments >= options_.waiting_max)
            return {IntakeResult::full, RobReject::full};
        source.held += cost;
        ++source.fragments;
    }
    Fragment copy(fragment, now);
    {
        const std::scoped_lock lock(mutex_);
        fragments_.emplace_back(&source, std::move(copy));
    }
    came_.notify_one();
    return {};
}

void MatchedIntake::add_triggers(std::span<const wire::TriggerNotice> triggers) {
    {
        const std::scoped_lock lock(mutex_);
        if (notices_.size() + triggers.size() > notices_max) {  // older than any that is looked for
            triggers_dropped_ += notices_.size();
            notices_.clear();
        }
        notices_.insert(notices_.end(), triggers.begin(), triggers.end());
    }
    came_.notify_one();
}

void MatchedIntake::start() {
    thread_ = NamedThread("matching", [this](const std::stop_token& stop) { run(stop); });
}

void MatchedIntake::run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const auto room = intake_.store().room_changes();
        const auto next = step(clock_.now());
        if (std::ranges::any_of(sources_, [](const auto& source) { return !source->ready.empty(); })) {
            intake_.store().wait_for_room(room, system_clock().now() + look);  // in real time
            continue;
        }
        std::unique_lock lock(mutex_);
        const auto came = [this] { return !fragments_.empty() || !notices_.empty(); };
        if (next) came_.wait_for(lock, stop, *next - clock_.now(), came);
        else came_.wait(lock, stop, came);
    }
}

/// When it has to be called again at the latest, if nothing comes.
std::optional<SteadyTime> MatchedIntake::step(SteadyTime now) {
    take_what_came(now);
    std::optional<SteadyTime> next;
    std::vector<MatchedFragment> decided;
    for (auto& source : sources_) {
        const auto before = source->matcher.counts();
        decided.clear();
        const auto until = source->matcher.step(now, decided);
        if (until) next = next ? std::min(*next, *until) : *until;
        decide(*source, decided, now);
        report_changes(*source, before);
        pass_on(*source);
    }
    return next;
}

void MatchedIntake::take_what_came(SteadyTime now) {
    std::vector<std::pair<Source*, Fragment>> fragments;
    std::vector<wire::TriggerNotice> notices;
    {
        const std::scoped_lock lock(mutex_);
        fragments.swap(fragments_);
        notices.swap(notices_);
    }
    std::uint64_t unordered = 0;
    for (const auto& notice : notices) {
        if (!triggers_.add(notice.level1_id, TriggerTime{notice.time_ns})) ++unordered;
    }
    if (unordered > 0) {
        const std::scoped_lock lock(mutex_);
        triggers_unordered_ += unordered;
    }
    for (auto& [source, fragment] : fragments) {
        source->matcher.add(source->added++, BoardTime{*fragment.head.time_ns}, now);
        source->waiting.push_back(std::move(fragment));
    }
}

void MatchedIntake::decide(Source& source, const std::vector<MatchedFragment>& decided, SteadyTime now) {
    for (const auto& one : decided) {  // in the order in which they were added
        auto fragment = std::move(source.waiting.front());
        source.waiting.pop_front();
        if (one.match == Match::trigger) {
            fragment.event = one.event;
            source.ready.push_back(std::move(fragment));
        } else {
            intake_.refuse(source.id, reject_of(one.match), now);
            if (unmatched_) unmatched_(fragment.head);
            release(source, fragment);
        }
    }
    const std::scoped_lock lock(mutex_);
    source.counts = source.matcher.counts();
}

bool MatchedIntake::pass_on(Source& source) {
    while (!source.ready.empty()) {
        const auto& fragment = source.ready.front();
        if (intake_.take_matched(fragment.head, fragment.event).result == IntakeResult::full) return false;
        release(source, fragment);
        source.ready.pop_front();
    }
    return true;
}

void MatchedIntake::release(Source& source, const Fragment& fragment) {
    const std::scoped_lock lock(mutex_);
    source.held -= Fragment::cost(fragment.bytes.size());
    --source.fragments;
}

void MatchedIntake::report_changes(Source& source, const TimeMatcherCounts& before) {
    const auto after = source.matcher.counts();
    const auto unlocked = static_cast<std::size_t>(Match::unlocked);
    if (after.jumps == before.jumps && after.decided[unlocked] == before.decided[unlocked]) return;
    const auto where = fmt::format("source 0x{:06x}", number(source.id));
    if (after.jumps > before.jumps)
        report_({.severity = Severity::warning,
                 .what = "the clock of a board has jumped, and is followed where it is now",
                 .where = where,
                 .why = fmt::format("its times are {} ns from where they were", after.jump),
                 .advice = "look whether the board was reset; what it sent meanwhile was refused and counted",
                 .key = "board_clock " + where});
    if (after.passed_over > before.passed_over)
        report_({.severity = Severity::error,
                 .what = "fragments were refused, since their board's clock was found only with those behind them",
                 .where = where,
                 .why = fmt::format("{} until now", after.passed_over),
                 .advice = "those behind them are matched; look whether the board sends noise when it begins or its "
                           "clock has jumped, or fragments closer to each other than 4 times match",
                 .key = "board_clock_late " + where,
                 .alarm = "board_clock_late"});
    const auto without_clock = after.decided[unlocked] - after.passed_over;
    if (without_clock > before.decided[unlocked] - before.passed_over)
        report_(
            {.severity = Severity::error,
             .what = "fragments were refused, since their board's clock fits no sequence of triggers",
             .where = where,
             .why = fmt::format("{} until now", without_clock),
             .advice = fmt::format("look whether the board's times are in nanoseconds and the triggers have theirs; "
                                   "to find a clock needs {} fragments within match_wait",
                                   TimeMatcher::anchors + TimeMatcher::acquire_from),
             .key = "board_clock_unknown " + where,
             .alarm = "board_clock"});
}

void MatchedIntake::end_run() {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    const auto now = clock_.now();
    take_what_came(now);
    std::vector<MatchedFragment> decided;
    for (auto& source : sources_) {
        const auto before = source->matcher.counts();
        decided.clear();
        source->matcher.finish(now, decided);
        decide(*source, decided, now);
        report_changes(*source, before);
        if (pass_on(*source)) continue;
        for (const auto& fragment : source->ready) {
            intake_.refuse(source->id, RobReject::stopping, now);
            release(*source, fragment);
        }
        source->ready.clear();
    }
}

std::vector<SourceMatching> MatchedIntake::counts() const {
    std::vector<SourceMatching> all;
    all.reserve(sources_.size());
    const std::scoped_lock lock(mutex_);
    for (const auto& source : sources_) all.push_back({source->id, source->counts});
    return all;
}

std::uint64_t MatchedIntake::triggers_dropped() const {
    const std::scoped_lock lock(mutex_);
    return triggers_dropped_;
}

std::uint64_t MatchedIntake::triggers_unordered() const {
    const std::scoped_lock lock(mutex_);
    return triggers_unordered_;
}

}  // namespace weir::readout
