// SPDX-License-Identifier: Apache-2.0
// One small delivery, again and again: its connection is cut behind byte 1, 2, 3, ... of each direction, until it
// passes without meeting the cut. docs/proof.md
#include <gtest/gtest.h>

#include "end_to_end.hpp"
#include "weir/base/testing/sanitized.hpp"
#include "weir/transport/testing/bad_network.hpp"

namespace weir::delivery {
namespace {

using namespace test;
using weir::testing::BadNetwork;

constexpr std::uint64_t stride = weir::testing::sanitized ? 7 : 1;

/// False when the delivery was over before the nth byte.
bool is_cut(BadNetwork::Way way, std::uint64_t behind) {
    Recorder recorder;
    recorder.start();
    BadNetwork network({"127.0.0.1", recorder.receiver->port()}, behind, 1 + behind % 400);
    network.cut(way, behind);
    auto options = to_recorder(recorder);
    options.host = "127.0.0.1:" + std::to_string(network.port());
    options.backoff_first = options.backoff_last = 1ms;
    auto sender = Sender::open(std::move(options)).value();
    const std::vector<std::string> payloads{"a", std::string(300, 'b'), std::string(40, 'c')};
    for (std::uint64_t id = 1; id <= payloads.size(); ++id)
        EXPECT_TRUE(sender->send(described(id), as_data(payloads[id - 1])).has_value());
    const auto flushed = sender->flush(100s);
    EXPECT_TRUE(flushed.has_value() && *flushed) << (flushed ? "not in time" : flushed.error().message());
    sender->close();
    EXPECT_TRUE(recorder.sink.each_once());
    auto taken = recorder.sink.payloads;
    std::ranges::sort(taken);
    EXPECT_EQ(taken, payloads) << "cut behind " << behind;
    return network.cuts() > 0;
}

void cut_everywhere(BadNetwork::Way way) {
    std::uint64_t behind = 1;
    while (is_cut(way, behind) && !::testing::Test::HasFailure()) behind += stride;
    EXPECT_GT(behind, 100U) << "too few bytes for what was sent";
}

TEST(NetworkAnomaly, AConnectionMayBeCutBehindAnyByteOfItsEvents) { cut_everywhere(BadNetwork::Way::there); }
TEST(NetworkAnomaly, AConnectionMayBeCutBehindAnyByteOfItsAnswers) { cut_everywhere(BadNetwork::Way::back); }

}  // namespace
}  // namespace weir::delivery
