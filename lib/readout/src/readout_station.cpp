// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/readout_station.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "datagrams/datagram_server.hpp"
#include "front_end/front_end_feed.hpp"
#include "intake/fragment_intake.hpp"
#include "intake/fragment_server.hpp"
#include "matching/matched_intake.hpp"
#include "matching/unmatched_output.hpp"
#include "notices/busy_notice.hpp"
#include "notices/seen_notice.hpp"
#include "readout_node.hpp"
#include "readout_status.hpp"
#include "weir/base/assert.hpp"

namespace weir::readout {
namespace {

static_assert(workload::generated_robs_max <= wire::request_robs_max);

constexpr std::array feed_kinds{"generator", "file", "network", "level2", "front_end"};

constexpr std::chrono::milliseconds unmatched_wait{10'000};  // for their recorder's last answers

std::string in_hex(SourceId source) { return fmt::format("0x{:06x}", number(source)); }

}  // namespace

const char* name(FeedKind kind) noexcept { return feed_kinds[static_cast<std::size_t>(kind)]; }

std::optional<FeedKind> parse_feed_kind(std::string_view text) noexcept {
    const auto found = std::ranges::find(feed_kinds, text);
    if (found == feed_kinds.end() || text == name(FeedKind::front_end))
        return std::nullopt;  // which has no name but its file's
    return static_cast<FeedKind>(found - feed_kinds.begin());
}

/// Hands everything to the node of the run that goes on.
class ReadoutStation::Logic final : public messaging::LoopLogic {
public:
    void use(ReadoutNode* node, BusyNotice* busy, SeenNotice* seen) noexcept {
        node_ = node;
        busy_ = busy;
        seen_ = seen;
    }
    void flush() {
        if (node_ != nullptr) node_->flush();
    }
    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        node_->on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime) override {
        if (busy_ != nullptr) busy_->on_peer(peer, change);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        auto next = busy_ != nullptr ? busy_->step(now) : std::nullopt;
        if (seen_ != nullptr) next = seen_->step(now);  // sooner
        const auto of_node = node_->step(now);
        return next && of_node ? std::min(next, of_node) : next ? next : of_node;
    }

private:
    ReadoutNode* node_ = nullptr;  // of the run
    BusyNotice* busy_ = nullptr;   // likewise; null: it is never busy
    SeenNotice* seen_ = nullptr;   // likewise; null: no event begins here
};

struct ReadoutStation::Run {
    RobStore store;
    ResultInput results;
    FragmentIntake intake;
    std::unique_ptr<UnmatchedOutput> unmatched{};  // null: what fits no trigger is not kept
    std::optional<MatchedIntake> matched{};
    ReadoutNode node;
    std::optional<BusyNotice> busy{};
    std::unique_ptr<SeenNotice> seen;  // null: no event begins here
    std::optional<EventFeed> feed{};
    std::optional<RequestHandlers> handlers{};
    NamedThread feeder{};
    std::optional<FragmentDelivery> delivery{};
    std::unique_ptr<FrontEndFeed> front_end{};

