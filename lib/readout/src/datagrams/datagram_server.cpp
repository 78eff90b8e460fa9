// SPDX-License-Identifier: Apache-2.0
#include "datagrams/datagram_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::readout {
namespace {

constexpr std::size_t datagrams_at_once = 64;
constexpr std::chrono::seconds drops_interval{1};
/// So soon what was lost is marked where there is room for its event now: a builder asks for it only then.
constexpr std::chrono::milliseconds mark_interval{20};
/// So many batches are taken before the thread looks whether it is to stop, and what has waited too long.
constexpr int batches_at_once = 16;

/// Why a datagram with this fate is a fault of who sent it; null: it is none, or is reported elsewhere.
const char* fault_of(DatagramFate fate) noexcept {
    switch (fate) {
        case DatagramFate::unknown_source: return "it is of no source of this readout";
        case DatagramFate::no_counter: return "it is one part of several, and has no level-1 id";
        case DatagramFate::contradictory: return "another part of the same fragment says otherwise";
        case DatagramFate::too_large: return "its fragment is larger than its source's share of udp_memory";
        case DatagramFate::whole:
        case DatagramFate::part:
        case DatagramFate::duplicate:
        case DatagramFate::late:
        case DatagramFate::jumped: break;
    }
    return nullptr;
}

const char* text_of(DatagramFault fault) noexcept {
    switch (fault) {
        case DatagramFault::too_short: return "it is shorter than its header";
        case DatagramFault::foreign: return "its header is another than this readout's";
        case DatagramFault::wrong_length: return "its length is not what its header says";
        case DatagramFault::wrong_checksum: return "its checksum is wrong";
        case DatagramFault::wrong_parts: return "its number of parts is wrong";
        case DatagramFault::wrong_flags: return "it has flags that are not known";
    }
    return "";
}

RobReject reject_of(DatagramFate fate) noexcept {
    switch (fate) {
        case DatagramFate::unknown_source: return RobReject::unknown_source;
        case DatagramFate::duplicate: return RobReject::duplicate;
        case DatagramFate::late: return RobReject::late;
        case DatagramFate::jumped: return RobReject::too_far_ahead;
        case DatagramFate::too_large: return RobReject::too_large;
        case DatagramFate::no_counter: return RobReject::no_level1_id;
        case DatagramFate::whole:
        case DatagramFate::part:
        case DatagramFate::contradictory: break;
    }
    return RobReject::malformed;
}

}  // namespace

Result<std::unique_ptr<DatagramServer>> DatagramServer::open(const DatagramInputOptions& options, Reporter report,
                                                             const Clock& clock) {
    WEIR_TRY(check(options.header));
    auto socket = WEIR_TRY(transport::open_udp(options.listen, {.receive_buffer = options.receive_buffer}));
    auto loop = WEIR_TRY(transport::EventLoop::create());
    WEIR_TRY(loop.add(socket.fd(), {.read = true}, 0));
    std::unique_ptr<DatagramServer> server(
        new DatagramServer(options, std::move(report), clock, std::move(socket), std::move(loop)));
    server->thread_ =
        NamedThread("input by UDP", [raw = server.get()](const std::stop_token& stop) { raw->run(stop); });
    return server;
}

DatagramServer::DatagramServer(const DatagramInputOptions& options, Reporter report, const Clock& clock,
                               transport::Socket socket, transport::EventLoop loop)
    : options_(options),
      report_(std::move(report)),
      clock_(clock),
      socket_(std::move(socket)),
      loop_(std::move(loop)),
      port_(socket_.local().port()) {
    address_ = transport::to_string(transport::HostPort{options.listen.host, port_});
}

DatagramServer::~DatagramServer() {
    thread_.request_stop();
    loop_.wake();
}

void DatagramServer::start_run(FragmentIntake& intake, const event::RodRules& rules) {
    const std::scoped_lock lock(mutex_);
    rules_ = rules;
    next_intake_ = &intake;
    assembler_.reset();
    begin();
}

/// With the lock held.
void DatagramServer::begin() {
    if (next_intake_ == nullptr || !next_intake_->store().placed()) return;
    intake_ = std::exchange(next_intake_, nullptr);
    FragmentAssemblerOptions options{
        .header = options_.header, .first = intake_->store().oldest(), .memory = options_.memory};
    options.wait = options_.wait;
    for (const auto source : intake_->store().sources()) {
        const auto rule = rules_.sources.find(source);
        options.sources.push_back({source, rule == rules_.sources.end() ? 0 : rule->second.level1_offset});
    }
    assembler_.emplace(
        std::move(options),
        FragmentAssembler::Events{
            .whole = [this](const wire::InputFragment& fragment) { take_whole(fragment); },
            .refused = [this](SourceId source, DatagramFate fate) { refuse(source, fate); },
            .never_came = [this](SourceId source, Level1Id from,
                                 Level1Id to) { intake_->never_came(source, from, to); },
            .jumped =
                [this](SourceId source, Level1Id from, Level1Id to) {
                    report_({.severity = Severity::error,
                             .what = "the counter of a source jumped",
                             .where = fmt::format("source 0x{:06x}", number(source)),
                             .why = fmt::format("from {} to {}", number(from), number(to)),
                             .advice =
                                 "look whether this board was reset; its fragments have no events until it counts "
                                 "as the triggers do",
                             .key = fmt::format("counter_jumped 0x{:06x}", number(source)),
                             .alarm = "counter_jumped"});
                }});
    drops_before_ = transport::kernel_drops(socket_.fd());
    drops_ = drops_reported_ = 0;
    next_look_ = clock_.now() + drops_interval;
    loop_.wake();
}

