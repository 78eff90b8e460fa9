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
        const auto lent = port->lend();
        const auto listener = Listener::open(port->address());
        ASSERT_TRUE(listener) << listener.error().message();
        EXPECT_EQ(listener->port(), port->address().port);
    }
}

TEST(ReservedPort, IsReservedBeforeAndAfterItIsListenedOn) {
    const auto port = ReservedPort::take({"127.0.0.1", 0});
    ASSERT_TRUE(port) << port.error().message();
    EXPECT_FALSE(Listener::open(port->address())) << "another program took it before its first use";
    {
        const auto lent = port->lend();
        ASSERT_TRUE(Listener::open(port->address()));
    }
    EXPECT_FALSE(Listener::open(port->address())) << "another program took it after its first use";
}

TEST(ReservedPort, OfANumberIsTakenOnce) {
    const auto found = ReservedPort::take({"127.0.0.1", 0});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_FALSE(ReservedPort::take(found->address()));
}

TEST(ReservedPort, CanBeListenedOnAgainWhileConnectionsOfTheFirstTimeAreStillOpen) {
    const auto port = ReservedPort::take({"127.0.0.1", 0});
    ASSERT_TRUE(port) << port.error().message();
    std::optional<Socket> here;
    Result<Socket> there = fail(Errc::io, "not connected");
    {
        const auto lent = port->lend();
        auto listener = Listener::open(port->address());
        ASSERT_TRUE(listener) << listener.error().message();
        there = begin_connect(resolve(port->address(), false)->front(), {});
        ASSERT_TRUE(there) << there.error().message();
        while (!here) {
            auto accepted = listener->accept();
            ASSERT_TRUE(accepted) << accepted.error().message();
            here = std::move(*accepted);
        }
    }
    const auto lent = port->lend();
    const auto again = Listener::open(port->address());
    EXPECT_TRUE(again) << again.error().message();
}

TEST(ReservedPort, ThatIsInUseIsAnError) {
    const auto listener = Listener::open({"127.0.0.1", 0});
    ASSERT_TRUE(listener);
    const auto port = ReservedPort::take({"127.0.0.1", listener->port()});
    ASSERT_FALSE(port);
    EXPECT_NE(port.error().message().find("already in use; stop the other program"), std::string::npos)
        << port.error().message();
}

}  // namespace
}  // namespace weir::transport
