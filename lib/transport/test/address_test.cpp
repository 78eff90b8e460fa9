// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/address.hpp"

#include <gtest/gtest.h>

namespace weir::transport {
namespace {

TEST(HostPort, IsReadAndWrittenBack) {
    for (const char* text : {"localhost:9000", "192.168.1.2:0", "[::1]:65535", ":9000", "daq-01.cern.ch:1"}) {
        const auto address = parse_host_port(text);
        ASSERT_TRUE(address.has_value()) << text;
        EXPECT_EQ(to_string(*address), text);
    }
    EXPECT_EQ(parse_host_port("[fe80::2]:7").value(), (HostPort{"fe80::2", 7}));
}

TEST(HostPort, ThatIsNoneIsRefusedWithTheForm) {
    for (const char* text : {"", "9000", "localhost", "localhost:", "localhost:65536", "localhost:-1", "localhost:9o",
                             "::1:9000", "[::1]9000", "[]:9000", "a b:1", "host:1 "}) {
        const auto address = parse_host_port(text);
        ASSERT_FALSE(address.has_value()) << text;
        EXPECT_EQ(address.error().code, Errc::usage);
        EXPECT_NE(address.error().message().find("host:port"), std::string::npos);
    }
}

TEST(Address, OfANumericHostKeepsFamilyAndPort) {
    const auto four = resolve({"127.0.0.1", 9000}, false);
    ASSERT_TRUE(four.has_value());
    EXPECT_EQ(to_string(four->front()), "127.0.0.1:9000");
    const auto six = resolve({"::1", 9001}, false);
    ASSERT_TRUE(six.has_value());
    EXPECT_EQ(six->front().family(), AF_INET6);
    EXPECT_EQ(to_string(six->front()), "[::1]:9001");
}

TEST(Address, OfNothingHasAName) { EXPECT_EQ(to_string(Address()), "an unknown address"); }

}  // namespace
}  // namespace weir::transport
