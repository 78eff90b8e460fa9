// SPDX-License-Identifier: Apache-2.0
// What looking into a 1 MB event of about 1000 ROBs costs, by depth; cutting it; giving it new ids; making it.
#include <benchmark/benchmark.h>

#include "weir/event/check.hpp"
#include "weir/event/partial.hpp"
#include "weir/event/restamp.hpp"
#include "weir/event/rob_cursor.hpp"
#include "weir/workload/event_generator.hpp"

namespace weir::workload {
namespace {

constexpr event::EventIds ids{.run = RunNumber{357750},
                              .global_id = GlobalEventId{1},
                              .level1_id = Level1Id{1},
                              .lumi_block = LumiBlock{1},
                              .time = {}};

GeneratedEvent large_event(event::ChecksumType checksum) {
    EventGenerator generator(Profile::atlas2018(), 1, checksum);
    GeneratedEvent event;
    generator.generate({.stream = 0, .stored_size = Bytes{1'000'000}}, ids, event);
    return event;
}

event::ChecksumType checksum_of(const benchmark::State& state) {
    return state.range(0) == 0 ? event::ChecksumType::none : event::ChecksumType::adler32;
}

void count_bytes(benchmark::State& state, std::size_t size) {
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(size));
}

void ParseHeader(benchmark::State& state) {
    const auto event = large_event(event::ChecksumType::none);
    for (auto _ : state) benchmark::DoNotOptimize(event::EventView::parse(event.bytes, event::Format::event_5_0));
}
BENCHMARK(ParseHeader);

void WalkRobs(benchmark::State& state) {
    const auto event = large_event(event::ChecksumType::none);
    const auto view = event::EventView::parse(event.bytes, event::Format::event_5_0).value();
    std::uint64_t robs = 0;
    for (auto _ : state)
        if (!event::for_each_rob(view, [&](const event::FragmentView&) { ++robs; }))
            state.SkipWithError("the event is not valid");
    state.counters["robs"] = static_cast<double>(robs) / static_cast<double>(state.iterations());
}
BENCHMARK(WalkRobs);

void Check(benchmark::State& state) {
    const auto event = large_event(checksum_of(state));
    const auto depth = static_cast<event::Depth>(state.range(1));
    for (auto _ : state)
        if (!event::check_event(event.bytes, event::Format::event_5_0, depth))
            state.SkipWithError("the event is not valid");
    state.SetLabel(event::name(depth));
}
BENCHMARK(Check)->ArgNames({"adler32", "depth"})->ArgsProduct({{0, 1}, {0, 1, 2}});

void Cut(benchmark::State& state) {
    const auto event = large_event(checksum_of(state));
    const auto view = event::EventView::parse(event.bytes, event::Format::event_5_0).value();
    StreamTag tag{
        .type = "calibration", .name = "LAr", .obeys_lumi_block = true, .robs = {}, .detectors = {0x41, 0x42, 0x43}};
    event::EventPieces pieces;
    for (auto _ : state)
        if (!event::cut_event(view, tag, pieces)) state.SkipWithError("the event cannot be cut");
    state.counters["bytes"] = static_cast<double>(pieces.size());
}
BENCHMARK(Cut)->ArgName("adler32")->Arg(0)->Arg(1);

void Restamp(benchmark::State& state) {
    auto event = large_event(checksum_of(state));
    const auto plan = event::RestampPlan::make(event.bytes, event::Format::event_5_0).value();
    auto next = ids;
    for (auto _ : state) {
        next.level1_id = Level1Id{number(next.level1_id) + 1};
        next.global_id = GlobalEventId{number(next.global_id) + 1};
        plan.apply(event.bytes, next);
    }
    state.counters["places"] = static_cast<double>(plan.places());
}
BENCHMARK(Restamp)->ArgName("adler32")->Arg(0)->Arg(1);

void Generate(benchmark::State& state) {
    EventGenerator generator(Profile::atlas2018(), 1);
    GeneratedEvent event;
    for (auto _ : state) generator.generate({.stream = 0, .stored_size = Bytes{1'000'000}}, ids, event);
    count_bytes(state, event.bytes.size());
}
BENCHMARK(Generate);

}  // namespace
}  // namespace weir::workload

BENCHMARK_MAIN();
