// SPDX-License-Identifier: Apache-2.0
#include "weir/control/http_links.hpp"

#include <gtest/gtest.h>

#include "weir/service/control_messages.hpp"

namespace weir::control {
namespace {

service::StationRequest connect_to(const std::string& station) {
    service::StationRequest request;
    request.transition = service::Transition::connect;
    request.peers.emplace_back().name = station;
    return request;
}

TEST(RequestText, OfTheSamePeersIsWrittenOnceAndOfOthersAnew) {
    RequestText text;
    const auto* first = text.of(connect_to("ros-1")).data();
    EXPECT_EQ(text.of(connect_to("ros-1")).data(), first);
    EXPECT_EQ(text.of(connect_to("ros-1")), to_json(connect_to("ros-1")));
    EXPECT_EQ(text.of(connect_to("ros-2")), to_json(connect_to("ros-2")));
    EXPECT_EQ(text.of(connect_to("ros-1")), to_json(connect_to("ros-1")));
}

TEST(RequestText, OfTheEmptyRequestIsWrittenToo) {
    RequestText text;
    EXPECT_EQ(text.of({}), to_json(service::StationRequest{}));
}

}  // namespace
}  // namespace weir::control