void DatagramServer::end_run() {
    const std::scoped_lock lock(mutex_);
    next_intake_ = nullptr;
    if (intake_ == nullptr) return;
    assembler_->finish();
    look_at_drops();
    intake_ = nullptr;
}

void DatagramServer::run(const std::stop_token& stop) {
    transport::DatagramBatch batch(datagrams_at_once);
    while (!stop.stop_requested()) {
        const auto now = clock_.now();
        const auto next = step(now);
        static_cast<void>(loop_.wait(next, now));
        for (int i = 0; i < batches_at_once && batch.receive(socket_.fd()) > 0; ++i) take(batch, clock_.now());
    }
}

std::optional<SteadyTime> DatagramServer::step(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    if (intake_ == nullptr) return std::nullopt;
    if (now >= next_look_) {
        look_at_drops();
        assembler_->reach(intake_->store().oldest());
        next_look_ = now + drops_interval;
    }
    now_ = now;
    const auto due = assembler_->step(now);
    auto next = due ? std::min(*due, next_look_) : next_look_;
    if (intake_->mark_lost()) next = std::min(next, now + mark_interval);
    return next;
}

void DatagramServer::take(const transport::DatagramBatch& batch, SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    now_ = now;
    begin();
    batch.for_each([&](ConstData datagram, const transport::Address& from) {
        if (intake_ == nullptr) {
            ++no_run_;
            return;
        }
        const auto outcome = assembler_->take(datagram, now);
        const auto& counts = assembler_->counts();
        if (!outcome)
            report_fault(datagram, from, text_of(outcome.error()),
                         counts.faults[static_cast<std::size_t>(outcome.error())]);
        else if (const auto* why = fault_of(*outcome))
            report_fault(datagram, from, why, counts.fates[static_cast<std::size_t>(*outcome)]);
    });
}

void DatagramServer::take_whole(const wire::InputFragment& fragment) {
    if (intake_->take(fragment, now_).result != IntakeResult::full) return;
    intake_->refuse(fragment.source, RobReject::full, now_);
    if (fragment.level1_id) intake_->never_came(fragment.source, *fragment.level1_id, *fragment.level1_id);
}

void DatagramServer::refuse(SourceId source, DatagramFate fate) { intake_->refuse(source, reject_of(fate), now_); }

/// One report for each doubling of their count: a flood of them costs nothing.
void DatagramServer::report_fault(ConstData datagram, const transport::Address& from, const char* why,
                                  std::uint64_t count) {
    if (!std::has_single_bit(count)) return;
    report_({.severity = Severity::warning,
             .what = "a datagram was discarded",
             .where = fmt::format("{} bytes from {}", datagram.size(), transport::to_string(from)),
             .why = fmt::format("{} ({} of them in this run)", why, count),
             .advice = "look at who sends there, and at the keys udp_... of this readout",
             .key = fmt::format("datagram {}", why)});
}

void DatagramServer::look_at_drops() {
    drops_ = transport::kernel_drops(socket_.fd()) - drops_before_;  // both modulo 2^32
    if (drops_ == drops_reported_) return;
    report_({.severity = Severity::warning,
             .what = "datagrams were lost in this machine's kernel",
             .where = address_,
             .why = fmt::format("{} since the last look, {} in this run: its buffer of {} was full",
                                drops_ - drops_reported_, drops_, to_string(receive_buffer())),
             .advice = fmt::format("set the sysctl net.core.rmem_max to {} or more, or give the readout more processor",
                                   options_.receive_buffer.count()),
             .key = "kernel_drops"});
    drops_reported_ = drops_;
}

DatagramServerStats DatagramServer::stats() const {
    const std::scoped_lock lock(mutex_);
    DatagramServerStats stats{.no_run = no_run_, .kernel_drops = drops_};
    if (intake_ != nullptr)
        stats.kernel_drops = static_cast<std::uint32_t>(transport::kernel_drops(socket_.fd()) - drops_before_);
    if (!assembler_) return stats;
    stats.datagrams = assembler_->counts();
    stats.sources = assembler_->sources();
    return stats;
}

}  // namespace weir::readout
