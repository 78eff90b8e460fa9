// SPDX-License-Identifier: Apache-2.0
// Takes blocks of fragments or triggers from programs outside: a Receiver, and what goes through each block record by
// record. Where a record finds no room the block holds its place, and its sender gets no more credit; other connections
// go on. It is answered once, when every record of it was taken or refused.
//
//     connection -> take(block) -> record, record, record -> ACK (REFUSED before it names those that were refused)
//                                      | full
//                                      waits -> resume() when there is room again
//
// A run is joined by its senders; their sessions end with it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "weir/delivery/receiver.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::delivery {

struct BlockReceiverOptions {
    ReceiverOptions receiver{};          // its event_size_max is that of a block
    Bytes memory{32ULL << 20};           // for blocks that are received or wait; at least two of the largest
    std::function<void()> on_waiting{};  // a block has begun to wait for room. By any thread, as Take; must not wait
};

/// What came of a record.
enum class RecordTaken : std::uint8_t { yes, full, refused };
struct RecordFate {
    RecordTaken taken = RecordTaken::yes;
    wire::RefuseReason reason{};  // refused only
};

struct BlockReceiverStats {
    std::uint64_t records = 0, refused = 0;  // answered
    std::uint64_t blocks = 0, blocks_malformed = 0;
    std::uint64_t waiting = 0;  // blocks that wait for room now
    std::uint64_t waits = 0;    // times that one began to
    ReceiverStats receiver{};
};

template <class Record>
class BlockReceiver {
public:
    /// Takes a record, or answers "full", or refuses it. `last`: the run ends, and where there is no room it is
    /// refused. Called by receiver threads, resume() and end_run(), for several sessions at once, for one session in
    /// the order sent. Must not wait. `now` is read once for all records of a block that are taken together.
    using Take = std::function<RecordFate(const Record&, SteadyTime now, bool last)>;
    /// A record could not be read: for counts. Likewise.
    using Bad = std::function<void(const char* why)>;

    /// The functions are called from start_run() until end_run() returns. The clock outlives this.
    [[nodiscard]] static Result<std::unique_ptr<BlockReceiver>> open(BlockReceiverOptions options, Take take, Bad bad,
                                                                     Reporter report, const Clock& clock);
    ~BlockReceiver();

    [[nodiscard]] std::uint16_t port() const noexcept { return receiver_->port(); }

    /// From now on senders may join.
    void start_run(RunNumber run);
    /// Blocks that wait for room are worked to their end and answered, and the connections end.
    void end_run();

    /// Goes on with the blocks that wait, as far as there is room. True: none waits any more. Any thread.
    bool resume();
    /// Until a block waits for room: true. False: stop is requested.
    bool wait_for_waiting(const std::stop_token& stop);

    [[nodiscard]] BlockReceiverStats stats() const;

private:
    class Sink;

    BlockReceiver(const BlockReceiverOptions& options, Take take, Bad bad, const Clock& clock);

    memory::BufferPool pool_;
    std::unique_ptr<Sink> sink_;
    std::unique_ptr<Receiver> receiver_;  // stops before the sink is gone
};

extern template class BlockReceiver<wire::InputFragment>;
extern template class BlockReceiver<wire::InputTrigger>;

}  // namespace weir::delivery
