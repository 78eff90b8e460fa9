// SPDX-License-Identifier: Apache-2.0
#include "weir/workload/synthetic_source.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/event/restamp.hpp"
#include "weir/workload/event_generator.hpp"

namespace weir::workload {
namespace {

constexpr std::uint64_t plans_max = 65'536;  // drawn beforehand; then the order of kinds repeats
constexpr std::size_t prepared_min = 2;      // of a kind: one underway, one at hand
constexpr std::size_t parts = 16;            // of the making; more threads than that are not used

/// A kind of event: a stream, with or without the express tag.
std::size_t kind_of(const PlannedEvent& plan) { return 2 * plan.stream + (plan.express ? 1 : 0); }

/// Brings the events of a kind into an order without rule, always the same one for a seed.
void shuffle(std::span<PlannedEvent> items, Random& random) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.below(i)]);
}

}  // namespace

struct SyntheticSource::PreparedEvent {
    std::size_t kind = 0;
    std::vector<StreamTag> tags;
    std::vector<std::byte> bytes;
    event::RestampPlan plan;
};

/// Holds all prepared events, and of each kind those at hand, in the order in which they came back.
class SyntheticSource::Shelf {
public:
    explicit Shelf(std::size_t kinds) : at_hand_(kinds) {}

    void add(PreparedEvent event) {
        all_.push_back(std::make_unique<PreparedEvent>(std::move(event)));
        release(*all_.back());
    }

    [[nodiscard]] PreparedEvent* take(std::size_t kind) {
        const std::scoped_lock lock(mutex_);
        auto& queue = at_hand_[kind];
        if (queue.empty()) return nullptr;
        auto* const event = queue.front();
        queue.pop_front();
        return event;
    }

    void release(PreparedEvent& event) {
        const std::scoped_lock lock(mutex_);
        at_hand_[event.kind].push_back(&event);
    }

private:
    std::vector<std::unique_ptr<PreparedEvent>> all_;
    std::mutex mutex_;  // of the queues
    std::vector<std::deque<PreparedEvent*>> at_hand_;
};

SyntheticSource::SyntheticSource(const SyntheticOptions& options)
    : run_(options.run),
      first_id_(options.first_id),
      begin_(options.begin),
      lumi_block_length_(options.profile.lumi_block_length),
      shelf_(std::make_shared<Shelf>(2 * options.profile.streams.size())) {
    for (const auto& stream : options.profile.streams) rate_hz_ += stream.rate_hz;

    // The plans decide the order of the kinds and the sizes of each.
    Sampler sampler(options.profile, options.seed);
    std::vector<std::vector<PlannedEvent>> plans(2 * options.profile.streams.size());
    const auto count = std::clamp<std::uint64_t>(options.events.value_or(plans_max), 1, plans_max);
    Bytes planned;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto plan = sampler.next();
        kinds_.push_back(static_cast<std::uint16_t>(kind_of(plan)));
        plans[kind_of(plan)].push_back(plan);
        planned += plan.stored_size;
    }
    const double share =
        std::min(1.0, static_cast<double>(options.memory.count()) / static_cast<double>(planned.count()));

    std::vector<PlannedEvent> chosen;
    Random random(options.seed);
    for (auto& all : plans) {
        std::ranges::sort(all, {}, &PlannedEvent::stored_size);
        const auto wanted = static_cast<std::size_t>(static_cast<double>(all.size()) * share);
        const auto made = std::min(all.size(), std::max(wanted, prepared_min));
        const auto begin = chosen.size();
        for (std::size_t i = 0; i < made; ++i)
            chosen.push_back(all[(2 * i + 1) * all.size() / (2 * made)]);  // quantiles
        shuffle(std::span(chosen).subspan(begin), random);
    }
    for (auto& event : prepare(options, chosen)) {
        const Bytes size{event.bytes.size()};
        memory_ += size;
        event_size_max_ = std::max(event_size_max_, size);
        shelf_->add(std::move(event));
    }
}

std::vector<SyntheticSource::PreparedEvent> SyntheticSource::prepare(const SyntheticOptions& options,
                                                                     std::span<const PlannedEvent> plans) {
    const event::EventIds ids{.run = options.run,
                              .global_id = GlobalEventId{1},
                              .level1_id = Level1Id{1},
                              .lumi_block = LumiBlock{1},
                              .time = {.seconds = 1, .nanoseconds = 0}};
    std::vector<std::optional<PreparedEvent>> events(plans.size());
    // Each part has a generator of its own, so the events are the same on any number of threads.
    std::atomic<std::size_t> next_part{0};  // relaxed: only the number counts
    const auto make_parts = [&] {
        GeneratedEvent generated;
        for (auto part = next_part.fetch_add(1, std::memory_order_relaxed); part < parts;
             part = next_part.fetch_add(1, std::memory_order_relaxed)) {
            EventGenerator generator(options.profile, options.seed + part, options.checksum);
            for (std::size_t i = part; i < plans.size(); i += parts) {
                generator.generate(plans[i], ids, generated);
                auto restamp = event::RestampPlan::make(generated.bytes, event::Format::event_5_0);
                WEIR_ASSERT(restamp.has_value());
                events[i].emplace(PreparedEvent{.kind = kind_of(plans[i]),
                                                .tags = generated.tags,
                                                .bytes = generated.bytes,
                                                .plan = std::move(*restamp)});
            }
        }
    };
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 1; i < std::min<std::size_t>(parts, std::thread::hardware_concurrency()); ++i)
            threads.emplace_back(make_parts);
        make_parts();
    }
    std::vector<PreparedEvent> prepared;
    prepared.reserve(events.size());
    for (auto& event : events) prepared.push_back(std::move(*event));
    return prepared;
}

event::EventIds SyntheticSource::ids_of(std::uint64_t n) const {
    const auto seconds = static_cast<double>(n) / rate_hz_;
    const auto time = begin_.time_since_epoch() +
                      std::chrono::duration_cast<WallTime::duration>(std::chrono::duration<double>(seconds));
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const auto block = 1 + static_cast<std::uint64_t>(seconds / static_cast<double>(lumi_block_length_.count()));
    return {.run = run_,
            .global_id = global_id_of(n, first_id_),
            .level1_id = level1_id_of(n),
            .lumi_block = LumiBlock{static_cast<std::uint32_t>(std::min<std::uint64_t>(block, 0xffff))},
            .time = {.seconds = static_cast<std::uint32_t>(whole.count()),
                     .nanoseconds = static_cast<std::uint32_t>(
                         std::chrono::duration_cast<std::chrono::nanoseconds>(time - whole).count())}};
}

std::optional<SourcedEvent> SyntheticSource::make(std::uint64_t n) {
    auto* const event = shelf_->take(kinds_[static_cast<std::size_t>(n % kinds_.size())]);
    if (event == nullptr) return std::nullopt;
    const auto ids = ids_of(n);
    event->plan.apply(event->bytes, ids);
    return SourcedEvent{.global_id = ids.global_id,
                        .level1_id = ids.level1_id,
                        .lumi_block = ids.lumi_block,
                        .tags = event->tags,
                        .data = event->bytes,
                        .owner = std::shared_ptr<const void>(
                            event->bytes.data(), [shelf = shelf_, event](const void*) { shelf->release(*event); })};
}

}  // namespace weir::workload
