// SPDX-License-Identifier: Apache-2.0
#include "weir/delivery/block_sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/base/named_thread.hpp"

namespace weir::delivery {
namespace {

/// A sender that failed for good and a clock that was moved wake nobody who waits: they look this often.
constexpr std::chrono::nanoseconds look_interval = std::chrono::milliseconds{50};

Result<> check(const wire::InputFragment& fragment) {
    if (fragment.status_words.size() > wire::input_status_words_max)
        return fail(Errc::limit, fmt::format("a fragment has {} status words, {} are the most",
                                             fragment.status_words.size(), wire::input_status_words_max));
    if (fragment.payload.size() > wire::payload_size_max - 1024)
        return fail(Errc::limit, fmt::format("a fragment of {} bytes is too large", fragment.payload.size()));
    if (fragment.kind != wire::PayloadKind::raw && !fragment.status_words.empty())
        return fail(Errc::usage, "status words are for payloads that are no ROD or ROB, which have their own");
    return {};
}

Result<> check(const wire::InputTrigger& trigger) {
    if (trigger.words.size() > wire::input_trigger_words_max)
        return fail(Errc::limit, fmt::format("a trigger has {} words, {} are the most", trigger.words.size(),
                                             wire::input_trigger_words_max));
    return {};
}

}  // namespace

template <class Record>
class BlockSender<Record>::Blocks {
public:
    Blocks(BlockSenderOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

    Result<> open() {
        auto to = options_.sender;
        to.format =
            std::is_same_v<Record, wire::InputFragment> ? wire::EventFormat::fragments : wire::EventFormat::triggers;
        to.join_run = to.join_run || to.run == RunNumber{};
        to.on_refused = [this](Sequence, std::span<const wire::Refusal> records) {
            refusals_.assign(records.begin(), records.end());
        };
        to.on_final = [this](Sequence sequence, std::optional<wire::RejectReason> rejected) {
            ended(sequence, rejected);
        };
        sender_ = WEIR_TRY(Sender::open(std::move(to)));
        timer_ = NamedThread("blocks", [this](const std::stop_token& stop) { send_old_blocks(stop); });
        return {};
    }
    void close() {
        timer_.request_stop();
        if (timer_.joinable()) timer_.join();
        sender_->close();
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

    Result<std::optional<std::uint64_t>> add(const Record& record, bool wait) {
        WEIR_TRY(check(record));
        const auto size = wire::encoded_size(record);
        std::unique_lock lock(mutex_);
        last_size_ = size;
        const auto until = clock_.now() + options_.send_wait_max;
        bool waited = false;
        while (!has_room(size)) {
            if (WEIR_TRY(hand_over())) continue;
            if (!std::exchange(waited, true)) ++stats_.waits;
            if (!wait) return std::nullopt;
            auto at_most = look_interval;
            if (options_.send_wait_max.count() > 0) {
                const auto now = clock_.now();
                if (now >= until)
                    return fail(Errc::limit,
                                fmt::format("there was no room for {}; {}",
                                            to_string(std::chrono::nanoseconds(options_.send_wait_max)), why_not()));
                at_most = std::min<std::chrono::nanoseconds>(at_most, until - now);
            }
            changed_.wait_for(lock, at_most);
            WEIR_TRY(alive());
        }
        WEIR_TRY(alive());
        if (count_ == 0) begun_ = clock_.now();
        wire::encode(record, block_);
        ++count_;
        ++stats_.sent;
        const auto number = next_++;
        // A full block is sent at once; if it cannot be, it waits here, and the next record does. The record is taken,
        // so a sender that fails just now is the error of the next call.
        const bool first = count_ == 1;
        const bool sent = block_.size() >= options_.block_size_max && hand_over().value_or(false);
        lock.unlock();
        if (first && !sent) old_.notify_one();
        return number;
    }

    bool busy() {
        std::unique_lock lock(mutex_);
        if (has_room(last_size_)) return false;
        const auto sent = hand_over();
        return !sent || !*sent;
    }

    Result<bool> flush(std::chrono::milliseconds timeout) {
        const auto until = clock_.now() + timeout;
        std::unique_lock lock(mutex_);
        while (true) {
            if (count_ > 0) static_cast<void>(WEIR_TRY(hand_over()));
            if (count_ == 0 && open_.empty() && too_large_.empty()) return true;
            const auto now = clock_.now();
            if (now >= until) return false;
            changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(look_interval, until - now));
            if (count_ > 0 || !open_.empty() || !too_large_.empty()) WEIR_TRY(alive());
        }
    }

    Sender& sender() { return *sender_; }
    const Sender& sender() const { return *sender_; }

    BlockSenderStats stats() const {
        BlockSenderStats stats;
        {
            const std::scoped_lock lock(mutex_);
            stats = stats_;
        }
        stats.open = stats.sent - stats.taken - stats.refused - stats.rejected;
        stats.sender = sender_->stats();
        return stats;
    }

private:
    struct Open {
        std::uint64_t first = 0;
        std::uint32_t count = 0;
    };

    [[nodiscard]] bool has_room(std::size_t size) const {
        return count_ == 0 || (count_ < wire::block_records_max && block_.size() + size <= options_.block_size_max);
    }
    [[nodiscard]] std::string why_not() const {
        const auto stats = sender_->stats();
        if (stats.connected) return "its buffers are full";
        return stats.last_problem.empty() ? "there is no connection" : stats.last_problem;
    }
    [[nodiscard]] Result<> alive() const {
        if (closed_) return fail(Errc::refused, "the sender is closed");
        if (auto failure = sender_->failure()) return std::unexpected(std::move(*failure));
        return {};
    }

    /// False: the sender has no room for the block. True also for a block that is larger than the other side takes: its
    /// records have ended, and the timer says so. Locked.
    Result<bool> hand_over() {
        if (count_ == 0) return true;
        const auto bytes = std::make_shared<std::vector<std::byte>>(std::move(block_));
        const Piece piece{*bytes, bytes};
        // Before the I/O thread can answer it: sequences are given in order, by this lock alone.
        open_.emplace(next_sequence_, Open{next_ - count_, count_});
        auto sent = sender_->try_send({}, std::span(&piece, 1));
        if (!sent || !*sent) {
            open_.erase(next_sequence_);
            block_ = std::move(*bytes);
            if (!sent && sent.error().code == Errc::limit) {
                too_large_.push_back({next_ - count_, count_});
                block_.clear();
                count_ = 0;
                old_.notify_one();
                return true;
            }
            if (!sent) return std::unexpected(std::move(sent.error()));
            return false;
        }
        ++next_sequence_;
        block_ = {};
        block_.reserve(options_.block_size_max);
        count_ = 0;
        return true;
    }

    void send_old_blocks(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            old_.wait(lock, stop, [&] { return count_ > 0 || !too_large_.empty(); });
            if (stop.stop_requested()) return;
            if (!too_large_.empty()) {
                end_too_large(lock);
                continue;
            }
            const auto due = begun_ + options_.block_age_max;
            if (const auto now = clock_.now(); now < due) {
                old_.wait_for(lock, stop, std::min<std::chrono::nanoseconds>(look_interval, due - now),
                              [&] { return !too_large_.empty(); });
                continue;
            }
            const auto sent = hand_over();
            if (!sent) return;  // it has failed for good
            if (!*sent) changed_.wait_for(lock, look_interval);
        }
    }

