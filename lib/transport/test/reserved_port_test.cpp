// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/reserved_port.hpp"

#include <gtest/gtest.h>

namespace weir::transport {
namespace {

TEST(ReservedPort, IsListenedOnSeveralTimesOneAfterTheOther) {
    const auto port = ReservedPort::take({"127.0.0.1", 0});
    ASSERT_TRUE(port) << port.error().message();
    EXPECT_NE(port->address().port, 0);
    for (int run = 0; run < 3; ++run) {
        const auto listener = Listener::open(port->address());
        ASSERT_TRUE(listener) << listener.error().message();
        EXPECT_EQ(listener->port(), port->address().port);
    }
}

TEST(ReservedPort, OnWhichSomebodyListensIsAnError) {
    const auto listener = Listener::open({"127.0.0.1", 0});
    ASSERT_TRUE(listener);
    const auto port = ReservedPort::take({"127.0.0.1", listener->port()});
    ASSERT_FALSE(port);
    EXPECT_NE(port.error().message().find("already in use; stop the other program"), std::string::npos) << port.error().message();
}

}  // namespace
}  // namespace weir::transport