    Run(const RobStoreOptions& store_options, FragmentIntakeOptions intake_options,
        std::function<void(const Level1Mismatch&)> mismatched, messaging::MessageSender& messages,
        const ReadoutNodeOptions& node_options, bool by_time)
        : store(store_options),
          results(store, intake_options.format, intake_options.run),
          intake(store, matching_here(std::move(intake_options), by_time), std::move(mismatched)),
          node(store, results, messages, node_options) {}

private:
    FragmentIntakeOptions matching_here(FragmentIntakeOptions options, bool by_time) {
        if (by_time)
            options.by_time = [this](const wire::InputFragment& fragment, SteadyTime now) {
                return matched->add(fragment, now);
            };
        return options;
    }
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
    front_end_.reset();
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
        case FeedKind::front_end: {
            if (options_.sources.empty())
                return fail(Errc::usage,
                            "a front-end needs the sources that it reads out: sources = [\"0x420000\", ...]");
            auto spec = options_.front_end;
            spec.clock = &clock_;
            front_end_ = std::make_unique<FrontEndPlugin>(WEIR_TRY(FrontEndPlugin::open(spec)));
            sources_ = options_.sources;
            return {};
        }
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
    std::shared_ptr<FragmentServer> server;
    if (options_.input) {
        const memory::BufferPool pool(options_.store.bytes_max);
        server = WEIR_TRY(FragmentServer::open(*options_.input, pool.largest(), report_, clock_));
        report_.information(fmt::format("fragments are taken at {}", server->address()));
    }
    std::shared_ptr<DatagramServer> datagrams;
    if (options_.datagrams) {
        datagrams = WEIR_TRY(DatagramServer::open(*options_.datagrams, report_, clock_));
        report_.information(fmt::format("datagrams with fragments are taken at {}, with a buffer of {} in the kernel",
                                        datagrams->address(), to_string(datagrams->receive_buffer())));
    }
    {
        const std::scoped_lock lock(status_mutex_);
        loop_ = std::move(loop);
        server_ = std::move(server);
        datagrams_ = std::move(datagrams);
    }
    logic_ = std::make_unique<Logic>();
    return {};
}

bool ReadoutStation::from_outside() const noexcept {
    return options_.feed == FeedKind::network || options_.feed == FeedKind::front_end;
}

Peer ReadoutStation::self() const {
    return {.name = options_.name,
            .kind = StationKind::readout,
            .id = options_.id,
            .dataflow = loop_ ? loop_->address() : "",
            .events = {},
            .sources = sources_,
            .tcp = options_.link == messaging::LinkKind::tcp,
            .busy = from_outside(),
            .triggers = options_.matching.has_value() || (front_end_ && front_end_->reads_out)};
}

Result<> ReadoutStation::connect(const std::vector<Peer>& peers) {
    const auto found = std::ranges::find(peers, StationKind::supervise, &Peer::kind);
    supervisor_ = found == peers.end() ? std::nullopt : std::optional(found->id);
    first_ = found == peers.end() ? std::nullopt : found->first;
    return loop_->connect(peers, *logic_);
}

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

Result<> ReadoutStation::start(RunNumber number) { return begin(number, false); }

Result<> ReadoutStation::start_again(RunNumber number) { return begin(number, true); }

Result<> ReadoutStation::begin(RunNumber number, bool again) {
    auto store_options = options_.store;
    store_options.sources = sources_;
    store_options.first = options_.first;
    // What a datagram brought and found no room for does not come again, nor what has fitted no trigger.
    if ((datagrams_ || options_.matching) && store_options.lost_after == 0)
        store_options.lost_after = store_options.events_max;
    store_options.placed = !again;
    const ReadoutNodeOptions node_options{.direct = options_.direct, .results = options_.feed == FeedKind::level2};
    FragmentIntakeOptions intake_options{.format = options_.format, .rules = options_.rules, .run = number};
    std::unique_ptr<SeenNotice> seen;
    if (first_ && std::ranges::find(sources_, *first_) != sources_.end()) {
        seen = std::make_unique<SeenNotice>(loop_->endpoint(), *supervisor_, *first_);
        intake_options.first = first_;
        intake_options.on_first = [notice = seen.get()](Level1Id event, std::optional<std::int64_t> time_ns) {
            notice->seen(event, time_ns);
        };
    }
    const auto run = std::make_shared<Run>(
        store_options, intake_options, [this](const Level1Mismatch& m) { mismatched(m); }, loop_->endpoint(),
        node_options, options_.matching.has_value());
    if (options_.matching) {
        std::function<void(const wire::InputFragment&)> unmatched;
        if (options_.matching->unmatched) {
            run->unmatched = WEIR_TRY(UnmatchedOutput::open(*options_.matching->unmatched, options_.name));
            unmatched = [to = run->unmatched.get()](const wire::InputFragment& fragment) { to->send(fragment); };
        }
        run->matched.emplace(run->intake, *options_.matching, report_, clock_, std::move(unmatched));
        run->node.use_matching(&*run->matched);
    }
    run->seen = std::move(seen);
    run->store.set_masks(masks_);
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
    if (front_end_) {
        run->delivery.emplace(run->intake, run->store, report_, options_.front_end.file, clock_);
        run->front_end = make_front_end_feed(*front_end_, number, sources_, *run->delivery);
        if (const auto begun = run->front_end->begin(); !begun) {
            run->front_end->stop(std::chrono::seconds(1));
            return fail(begun.error().code,
                        fmt::format("the front-end {}: {}", options_.front_end.file, begun.error().context));
        }
        if (front_end_->reads_out) run->node.use_front_end(run->front_end.get());
    }
    if (from_outside())
        run->busy.emplace(run->store, loop_->endpoint(), BusyMarks{options_.busy_high, options_.busy_low}, supervisor_);
    {
        const std::scoped_lock lock(status_mutex_);
        run_ = run;  // whole: others look at it from now on
    }
    if (run->feed)
        run->feeder =
            NamedThread("feeder", [this, feed = &*run->feed](const std::stop_token& stop) { feed->run(stop, clock_); });
    if (run->matched) run->matched->start();
    if (server_) server_->start_run(number, run->intake);
    if (datagrams_) datagrams_->start_run(run->intake, options_.rules);
    loop_->begin_run(number, [&] { logic_->use(&run->node, run->busy ? &*run->busy : nullptr, run->seen.get()); });
    return {};
}

Result<> ReadoutStation::stop(std::chrono::milliseconds deadline) {  // every wait below ends by itself
    if (run_ && run_->front_end) run_->front_end->stop(deadline / 2);
    if (server_) server_->end_run();
    if (datagrams_) datagrams_->end_run();
    loop_->end_run([&] {
        logic_->flush();
        logic_->use(nullptr, nullptr, nullptr);
    });
    if (!run_) return {};
    auto& run = *run_;
    run.node.use_matching(nullptr);
    if (run.matched) run.matched->end_run();
    if (run.unmatched)
        run.unmatched->finish(std::min<std::chrono::milliseconds>(deadline / 4, unmatched_wait), report_);
    run.feeder.request_stop();
    run.store.stop_waiting();
    if (run.feeder.joinable()) run.feeder.join();
    if (run.handlers) run.handlers->stop();
    run.node.use(nullptr);
    run.node.use_front_end(nullptr);
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
        server_.reset();
        datagrams_.reset();
    }
    logic_.reset();
    maker_.reset();
    front_end_.reset();
    sources_.clear();
    return {};
}

