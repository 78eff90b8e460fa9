// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/block_receiver.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

namespace weir::delivery {
namespace {

template <class Record>
constexpr wire::EventFormat format_of() {
    return std::is_same_v<Record, wire::InputFragment> ? wire::EventFormat::fragments : wire::EventFormat::triggers;
}

}  // namespace

template <class Record>
class BlockReceiver<Record>::Sink final : public EventSink {
public:
    using Reader = wire::BlockReader<Record>;
    using Next = typename Reader::Next;

    Sink(Take take, Bad bad, std::function<void()> on_waiting, const Clock& clock)
        : take_(std::move(take)), bad_(std::move(bad)), on_waiting_(std::move(on_waiting)), clock_(clock) {}

    void use(Receiver* receiver) { receiver_ = receiver; }

    void start_run(RunNumber run) {
        const std::scoped_lock lock(mutex_);
        run_ = run;
        sessions_.clear();  // of earlier runs, which have ended
    }
    /// The run that ended, if there was one. No block is begun any more, and none is worked on when this returns.
    std::optional<RunNumber> end_run() {
        std::vector<std::shared_ptr<Session>> sessions;
        std::optional<RunNumber> run;
        {
            const std::scoped_lock lock(mutex_);
            run = std::exchange(run_, std::nullopt);
            for (const auto& [id, session] : sessions_) sessions.push_back(session);
        }
        for (const auto& session : sessions) {
            const std::scoped_lock lock(session->mutex);
            if (session->block) work(*session, Room::last);
            session->ended = true;
        }
        return run;
    }

    std::optional<RunNumber> joined_run() override {
        const std::scoped_lock lock(mutex_);
        return run_;
    }

    /// After `stopping` a sender comes back by itself.
    Refusal no_run_to_join() const override { return {wire::ByeReason::stopping, "no run goes on"}; }

    std::optional<Refusal> hello(SessionId id, const wire::Hello& hello) override {
        if (hello.format != format_of<Record>())
            return Refusal{
                wire::ByeReason::format_mismatch,
                fmt::format("{} are taken here, and no {}", wire::name(format_of<Record>()), wire::name(hello.format))};
        const std::scoped_lock lock(mutex_);
        if (!run_) return no_run_to_join();
        if (hello.session.run != *run_)
            return Refusal{wire::ByeReason::wrong_run,
                           fmt::format("run {} goes on here, not run {}", number(*run_), number(hello.session.run))};
        auto& session = sessions_[id];
        if (!session) session = std::make_shared<Session>(id);
        return std::nullopt;
    }

    void session_closed(SessionId id) override {
        const std::scoped_lock lock(mutex_);
        sessions_.erase(id);
    }

    Taken take(IncomingEvent& event) override {
        std::shared_ptr<Session> session;
        {
            const std::scoped_lock lock(mutex_);
            const auto found = sessions_.find(event.session);
            if (found != sessions_.end()) session = found->second;
        }
        if (!session) {
            const auto late = std::move(event);
            receiver_->reject({late.session, late.meta.sequence}, wire::RejectReason::run_closed, "its run has ended");
            return Taken::yes;
        }
        const std::scoped_lock lock(session->mutex);
        if (session->block) return Taken::full;
        session->block.emplace(std::move(event));
        work(*session, session->ended ? Room::none : Room::some);
        return Taken::yes;
    }

    bool resume() {
        if (waiting_.load() == 0) return true;
        std::vector<std::shared_ptr<Session>> sessions;
        {
            const std::scoped_lock lock(mutex_);
            for (const auto& [id, session] : sessions_) sessions.push_back(session);
        }
        bool ended_one = false;
        for (const auto& session : sessions) {
            const std::scoped_lock lock(session->mutex);
            if (!session->block) continue;
            work(*session, Room::some);
            ended_one = ended_one || !session->block;
        }
        if (ended_one) receiver_->retry();
        return waiting_.load() == 0;
    }

    bool wait_for_waiting(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        began_to_wait_.wait(lock, stop, [&] { return waiting_.load() > 0; });
        return !stop.stop_requested();
    }

    void add_to(BlockReceiverStats& stats) const {
        stats.records = records_.load(std::memory_order_relaxed);
        stats.refused = refused_.load(std::memory_order_relaxed);
        stats.blocks = blocks_.load(std::memory_order_relaxed);
        stats.blocks_malformed = malformed_.load(std::memory_order_relaxed);
        stats.waits = waits_.load(std::memory_order_relaxed);
        stats.waiting = waiting_.load();
    }

private:
    struct Block {
        explicit Block(IncomingEvent incoming) : event(std::move(incoming)), reader(event.payload.data()) {}
        IncomingEvent event;
        Reader reader;
        bool again = false;  // the reader's record found no room
        std::vector<wire::Refusal> refused;
        std::uint32_t records = 0;  // that were good
    };
    struct Session {
        explicit Session(SessionId session_id) : id(session_id) {}
        const SessionId id;
        std::mutex mutex;
        std::optional<Block> block;  // that is worked on, or waits
        bool ended = false;          // its run has
    };

    enum class Room : std::uint8_t {
        some,  // or there will be
        last,  // the run ends: what finds none is refused
        none,  // the run has ended
    };

