// SPDX-License-Identifier: Apache-2.0
#include "intake/fragment_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weir::readout {
namespace {

/// A record's header, status words and padding.
constexpr std::size_t record_overhead_max = wire::input_record_header_size + 4 * wire::input_status_words_max + 4;
/// How long a block that waits may go without a look, beside being woken when there is room.
constexpr std::chrono::milliseconds look_interval{100};

}  // namespace

Result<std::unique_ptr<FragmentServer>> FragmentServer::open(const FragmentInput& input, std::size_t fragment_max,
                                                             Reporter report, const Clock& clock) {
    std::unique_ptr<FragmentServer> server(new FragmentServer(report, clock));
    delivery::BlockReceiverOptions options;
    options.receiver.listen = input.listen;
    options.receiver.name = input.name;
    options.receiver.tls = input.tls;
    options.receiver.connections_max = input.connections_max;
    options.receiver.threads = 1;
    const auto block_max = std::max(fragment_max + record_overhead_max, wire::block_size_usual);
    options.receiver.event_size_max = Bytes{std::min<std::uint64_t>(block_max, input.memory.count() / 4)};
    options.memory = input.memory;
    server->blocks_ = WEIR_TRY(Blocks::open(
        std::move(options),
        [raw = server.get()](const wire::InputFragment& fragment, SteadyTime now, bool last) {
            return raw->take(fragment, now, last);
        },
        [raw = server.get()](const char*) {
            raw->intake_->refuse(std::nullopt, RobReject::malformed, raw->clock_.now());
        },
        std::move(report), clock));
    server->address_ = transport::to_string(transport::HostPort{input.listen.host, server->blocks_->port()});
    return server;
}

delivery::RecordFate FragmentServer::take(const wire::InputFragment& fragment, SteadyTime now, bool last) {
    using delivery::RecordTaken;
    const auto answer = intake_->take(fragment, now);
    switch (answer.result) {
        case IntakeResult::stored: return {RecordTaken::yes};
        case IntakeResult::refused:
            if (answer.reason == RobReject::unknown_source) report_unknown(fragment.source);
            return {RecordTaken::refused, refuse_reason(answer.reason)};
        case IntakeResult::full: break;
    }
    if (!last) return {RecordTaken::full};
    intake_->refuse(fragment.source, RobReject::stopping, now);
    return {RecordTaken::refused, wire::RefuseReason::stopping};
}

/// One report for each doubling of their count: a flood of them costs nothing.
void FragmentServer::report_unknown(SourceId source) {
    const auto count = unknown_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!std::has_single_bit(count)) return;
    report_({.severity = Severity::warning,
             .what = fmt::format("a fragment of source 0x{:06x} was refused", number(source)),
             .where = address_,
             .why = fmt::format("this readout has no such source ({} fragments of such in this run)", count),
             .advice = "name it in the readout's sources, or send it to the readout that has it",
             .key = "unknown source"});
}

void FragmentServer::start_run(RunNumber run, FragmentIntake& intake) {
    intake_ = &intake;
    unknown_ = 0;
    waiting_ = NamedThread("input", [this](const std::stop_token& stop) { go_on(stop); });
    blocks_->start_run(run);
}

void FragmentServer::go_on(const std::stop_token& stop) {
    auto& store = intake_->store();
    while (blocks_->wait_for_waiting(stop)) {
        const auto seen = store.room_changes();
        if (blocks_->resume()) continue;
        store.wait_for_room(seen, clock_.now() + look_interval);
    }
}

void FragmentServer::end_run() {
    waiting_.request_stop();
    if (waiting_.joinable()) waiting_.join();
    blocks_->end_run();
}

}  // namespace weir::readout