Result<> ReadoutStation::set_masks(const std::vector<service::SourceMask>& masks) {
    masks_ = masks;
    if (run_) run_->store.set_masks(masks);
    return {};
}

service::StationStatus ReadoutStation::status() const {
    std::shared_ptr<messaging::StationLoop> open_loop;
    std::shared_ptr<FragmentServer> server;
    std::shared_ptr<DatagramServer> datagrams;
    std::shared_ptr<Run> run;
    {
        const std::scoped_lock lock(status_mutex_);
        open_loop = loop_;
        server = server_;
        datagrams = datagrams_;
        run = run_;
    }
    service::StationStatus status;
    status.ledger.what = "ROB fragments";
    status.levels = {"busy",
                     "events_held",
                     "bytes_held",
                     "oldest_level1_id",
                     "requests_queued",
                     "hanging_seconds",
                     "input_connections",
                     "input_blocks_waiting",
                     "input_udp_receive_buffer",
                     "match_waiting",
                     "match_clocks_followed"};
    if (server) add_input(*server, status);
    if (!run) {
        if (datagrams) add_datagrams(*datagrams, status);
        return status;
    }
    run->store.settle_masks();
    const auto counts = run->store.ledger().counts();
    status.ledger.received = counts.received;
    status.ledger.stored = counts.stored;
    status.ledger.in_hand = counts.in_hand;
    for (std::size_t i = 0; i < rob_reject_count; ++i)
        if (counts.rejected[i] > 0) status.ledger.rejected[name(static_cast<RobReject>(i))] = counts.rejected[i];
    const auto add = [&](const char* what, std::uint64_t value) { status.counters[what] = static_cast<double>(value); };
    const auto node = run->node.stats();
    if (run->feed) status.sources = run->feed->sources();
    if (from_outside()) {
        for (const auto& source : run->intake.counts()) status.sources.push_back(status_of(source, clock_));
    }
    if (datagrams) add_datagrams(*datagrams, status);
    if (run->matched) add_matching(*run->matched, status);
    if (run->unmatched) {
        const auto unmatched = run->unmatched->counts();
        status.counters["match_unmatched_recorded"] = static_cast<double>(unmatched.recorded);
        status.counters["match_unmatched_dropped"] = static_cast<double>(unmatched.dropped);
    }
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
    add("mask_changes", run->store.mask_changes());
    add("messages_malformed", node.messages_malformed);
    add("messages_foreign", node.messages_foreign);
    if (run->busy) add("busy", run->busy->busy() ? 1 : 0);
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
    if (run->front_end) add_front_end(run->front_end->stats(), status);
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
