// SPDX-License-Identifier: Apache-2.0
// Sends built events to filters, or straight to recorders where there are none: a delivery::SenderGroup, and the list
// of events that are final. A filter is chosen by its load, a recorder by the event.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/building/built_event.hpp"
#include "weir/delivery/sender_group.hpp"
#include "weir/transport/tls.hpp"
#include "weir/wire/peer.hpp"

namespace weir::building {

struct DeliveryOutputOptions {
    std::string name = "builder";  // of the sender: the station
    wire::EventFormat format = wire::EventFormat::event_5_0;
    std::vector<StreamTag> tags{};  // filters choose others; recorders get these
    Bytes window{256ULL << 20};     // of all receivers together
    transport::TlsFiles tls{};      // when named: of the connections to them
};

/// An event is final: stored, or rejected or refused for a reason.
struct EndedEvent {
    wire::EventTicket ticket{};
    bool incomplete = false;
    wire::EventOutcome outcome = wire::EventOutcome::stored;
    std::string reason{};
};

/// One thread makes all calls.
class DeliveryOutput final : public BuiltSink {
public:
    /// `woken` is called from any thread when there are ended events to take, or room again; it must not wait. `report`
    /// gets lines for an operator, and may be empty.
    DeliveryOutput(DeliveryOutputOptions options, std::function<void()> woken, Reporter report = {});
    ~DeliveryOutput() override;

    /// From now on to the filters among the peers, or to the recorders when there are none. A new run begins with new
    /// senders, and the events of the old ones are released. Error: an address cannot be used.
    [[nodiscard]] Result<> set_peers(const std::vector<Peer>& peers, RunNumber run);

    [[nodiscard]] bool take(std::unique_ptr<BuiltEvent>& event) override;
    [[nodiscard]] std::vector<EndedEvent> take_ended();
    /// Events of receivers that are gone go to the others. To be called every few milliseconds.
    void look_after(SteadyTime now);

    void close();

    [[nodiscard]] delivery::SenderGroup::Stats stats() const;

private:
    void final(const BuiltEvent& event, std::optional<wire::RejectReason> reason);

    const DeliveryOutputOptions options_;
    const std::function<void()> woken_;
    const Reporter report_;
    std::mutex mutex_;  // of ended_
    std::vector<EndedEvent> ended_;
    std::atomic<bool> waiting_{false};  // take() returned false: release there, acquire in the senders' threads
    RunNumber run_{};
    std::unique_ptr<delivery::SenderGroup> group_;  // the last member: its threads call into the others
};

}  // namespace weir::building
