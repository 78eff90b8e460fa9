// SPDX-License-Identifier: Apache-2.0
#include "weir/base/descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }
Descriptor null_device() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Descriptor, IsClosedWithItsOwner) {
    int fd = -1;
    {
        const auto owner = null_device();
        fd = owner.get();
        EXPECT_TRUE(is_open(fd));
    }
    EXPECT_FALSE(is_open(fd));
}

TEST(Descriptor, IsHandedOverAndWhatTheNewOwnerHadIsClosed) {
    auto one = null_device(), two = null_device();
    const int first = one.get(), second = two.get();
    two = std::move(one);
    EXPECT_EQ(two.get(), first);
    EXPECT_TRUE(is_open(first));
    EXPECT_FALSE(is_open(second));
    EXPECT_EQ(one.get(), -1);  // NOLINT(bugprone-use-after-move): that it has nothing any more
    two.close();
    EXPECT_FALSE(is_open(first));
    EXPECT_FALSE(two);
}

}  // namespace
}  // namespace weir
