// SPDX-License-Identifier: Apache-2.0
// The readout as a station: what is opened, started and ended at each transition. All that belongs to one run (buffers,
// what fills them, handlers, the ledger) is made at start and stays to be looked at until the next.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/report.hpp"
#include "weir/messaging/station_loop.hpp"
#include "weir/readout/event_feed.hpp"
#include "weir/readout/fragment_input.hpp"
#include "weir/readout/front_end_spec.hpp"
#include "weir/readout/request_handlers.hpp"
#include "weir/readout/time_matching.hpp"
#include "weir/service/station.hpp"
#include "weir/workload/fragment_maker.hpp"
#include "weir/workload/fragment_replay.hpp"

namespace weir::readout {

enum class FeedKind : std::uint8_t { generator, file, network, level2, front_end };
[[nodiscard]] const char* name(FeedKind kind) noexcept;
[[nodiscard]] std::optional<FeedKind> parse_feed_kind(std::string_view text) noexcept;

struct ReadoutStationOptions {
    std::string name = "ros-1";
    wire::StationId id{1};
    FeedKind feed = FeedKind::generator;
    event::Format format = event::Format::event_5_0;
    event::RodRules rules{};
    std::vector<SourceId>
        sources{};  // network, front_end: what may come; generator: instead of counted ones; file: instead of a part
    workload::FragmentGeneratorOptions generator{};
    workload::FragmentReplayOptions replay{};
    std::optional<std::chrono::nanoseconds> latency{};  // of the data after they were asked for: a simulation
    std::optional<FragmentInput> input{};               // network: by TCP
    std::optional<DatagramInputOptions> datagrams{};    // network: by UDP
    double busy_high = 0.5,
           busy_low = 0.25;  // network, front_end: shares of the buffers above and below which it is busy, and not
    std::optional<TimeMatching> matching{};  // network, front_end: of fragments that bring a time and no level-1 id
    FrontEndSpec front_end{};
    Level1Id first{1};
    RobStoreOptions store{};           // without its sources and first
    RequestHandlerOptions handlers{};  // handlers 0: none; what is not here is answered "not yet" at once
    bool direct = true;
    messaging::MessageLoopOptions loop{};
    messaging::LinkKind link = messaging::LinkKind::udp;
    Bytes message_memory{64ULL << 20};  // of messages that come in several parts
};

class DatagramServer;
class FragmentServer;
struct FrontEndPlugin;
struct Level1Mismatch;

class ReadoutStation final : public service::Station {
public:
    /// The clock outlives the station.
    ReadoutStation(ReadoutStationOptions options, Reporter report, const Clock& clock);
    ~ReadoutStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    [[nodiscard]] Result<> start_again(RunNumber run) override;
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> set_masks(const std::vector<service::SourceMask>& masks) override;
    [[nodiscard]] service::StationStatus status() const override;

private:
    class Logic;
    struct Run;

    [[nodiscard]] Result<> begin(RunNumber number, bool again);

    [[nodiscard]] Result<> make_feed();
    [[nodiscard]] bool from_outside() const noexcept;  // its fragments come when they come
    void mismatched(const Level1Mismatch& mismatch);

    const ReadoutStationOptions options_;
    const Reporter report_;
    const Clock& clock_;

    std::vector<SourceId> sources_;
    std::vector<service::SourceMask> masks_;
    std::optional<wire::StationId> supervisor_;
    std::optional<SourceId> first_;  // that its events begin with
    std::unique_ptr<workload::FragmentMaker> maker_;
    std::unique_ptr<const FrontEndPlugin> front_end_;
    std::shared_ptr<FragmentServer> server_;        // shared with a status() that is under way
    std::shared_ptr<DatagramServer> datagrams_;     // likewise
    std::shared_ptr<messaging::StationLoop> loop_;  // shared with a status() that is under way
    std::unique_ptr<Logic> logic_;
    std::shared_ptr<Run> run_;  // shared likewise

    mutable std::mutex status_mutex_;  // guards the pointers that status() takes from other threads
};

}  // namespace weir::readout