    void refuse(Block& block, wire::RefuseReason reason) { block.refused.push_back({block.reader.index(), reason}); }

    /// As far as there is room. Its session is locked.
    void work(Session& session, Room room) {
        auto& block = *session.block;
        const bool waited = std::exchange(block.again, false);
        const auto now = clock_.now();
        for (auto next = waited ? Next::record : block.reader.next(); next != Next::end; next = block.reader.next()) {
            if (next == Next::record) {
                ++block.records;
                if (room == Room::none) {
                    refuse(block, wire::RefuseReason::stopping);
                    continue;
                }
                const auto fate = take_(block.reader.record(), now, room == Room::last);
                if (fate.taken == RecordTaken::full) {
                    --block.records;
                    return wait(block, waited);
                }
                if (fate.taken == RecordTaken::refused) refuse(block, fate.reason);
                continue;
            }
            if (room != Room::none) bad_(block.reader.why());
            refuse(block, wire::RefuseReason::malformed);
            if (next == Next::broken) break;
        }
        if (waited) waiting_.fetch_sub(1);
        answer(session);
    }

    void wait(Block& block, bool waited) {
        block.again = true;
        if (waited) return;
        waits_.fetch_add(1, std::memory_order_relaxed);
        {
            const std::scoped_lock lock(mutex_);
            waiting_.fetch_add(1);
        }
        began_to_wait_.notify_all();
        if (on_waiting_) on_waiting_();
    }

    void answer(Session& session) {
        auto block = *std::exchange(session.block, std::nullopt);
        const Answer to{block.event.session, block.event.meta.sequence};
        blocks_.fetch_add(1, std::memory_order_relaxed);
        records_.fetch_add(block.records, std::memory_order_relaxed);
        refused_.fetch_add(block.refused.size(), std::memory_order_relaxed);
        if (block.records == 0 && !block.refused.empty()) {
            malformed_.fetch_add(1, std::memory_order_relaxed);
            return receiver_->reject(to, wire::RejectReason::malformed_event, block.reader.why());
        }
        if (block.refused.size() > wire::refusals_max) block.refused.resize(wire::refusals_max);
        if (block.refused.empty()) return receiver_->acknowledge(std::span(&to, 1));
        receiver_->acknowledge(to, std::move(block.refused));
    }

    const Take take_;
    const Bad bad_;
    const std::function<void()> on_waiting_;
    const Clock& clock_;
    Receiver* receiver_ = nullptr;
    mutable std::mutex mutex_;  // held for moments, also under that of a session
    std::condition_variable_any began_to_wait_;
    std::optional<RunNumber> run_;
    std::map<SessionId, std::shared_ptr<Session>> sessions_;  // shared with a call that works on one
    std::atomic<std::uint64_t> waiting_{0};
    std::atomic<std::uint64_t> records_{0}, refused_{0}, blocks_{0}, malformed_{0}, waits_{0};  // relaxed: counts
};

template <class Record>
BlockReceiver<Record>::BlockReceiver(const BlockReceiverOptions& options, Take take, Bad bad, const Clock& clock)
    : pool_(options.memory),
      sink_(std::make_unique<Sink>(std::move(take), std::move(bad), options.on_waiting, clock)) {}

template <class Record>
Result<std::unique_ptr<BlockReceiver<Record>>> BlockReceiver<Record>::open(BlockReceiverOptions options, Take take,
                                                                           Bad bad, Reporter report,
                                                                           const Clock& clock) {
    std::unique_ptr<BlockReceiver> made(new BlockReceiver(options, std::move(take), std::move(bad), clock));
    made->receiver_ = WEIR_TRY(Receiver::open(options.receiver, made->pool_, *made->sink_, std::move(report), clock));
    made->sink_->use(made->receiver_.get());
    made->receiver_->start();
    return made;
}

template <class Record>
BlockReceiver<Record>::~BlockReceiver() {
    if (!receiver_) return;
    end_run();
    static_cast<void>(receiver_->stop(std::chrono::milliseconds(0)));
}

template <class Record>
void BlockReceiver<Record>::start_run(RunNumber run) {
    sink_->start_run(run);
}

template <class Record>
void BlockReceiver<Record>::end_run() {
    const auto run = sink_->end_run();
    if (!run) return;
    receiver_->retry();  // blocks behind those that waited are taken, and answered
    receiver_->disconnect(*run, wire::ByeReason::run_closed, fmt::format("run {} has ended", number(*run)));
    static_cast<void>(receiver_->close_sessions(*run));
}

template <class Record>
bool BlockReceiver<Record>::resume() {
    return sink_->resume();
}

template <class Record>
bool BlockReceiver<Record>::wait_for_waiting(const std::stop_token& stop) {
    return sink_->wait_for_waiting(stop);
}

template <class Record>
BlockReceiverStats BlockReceiver<Record>::stats() const {
    BlockReceiverStats stats;
    sink_->add_to(stats);
    stats.receiver = receiver_->stats();
    return stats;
}

template class BlockReceiver<wire::InputFragment>;
template class BlockReceiver<wire::InputTrigger>;

}  // namespace weir::delivery
