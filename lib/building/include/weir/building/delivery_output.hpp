// SPDX-License-Identifier: Apache-2.0
// Sends built events to filters, or straight to recorders, with the delivery protocol: each is kept until it is final there.
// One sender for each of them. The next event goes to the filter that holds the fewest bytes; a recorder gets the events that
// belong to it (weir/wire/recorder_choice.hpp). When one is gone for good its events go to the others.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/building/built_event.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/wire/peer.hpp"

namespace weir::building {

struct DeliveryOutputOptions {
    std::string name = "builder";   // of the sender: the station
    wire::EventFormat format = wire::EventFormat::event_5_0;
    std::vector<StreamTag> tags{};  // what filters choose instead of; recorders get these
    Bytes window{256ULL << 20};     // of all receivers together
};

/// An event is final: stored, or rejected or refused for a reason.
struct EndedEvent {
    wire::EventTicket ticket{};
    bool incomplete = false;
    wire::EventOutcome outcome = wire::EventOutcome::stored;
    std::string reason{};
};

class DeliveryOutput final : public BuiltSink {
public:
    /// `woken` is called from a thread of a sender when there are ended events to take, or room again; it must not wait.
    DeliveryOutput(DeliveryOutputOptions options, std::function<void()> woken);
    ~DeliveryOutput() override;

    /// Opens senders to the filters among the peers, or to the recorders when there are none. Senders to peers that stay
    /// go on. Error: an address cannot be used.
    [[nodiscard]] Result<> set_peers(const std::vector<Peer>& peers, RunNumber run);

    [[nodiscard]] bool take(std::unique_ptr<BuiltEvent>& event) override;
    [[nodiscard]] std::vector<EndedEvent> take_ended();
    /// Events of receivers that are gone go to the others, also when no new ones come. False: there is no room yet.
    bool send_homeless();
    /// Looks for senders that have failed for good: what they hold becomes homeless. To be called now and then.
    void look_for_failures();

    void close();

    struct Stats {
        std::uint64_t sent = 0, held = 0, bytes = 0, reconnects = 0, connected = 0, senders = 0;
        std::string problem{};
    };
    [[nodiscard]] Stats stats() const;

private:
    struct Lane;
    [[nodiscard]] Result<std::unique_ptr<Lane>> open(const Peer& peer, RunNumber run);
    [[nodiscard]] std::vector<Lane*> lanes_for(const BuiltEvent& event) const;
    [[nodiscard]] Result<bool> send(Lane& lane, std::shared_ptr<BuiltEvent> event, bool again);
    void give_up(std::vector<std::unique_ptr<Lane>>::iterator& lane);
    void refuse(const BuiltEvent& event, const Error& why);
    void final(Lane& lane, Sequence sequence, std::optional<wire::RejectReason> reason);

    const DeliveryOutputOptions options_;
    const std::function<void()> woken_;
    mutable std::mutex mutex_;        // of ended_ and of every lane's events
    std::vector<EndedEvent> ended_;
    std::atomic<bool> waiting_{false};  // take() said no: release there, acquire in the senders' threads
    std::vector<std::shared_ptr<BuiltEvent>> homeless_;  // of lanes that are gone; sent before anything new
    std::uint32_t lanes_opened_ = 0;
    RunNumber run_{};
    std::string problem_;  // of the last lane that was given up
    std::vector<std::unique_ptr<Lane>> lanes_;  // the last member: their threads call into the others
};

}  // namespace weir::building
