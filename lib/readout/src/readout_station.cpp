// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/readout_station.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "readout_node.hpp"
#include "weir/base/assert.hpp"

namespace weir::readout {
namespace {

static_assert(workload::generated_robs_max <= wire::request_robs_max);

constexpr std::array feed_kinds{"generator", "file", "network", "level2"};

std::string in_hex(SourceId source) { return fmt::format("0x{:06x}", number(source)); }

}  // namespace

const char* name(FeedKind kind) noexcept { return feed_kinds[static_cast<std::size_t>(kind)]; }

std::optional<FeedKind> parse_feed_kind(std::string_view text) noexcept {
    const auto found = std::ranges::find(feed_kinds, text);
    if (found == feed_kinds.end()) return std::nullopt;
    return static_cast<FeedKind>(found - feed_kinds.begin());
}

/// Hands everything to the node of the run that goes on.
class ReadoutStation::Logic final : public messaging::LoopLogic {
public:
    void use(ReadoutNode* node) noexcept { node_ = node; }
    void flush() {
        if (node_ != nullptr) node_->flush();
    }
    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        node_->on_message(message, now);
    }
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime now) override { return node_->step(now); }

private:
    ReadoutNode* node_ = nullptr;  // of the run
};

struct ReadoutStation::Run {
    RobStore store;
    RobInput input;
    ReadoutNode node;
    std::optional<EventFeed> feed{};
    std::optional<RequestHandlers> handlers{};
    NamedThread feeder{};

    Run(const RobStoreOptions& store_options, const RobInputOptions& input_options,
        std::function<void(const Level1Mismatch&)> mismatched, messaging::MessageSender& messages,
        const ReadoutNodeOptions& node_options)
        : store(store_options),
          input(store, input_options, std::move(mismatched)),
          node(store, input, messages, node_options) {}
};

ReadoutStation::ReadoutStation(ReadoutStationOptions options, Reporter report, const Clock& clock)
    : options_(std::move(options)), report_(std::move(report)), clock_(clock) {}

ReadoutStation::~ReadoutStation() {
    if (!loop_) return;
    static_cast<void>(stop(std::chrono::milliseconds(0)));
    static_cast<void>(disconnect());
}

Result<> ReadoutStation::make_feed() {
    maker_.reset();
    switch (options_.feed) {
        case FeedKind::generator: {
            auto generator = options_.generator;
            generator.format = options_.format;
            generator.sources = options_.sources;
            maker_ = WEIR_TRY(workload::make_fragment_generator(generator));
            break;
        }
        case FeedKind::file: {
            auto options = options_.replay;
            options.rules = options_.rules;
            options.sources = options_.sources;
            auto replay = WEIR_TRY(workload::FragmentReplay::open(options));
            if (replay->format() != options_.format)
                return fail(Errc::usage,
                            fmt::format("{} holds {} events, and the partition's format is {}", options.file.native(),
                                        event::name(replay->format()), event::name(options_.format)));
            for (const auto& [source, events] : replay->mismatches())
                report_({.severity = Severity::warning,
                         .what = "level-1 ids in the file are not what the partition expects",
                         .where = fmt::format("{}, source {}", options.file.native(), in_hex(source)),
                         .why = fmt::format("{} of {} events", events, replay->events()),
                         .advice = "set in [data] level1_offset or level1_exempt how this source counts",
                         .key = fmt::format("level1_mismatch {}", in_hex(source)),
                         .alarm = "level1_mismatch"});
            maker_ = std::move(replay);
            break;
        }
        case FeedKind::network:
            if (options_.sources.empty())
                return fail(Errc::usage,
                            "a readout that is fed from the network needs its sources: sources = [\"0x420000\", ...]");
            sources_ = options_.sources;
            return {};
        case FeedKind::level2: sources_ = {level2_result_source}; return {};
    }
    sources_ = maker_->sources();
    const memory::BufferPool pool(options_.store.bytes_max);
    for (std::uint32_t id = 1; id <= 64; ++id) {  // the generator repeats itself soon, a file at its number of events
        std::size_t size = 0;
        for (const auto& rob : maker_->make(Level1Id{id})) size += rob.bytes.size();
        if (size > pool.largest())
            return fail(Errc::usage,
                        fmt::format("its ROBs of one event are {} bytes, and its memory is {}; raise memory", size,
                                    to_string(options_.store.bytes_max)));
    }
    return {};
}

