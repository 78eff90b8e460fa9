// SPDX-License-Identifier: Apache-2.0
// Fragments to a readout, or triggers to a supervisor, from a program that is no station
// (docs/formats/input-protocol.md). Records are put together into blocks, and a block is an event of a Sender, which
// keeps it until it is answered, and sends it again after a lost connection.
//
//     auto board = FragmentSender::open({.sender = {.host = "ros:9100", .name = "board-1"}});
//     (*board)->send({.source = SourceId{0x420000}, .level1_id = Level1Id{1}, .payload = bytes});
//     (*board)->flush(10s);
//
// Records have numbers, from 1 on. The fate of each is said once: taken, or refused or rejected with the reason.
// Without room in the readout send() waits, and try_send() answers "busy": that is the board's busy.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weir/base/clock.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::delivery {

/// What became of records that follow each other. Neither reason: they are in the buffers.
struct RecordsEnded {
    std::uint64_t first = 0, last = 0;
    std::optional<wire::RefuseReason> refused{};   // one record: it will never be taken
    std::optional<wire::RejectReason> rejected{};  // the block that they were in
};
/// Called from a thread of the sender, by one at a time, which it must not hold up, and in which it must not call the
/// sender. Each record that send() took is in one call, unless close() released it; when flush() returns true, all
/// these calls are done.
using OnRecordsEnded = std::function<void(const RecordsEnded&)>;

struct BlockSenderOptions {
    SenderOptions
        sender{};  // `format`, `on_final` and `on_refused` are set here; without a run it joins the one that goes on
    std::chrono::microseconds block_age_max{1000};        // then a block is sent, full or not
    std::size_t block_size_max = wire::block_size_usual;  // larger only for one large record
    std::chrono::milliseconds send_wait_max{0};  // for room; then send() fails. 0: it waits as long as it takes
    OnRecordsEnded on_ended{};
};

struct BlockSenderStats {
    // sent = taken + refused + rejected + open
    std::uint64_t sent = 0;  // accepted by send()
    std::uint64_t taken = 0, refused = 0, rejected = 0;
    std::uint64_t open = 0;   // without an answer
    std::uint64_t waits = 0;  // times that there was no room
    SenderStats sender{};     // its events are blocks
};

/// Calls may be made from any thread.
template <class Record>
class BlockSender {
public:
    /// Begins to connect; does not wait for the connection. Errc::usage. The clock outlives the sender; ages and waits
    /// of blocks are by it, those of the connection by the system's.
    [[nodiscard]] static Result<std::unique_ptr<BlockSender>> open(BlockSenderOptions options,
                                                                   const Clock& clock = default_clock());
    ~BlockSender();  // as close()

    /// Copies the record; waits while there is no room. The number of the record. Error: it cannot be sent (usage,
    /// limit), it waited for too long (Errc::limit), or the sender has failed for good: the run has ended, ...
    [[nodiscard]] Result<std::uint64_t> send(const Record& record);
    /// Nothing instead of waiting: busy.
    [[nodiscard]] Result<std::optional<std::uint64_t>> try_send(const Record& record);
    /// A record as large as the last one would have to wait now.
    [[nodiscard]] bool busy() const;

    /// Sends what is there, and waits until every record has ended and on_ended was called for each: true. False: the
    /// time is over. Error: as send().
    [[nodiscard]] Result<bool> flush(std::chrono::milliseconds timeout);
    /// Ends the connection; does not wait for answers: call flush() before. Waiting calls end. Records that have not
    /// ended are released: whether they were taken is not known.
    void close();

    /// The run that is sent to; waits until it is known. Nothing: the time is over.
    [[nodiscard]] Result<std::optional<RunNumber>> run(std::chrono::milliseconds timeout);
    [[nodiscard]] bool connected() const noexcept;
    /// Why it failed for good; nothing: it has not.
    [[nodiscard]] std::optional<Error> failure() const;
    [[nodiscard]] BlockSenderStats stats() const;

private:
    [[nodiscard]] static const Clock& default_clock();
    class Blocks;
    explicit BlockSender(std::unique_ptr<Blocks> blocks);
    std::unique_ptr<Blocks> blocks_;
};

using FragmentSender = BlockSender<wire::InputFragment>;
using TriggerSender = BlockSender<wire::InputTrigger>;

extern template class BlockSender<wire::InputFragment>;
extern template class BlockSender<wire::InputTrigger>;

}  // namespace weir::delivery
