// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/network.hpp"

#include <gmock/gmock.h>

namespace weir::transport {
namespace {

using testing::HasSubstr;

Network network(const char* text) { return Network::parse(text).value(); }
Address address(const char* text) { return parse_address(text).value(); }

TEST(Network, ContainsWhatBeginsWithItsBits) {
    EXPECT_TRUE(network("10.77.0.0/16").contains(address("10.77.0.0")));
    EXPECT_TRUE(network("10.77.0.0/16").contains(address("10.77.255.255")));
    EXPECT_FALSE(network("10.77.0.0/16").contains(address("10.78.0.0")));
    EXPECT_TRUE(network("10.64.0.0/11").contains(address("10.95.1.2")));
    EXPECT_FALSE(network("10.64.0.0/11").contains(address("10.96.0.0")));
    EXPECT_TRUE(network("0.0.0.0/0").contains(address("192.0.2.1")));
    EXPECT_FALSE(network("0.0.0.0/0").contains(address("::1")));
    EXPECT_TRUE(network("10.77.0.3/32").contains(address("10.77.0.3")));
    EXPECT_FALSE(network("10.77.0.3/32").contains(address("10.77.0.2")));
    EXPECT_TRUE(network("fd00:77::/64").contains(address("fd00:77::a:b:c:d")));
    EXPECT_FALSE(network("fd00:77::/64").contains(address("fd00:77:0:1::1")));
    EXPECT_FALSE(network("fd00:77::/64").contains(Address{}));
}

TEST(Network, IsWrittenWithTheBitsThatCount) {
    EXPECT_EQ(to_string(network("10.77.1.2/16")), "10.77.0.0/16");
    EXPECT_EQ(to_string(network("fd00:77::5/64")), "fd00:77::/64");
    EXPECT_EQ(to_string(network("255.255.255.255/9")), "255.128.0.0/9");
}

TEST(Network, IsLoopbackWhenAllOfItIs) {
    EXPECT_TRUE(network("127.0.0.0/8").loopback());
    EXPECT_TRUE(network("127.1.0.0/16").loopback());
    EXPECT_TRUE(network("::1/128").loopback());
    EXPECT_FALSE(network("127.0.0.0/7").loopback());
    EXPECT_FALSE(network("::/0").loopback());
    EXPECT_FALSE(network("10.77.0.0/16").loopback());
}

TEST(Network, AnythingElseIsRefusedWithTheExpectedForm) {
    for (const auto* text : {"", "10.77.0.0", "10.77.0.1/40", "10.77.0/16", "10.77.0.0/", "10.77.0.0/-1", "/16",
                             "fd00::/129", "10.77.0.0/16 ", "host/8", "10.77.0.0/1x", "10.77.0.0/99999999999"}) {
        const auto parsed = Network::parse(text);
        ASSERT_FALSE(parsed.has_value()) << text;
        EXPECT_EQ(parsed.error().code, Errc::usage);
        EXPECT_THAT(parsed.error().message(), testing::AllOf(HasSubstr("is not a network"), HasSubstr("10.77.0.0/16")));
    }
}

TEST(Network, AddressesAreReadInNumbersOnly) {
    EXPECT_EQ(host_of(address("10.77.0.3")), "10.77.0.3");
    EXPECT_EQ(host_of(address("::1")), "::1");
    for (const auto* text : {"", "localhost", "10.77.0", "10.77.0.3:80", "[::1]", "10.77.0.3 "})
        EXPECT_FALSE(parse_address(text).has_value()) << text;
}

TEST(OwnAddress, IsTheOneInTheNetwork) { EXPECT_EQ(host_of(own_address(network("127.0.0.0/8")).value()), "127.0.0.1"); }

TEST(OwnAddress, WhereThereIsNoneThoseThatThereAreAreNamed) {
    const auto found = own_address(network("255.255.255.255/32"));  // of no interface
    ASSERT_FALSE(found.has_value());
    EXPECT_THAT(found.error().message(), testing::AllOf(HasSubstr("no address in the network 255.255.255.255/32"),
                                                        HasSubstr("it has"), HasSubstr("127.0.0.1")));
}

}  // namespace
}  // namespace weir::transport
