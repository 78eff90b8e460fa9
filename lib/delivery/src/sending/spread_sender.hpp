// SPDX-License-Identifier: Apache-2.0
// The calls of a Sender, to several recorders of one run: each event goes to one that is connected and has the fewest
// bytes to answer. What a recorder that is away was never sent goes to the others; what it may have recorded waits for
// it, in the same session, until it is back and says which it has. It goes to the others, marked as sent elsewhere,
// when the recorder refuses, or is away for `give_up_after` while another one is connected.
//
//     auto sender = SpreadSender::open({.name = "board-3", .run = RunNumber{358395}}, {"east:9000", "west:9000"});
//     (*sender)->send({.global_id = GlobalEventId{1}, .tags = {main_stream}}, bytes);
//     (*sender)->flush(10s);
//
// Calls may be made from any thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/delivery/sender.hpp"

namespace weir::delivery {

class SpreadSender {
public:
    /// `options` as of Sender, but for these: `window` is of all recorders together, `window_events` of each;
    /// `give_up_after` is also how long one may be away; on_refused and on_state are not called; a session cannot be
    /// continued (incarnation, first_sequence, replays), and a second open() makes sessions of its own. `report` gets
    /// lines about recorders that are lost, from any thread. Does not wait for a connection. Error: Errc::usage.
    [[nodiscard]] static Result<std::unique_ptr<SpreadSender>> open(SenderOptions options,
                                                                    std::vector<std::string> hosts,
                                                                    Reporter report = {});
    ~SpreadSender();  // as close()

    /// As of Sender; sequences ascend over all recorders, with gaps where there was no room. An event that is larger
    /// than the recorder takes is accepted, and rejected (too_large).
    [[nodiscard]] Result<Sequence> send(const EventDescription& event, std::span<const Piece> payload);
    [[nodiscard]] Result<std::optional<Sequence>> try_send(const EventDescription& event,
                                                           std::span<const Piece> payload);
    /// Copies the payload.
    [[nodiscard]] Result<Sequence> send(const EventDescription& event, ConstData payload);

    /// As of Sender. Error: every recorder refused, or none was connected for give_up_after, or it is closed.
    [[nodiscard]] Result<bool> flush(std::chrono::milliseconds timeout);
    void close();
    [[nodiscard]] Result<std::optional<RunNumber>> run(std::chrono::milliseconds timeout);

    /// `connected`: at least one is.
    [[nodiscard]] SenderStats stats() const;
    /// Events that were given to another recorder although a lost one may have recorded them.
    [[nodiscard]] std::uint64_t in_doubt() const;
    [[nodiscard]] std::optional<Error> failure() const;

private:
    class Core;
    explicit SpreadSender(std::unique_ptr<Core> core);
    std::unique_ptr<Core> core_;
};

}  // namespace weir::delivery
