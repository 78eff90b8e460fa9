// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "weir/base/testing/eventually.hpp"
#include "weir/building/assigner_station.hpp"
#include "weir/building/builder_station.hpp"
#include "weir/service/reports.hpp"

namespace weir::building {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using wire::StationId;

messaging::MessageLoopOptions loop_of(StationId id) {
    messaging::MessageLoopOptions options;
    options.endpoint.self = id;
    options.endpoint.epoch = wire::Epoch{1};
    return options;
}

/// A DFM and a builder on loopback. No station gives them events.
struct Building : ::testing::Test {
    const SystemClock clock;
    service::Reports reports{"test", clock, {}};
    AssignerStation assigner{{.id = StationId{1}, .loop = loop_of(StationId{1})}, reports.reporter(), clock};
    BuilderStation builder{{.id = StationId{2}, .loop = loop_of(StationId{2}), .probe = true, .probe_deadline = 5s},
                           reports.reporter(),
                           clock};
};

TEST_F(Building, StationsGoThroughTheirStatesAgainAndAgain) {
    for (int round = 0; round < 2; ++round) {
        ASSERT_TRUE(assigner.configure());
        ASSERT_TRUE(builder.configure());
        const std::vector<Peer> peers{assigner.self(), builder.self()};
        for (std::uint32_t run = 1; run <= 4; ++run) {
            if (run % 2 == 1) {  // two runs while connected
                ASSERT_TRUE(assigner.connect(peers));
                ASSERT_TRUE(builder.connect(peers));  // the DFM answers its probe
            }
            ASSERT_TRUE(builder.start(RunNumber{run}));
            ASSERT_TRUE(assigner.start(RunNumber{run}));
            ASSERT_TRUE(assigner.change_peers(peers));
            ASSERT_TRUE(builder.change_peers(peers));
            ASSERT_TRUE(assigner.stop(120s));
            ASSERT_TRUE(builder.stop(120s));
            EXPECT_TRUE(assigner.status().ledger.balances());
            EXPECT_TRUE(builder.status().ledger.balances());
            if (run % 2 == 1) continue;
            ASSERT_TRUE(builder.disconnect());
            ASSERT_TRUE(assigner.disconnect());
        }
        ASSERT_TRUE(builder.unconfigure());
        ASSERT_TRUE(assigner.unconfigure());
        EXPECT_TRUE(builder.self().dataflow.empty());
    }
}

TEST_F(Building, ABuilderWhoseProbeIsNotAnsweredSaysSoAndMayTryAgain) {
    BuilderStation hasty({.id = StationId{2}, .loop = loop_of(StationId{2}), .probe_deadline = 20ms},
                         reports.reporter(), clock);
    ASSERT_TRUE(assigner.configure());
    ASSERT_TRUE(hasty.configure());
    const std::vector<Peer> peers{assigner.self(), hasty.self()};
    const auto refused = hasty.connect(peers);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message().find("does not answer"), std::string::npos);
    ASSERT_TRUE(assigner.connect(peers));
    EXPECT_TRUE(eventually([&] { return hasty.connect(peers).has_value(); }));
    ASSERT_TRUE(hasty.start(RunNumber{1}));  // and is destroyed as it is
}

}  // namespace
}  // namespace weir::building