Result<> ReadoutStation::configure() {
    WEIR_TRY(make_feed());
    auto sorted = sources_;
    std::ranges::sort(sorted);
    if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
        return fail(Errc::usage, fmt::format("source {} is named twice", in_hex(*twice)));
    const std::vector askers{StationKind::assign, StationKind::build, StationKind::supervise, StationKind::select};
    messaging::StationLoopOptions options{.thread = "network",
                                          .loop = options_.loop,
                                          .link = options_.link,
                                          .speaks_with = askers,
                                          .memory = options_.message_memory,
                                          .status_interval = {}};
    auto loop = WEIR_TRY(messaging::StationLoop::open(std::move(options), clock_));
    {
        const std::scoped_lock lock(status_mutex_);
        loop_ = std::move(loop);
    }
    logic_ = std::make_unique<Logic>();
    return {};
}

Peer ReadoutStation::self() const {
    return {.name = options_.name,
            .kind = StationKind::readout,
            .id = options_.id,
            .dataflow = loop_ ? loop_->address() : "",
            .events = {},
            .sources = sources_,
            .tcp = options_.link == messaging::LinkKind::tcp};
}

Result<> ReadoutStation::connect(const std::vector<Peer>& peers) { return loop_->connect(peers, *logic_); }

Result<> ReadoutStation::change_peers(const std::vector<Peer>& peers) { return loop_->change_peers(peers); }

void ReadoutStation::mismatched(const Level1Mismatch& mismatch) {
    report_(
        {.severity = Severity::error,
         .what = "a fragment with another level-1 id than that of its event was refused",
         .where = fmt::format("source {}", in_hex(mismatch.source)),
         .why = fmt::format("its id is {} and should be {}", number(mismatch.found), number(mismatch.expected)),
         .advice =
             "look whether this source lost its count; or set in [data] level1_offset or level1_exempt how it counts",
         .key = fmt::format("level1_mismatch {}", in_hex(mismatch.source)),
         .alarm = "level1_mismatch"});
}

Result<> ReadoutStation::start(RunNumber number) {
    auto store_options = options_.store;
    store_options.sources = sources_;
    store_options.first = options_.first;
    const ReadoutNodeOptions node_options{.direct = options_.direct,
                                          .fragments = options_.feed == FeedKind::network,
                                          .results = options_.feed == FeedKind::level2};
    const RobInputOptions input_options{.format = options_.format, .rules = options_.rules, .run = number};
    const auto run = std::make_shared<Run>(
        store_options, input_options, [this](const Level1Mismatch& m) { mismatched(m); }, loop_->endpoint(),
        node_options);
    if (maker_) {
        maker_->set_run(number);
        run->feed.emplace(run->store, *maker_, EventFeedOptions{.first = options_.first, .latency = options_.latency});
    }
    if (options_.handlers.handlers > 0) {
        run->handlers.emplace(
            run->store, options_.handlers, clock_, [this] { loop_->call([this] { logic_->flush(); }); },
            [feed = run->feed ? &*run->feed : nullptr](Level1Id event, SteadyTime now) {
                if (feed != nullptr) feed->ask(event, now);
            });
        run->node.use(&*run->handlers);
    }
    {
        const std::scoped_lock lock(status_mutex_);
        run_ = run;
    }
    if (run->feed)
        run->feeder =
            NamedThread("feeder", [this, feed = &*run->feed](const std::stop_token& stop) { feed->run(stop, clock_); });
    loop_->begin_run(number, [&] { logic_->use(&run->node); });
    return {};
}