    void end_too_large(std::unique_lock<std::mutex>& lock) {
        const auto block = too_large_.front();
        lock.unlock();
        {
            const std::scoped_lock reporting(reporting_);
            report({.first = block.first,
                    .last = block.first + block.count - 1,
                    .rejected = wire::RejectReason::too_large});
        }
        lock.lock();
        stats_.rejected += block.count;
        too_large_.pop_front();
        changed_.notify_all();
    }

    void report(const RecordsEnded& ended) const {
        if (options_.on_ended && ended.first <= ended.last) options_.on_ended(ended);
    }

    /// From the I/O thread.
    void ended(Sequence sequence, std::optional<wire::RejectReason> rejected) {
        Open block;
        {
            const std::scoped_lock lock(mutex_);
            const auto at = open_.find(number(sequence));
            if (at == open_.end()) return;
            block = at->second;
        }
        const auto refused = rejected ? std::vector<wire::Refusal>{} : std::exchange(refusals_, {});
        refusals_.clear();
        const auto end = block.first + block.count;
        std::uint64_t count = 0;
        auto next = block.first;
        {
            const std::scoped_lock reporting(reporting_);
            for (const auto& [record, reason] : refused) {
                if (record >= block.count) break;
                const auto number = block.first + record;
                report({.first = next, .last = number - 1});
                report({.first = number, .last = number, .refused = reason});
                next = number + 1;
                ++count;
            }
            report({.first = next, .last = end - 1, .rejected = rejected});
        }
        {
            const std::scoped_lock lock(mutex_);
            if (rejected) stats_.rejected += block.count;
            else stats_.refused += count, stats_.taken += block.count - count;
            open_.erase(number(sequence));
        }
        changed_.notify_all();
    }

