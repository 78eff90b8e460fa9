// SPDX-License-Identifier: Apache-2.0
// A supervisor and a processing unit over real sockets, and stations with a simple logic around them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulated_partition.hpp"
#include "weir/messaging/message_loop.hpp"
#include "weir/selection/supervisor_station.hpp"
#include "weir/selection/unit_station.hpp"
#include "weir/service/reports.hpp"

namespace weir::selection::test {

inline messaging::MessageLoopOptions loop_of(StationId id) {
    messaging::MessageLoopOptions options;
    options.endpoint.self = id;
    options.endpoint.epoch = wire::Epoch{1};
    return options;
}

/// A loop with a simple logic around the stations that are tested.
template <class Logic>
struct Around {
    Around(StationId station, memory::BufferPool& pool, const Clock& clock)
        : id(station), loop(messaging::MessageLoop::open(loop_of(station), pool, clock).value()) {}
    Peer peer(StationKind kind) const {
        return {.name = "around", .kind = kind, .id = id, .dataflow = "127.0.0.1:" + std::to_string(loop->port())};
    }
    template <class... More>
    void begin(const std::vector<Peer>& others, RunNumber run, More... more) {
        std::vector<messaging::LinkPeer> links;
        for (const auto& other : others)
            links.push_back(
                {.id = other.id, .address = transport::parse_host_port(other.dataflow).value(), .watched = true});
        ASSERT_TRUE(loop->set_peers(links));
        loop->endpoint().set_run(run);
        logic.emplace(loop->endpoint(), more...);
        thread = NamedThread("around", [this](const std::stop_token& stop) { loop->run(stop, *logic); });
    }
    StationId id;
    std::unique_ptr<messaging::MessageLoop> loop;
    std::optional<Logic> logic;
    NamedThread thread;
};

/// A supervisor, a unit and a DFM; both stations decide on the events of one run.
struct OneUnit {
    OneUnit(SupervisorOptions of_supervisor, UnitStationOptions of_unit)
        : supervisor({.id = supervisor_id, .supervisor = std::move(of_supervisor), .loop = loop_of(supervisor_id)},
                     reports.reporter(), clock),
          unit(with_loop(std::move(of_unit)), reports.reporter(), clock) {}
    static UnitStationOptions with_loop(UnitStationOptions options) {
        options.id = unit_id;
        options.loop = loop_of(unit_id);
        return options;
    }
    void begin(bool again = false) {
        ASSERT_TRUE(unit.configure());
        ASSERT_TRUE(supervisor.configure());
        const std::vector<Peer> peers{supervisor.self(), unit.self(), assigner.peer(StationKind::assign)};
        assigner.begin({peers[0]}, RunNumber{7}, 100);
        ASSERT_TRUE(unit.connect(peers));
        ASSERT_TRUE(again ? unit.start_again(RunNumber{7}) : unit.start(RunNumber{7}));
        ASSERT_TRUE(supervisor.connect(peers));
        ASSERT_TRUE(supervisor.start(RunNumber{7}));
    }
    double counter(const std::string& name) const { return unit.status().counters[name]; }

    const SystemClock clock;
    service::Reports reports{"test", clock, {}};
    memory::BufferPool pool{64_MiB};
    Around<SimpleAssigner> assigner{assigner_id, pool, clock};
    SupervisorStation supervisor;
    UnitStation unit;
};

/// Of `count` events from `first` on.
inline SupervisorOptions events(std::uint64_t count, std::uint64_t first) {
    return {.events = count, .first_global = GlobalEventId{first}, .regions = 0};
}

inline UnitStationOptions running(const std::string& selection) {
    UnitStationOptions options;
    options.selection.selection = selection;
    return options;
}

}  // namespace weir::selection::test