Result<> ReadoutStation::stop(std::chrono::milliseconds) {  // every wait below ends by itself
    loop_->end_run([&] {
        logic_->flush();
        logic_->use(nullptr);
    });
    if (!run_) return {};
    auto& run = *run_;
    run.feeder.request_stop();
    run.store.stop_waiting();
    if (run.feeder.joinable()) run.feeder.join();
    if (run.handlers) run.handlers->stop();
    run.node.use(nullptr);
    const auto counts = run.store.ledger().counts();
    const auto held = run.store.count_robs();
    if (counts.in_hand != held)
        report_({.severity = Severity::error,
                 .what = "the ledger of ROBs does not balance",
                 .where = options_.name,
                 .why = fmt::format("{} are in hand, and the buffers hold {}", counts.in_hand, held),
                 .advice = "this is a mistake in weir; please report it",
                 .alarm = "ledger"});
    run.store.reset(run.store.oldest());
    return {};
}

Result<> ReadoutStation::disconnect() {
    if (loop_) loop_->disconnect();
    return {};
}

Result<> ReadoutStation::unconfigure() {
    {
        const std::scoped_lock lock(status_mutex_);
        run_.reset();
        loop_.reset();
    }
    logic_.reset();
    maker_.reset();
    sources_.clear();
    return {};
}

service::StationStatus ReadoutStation::status() const {
    std::shared_ptr<messaging::StationLoop> open_loop;
    std::shared_ptr<Run> run;
    {
        const std::scoped_lock lock(status_mutex_);
        open_loop = loop_;
        run = run_;
    }
    service::StationStatus status;
    status.ledger.what = "ROB fragments";
    if (!run) return status;
    const auto counts = run->store.ledger().counts();
    status.ledger.received = counts.received;
    status.ledger.stored = counts.stored;
    status.ledger.in_hand = counts.in_hand;
    for (std::size_t i = 0; i < rob_reject_count; ++i)
        if (counts.rejected[i] > 0) status.ledger.rejected[name(static_cast<RobReject>(i))] = counts.rejected[i];
    const auto add = [&](const char* what, std::uint64_t value) { status.counters[what] = static_cast<double>(value); };
    const auto node = run->node.stats();
    using wire::RobState;
    add("requests_level2", node.requests_level2);
    add("requests_building", node.requests_building);
    add("requests_dropped", node.requests_discarded);
    add("answers", node.answers);
    add("answered_bytes", node.bytes);
    add("robs_sent", node.of(RobState::here));
    add("robs_not_yet", node.of(RobState::not_yet));
    add("robs_cleared", node.of(RobState::cleared));
    add("robs_unknown", node.of(RobState::unknown));
    add("robs_lost", node.of(RobState::lost));
    add("clears", node.clears);
    add("clears_beyond", run->store.clears_beyond());
    add("messages_malformed", node.messages_malformed);
    add("messages_foreign", node.messages_foreign);
    add("events_held", run->store.events_held());
    add("bytes_held", run->store.bytes_held().count());
    add("oldest_level1_id", number(run->store.oldest()));
    if (run->handlers) {
        const auto handlers = run->handlers->stats();
        add("handler_requests", handlers.handled);
        add("handler_waits", handlers.waits);
        add("handler_not_yet", handlers.not_yet);
        add("requests_given_up", handlers.discarded);
        add("requests_queued", run->handlers->waiting_requests());
    }
    if (open_loop) {
        const auto loop = open_loop->stats();
        add("kernel_drops", loop.kernel_drops);
        add("foreign_address", loop.foreign_address);
        add("send_failures", loop.send_failures);
        add("datagrams_received", loop.endpoint.datagrams_received);
        add("datagrams_sent", loop.endpoint.datagrams_sent);
    }
    return status;
}

}  // namespace weir::readout