    const BlockSenderOptions options_;
    const Clock& clock_;
    mutable std::mutex mutex_;
    std::condition_variable_any changed_;  // a block has ended, or closed
    std::condition_variable_any old_;      // a block was begun
    std::vector<std::byte> block_;
    std::uint32_t count_ = 0;                                 // records in it
    std::size_t last_size_ = wire::input_record_header_size;  // of a record that was sent, or was to be
    SteadyTime begun_;
    std::uint64_t next_ = 1;  // record
    std::uint64_t next_sequence_ = 1;
    std::map<std::uint64_t, Open> open_;  // blocks without an answer
    std::deque<Open> too_large_;          // blocks that have ended so, and of which it is not said yet
    bool closed_ = false;
    BlockSenderStats stats_;
    std::mutex reporting_;                 // on_ended is called by one thread at a time; never taken with the other
    std::vector<wire::Refusal> refusals_;  // of the block that ends next; the I/O thread's
    std::unique_ptr<Sender> sender_;
    NamedThread timer_;  // last: it ends before what it uses is gone
};

template <class Record>
BlockSender<Record>::BlockSender(std::unique_ptr<Blocks> blocks) : blocks_(std::move(blocks)) {}

template <class Record>
BlockSender<Record>::~BlockSender() {
    if (blocks_) close();
}

template <class Record>
const Clock& BlockSender<Record>::default_clock() {
    static const SystemClock clock;  // has no state
    return clock;
}

template <class Record>
Result<std::unique_ptr<BlockSender<Record>>> BlockSender<Record>::open(BlockSenderOptions options, const Clock& clock) {
    if (options.sender.first_sequence > Sequence{1} || options.sender.replays)
        return fail(Errc::usage, "a session of blocks begins with its first");
    if (options.block_size_max < wire::input_record_header_size || options.block_size_max > wire::payload_size_max / 2)
        return fail(Errc::usage, fmt::format("a block is of {} to {} bytes, not {}", wire::input_record_header_size,
                                             wire::payload_size_max / 2, options.block_size_max));
    auto blocks = std::make_unique<Blocks>(std::move(options), clock);
    WEIR_TRY(blocks->open());
    return std::unique_ptr<BlockSender>(new BlockSender(std::move(blocks)));
}

template <class Record>
Result<std::uint64_t> BlockSender<Record>::send(const Record& record) {
    return *WEIR_TRY(blocks_->add(record, true));
}

template <class Record>
Result<std::optional<std::uint64_t>> BlockSender<Record>::try_send(const Record& record) {
    return blocks_->add(record, false);
}

template <class Record>
bool BlockSender<Record>::busy() const {
    return blocks_->busy();
}

template <class Record>
Result<bool> BlockSender<Record>::flush(std::chrono::milliseconds timeout) {
    return blocks_->flush(timeout);
}

template <class Record>
void BlockSender<Record>::close() {
    blocks_->close();
}

template <class Record>
Result<std::optional<RunNumber>> BlockSender<Record>::run(std::chrono::milliseconds timeout) {
    return blocks_->sender().run(timeout);
}

template <class Record>
bool BlockSender<Record>::connected() const noexcept {
    return blocks_->sender().connected();
}

template <class Record>
std::optional<Error> BlockSender<Record>::failure() const {
    return blocks_->sender().failure();
}

template <class Record>
BlockSenderStats BlockSender<Record>::stats() const {
    return blocks_->stats();
}

template class BlockSender<wire::InputFragment>;
template class BlockSender<wire::InputTrigger>;

}  // namespace weir::delivery
