// SPDX-License-Identifier: Apache-2.0
#include "weir/service/monitoring_objects.hpp"

#include <gtest/gtest.h>

#include "weir/serial/class_name.hpp"

namespace weir::service {
namespace {

TEST(MonitoringObjects, ClassesHaveTheNamesThatReadersKnow) {  // docs/formats/objects.md
    EXPECT_EQ(serial::class_name<SampledEvent>, "weir::SampledEvent");
    EXPECT_EQ(serial::class_name<SampledFragment>, "weir::SampledFragment");
    EXPECT_EQ(serial::class_name<StationSnapshot>, "weir::StationSnapshot");
    EXPECT_EQ(serial::class_name<NamedNumber>, "weir::NamedNumber");
}

}  // namespace
}  // namespace weir::service
