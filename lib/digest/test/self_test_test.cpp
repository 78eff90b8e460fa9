// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/self_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "engines/engines.hpp"
#include "kernel_tests.hpp"

namespace weir::digest {
namespace {

constexpr bool always(const LaneFeatures&) noexcept { return true; }
constexpr bool never(const LaneFeatures&) noexcept { return false; }

/// Takes the blocks of all lanes but the last, whose state stays as it was.
void omits_the_last_lane(std::uint32_t* state, const std::byte* const* data, std::size_t blocks) noexcept {
    constexpr std::size_t lanes = 4, words = 8;
    for (std::size_t lane = 0; lane + 1 < lanes; ++lane) {
        std::array<std::uint32_t, words> one{};
        for (std::size_t word = 0; word < words; ++word) one[word] = state[word * lanes + lane];
        lane_kernels(Algorithm::sha256).front().run(one.data(), &data[lane], blocks);
        for (std::size_t word = 0; word < words; ++word) state[word * lanes + lane] = one[word];
    }
}

/// Right for one chunk, wrong for several at once: what a short known answer would not see.
void swaps_chunks(const std::byte* data, std::size_t count, std::uint64_t first, blake3::Node* nodes) noexcept {
    blake3::portable.chunks(data, count, first, nodes);
    if (count > 1) std::swap(nodes[0], nodes[1]);
}

/// Omits what is behind the first 3000 bytes of a piece, as a kernel for long pieces might.
class Incomplete final : public Engine {
public:
    void add(ConstData data) override { sum_.add(data.first(std::min<std::size_t>(data.size(), 3000))); }
    [[nodiscard]] Digest value() const override { return sum_.value(); }
    void reset() override { sum_.reset(); }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<Incomplete>(*this); }

private:
    Summer sum_{Algorithm::xxh3_64};
};

TEST(SelfTest, FindsEveryKernelOfThisProcessorRight) {
    const auto done = self_test();
    EXPECT_TRUE(done) << done.error().context;
}

TEST(SelfTest, NamesALaneKernelThatIsWrongInOneLane) {
    const auto& right = lane_kernels(Algorithm::sha256).front();
    const std::array kernels{right, LaneKernel{"incomplete", always, 4, omits_the_last_lane}};
    const auto done = test_lanes(Algorithm::sha256, kernels, LaneFeatures::detect());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::corrupt);
    EXPECT_NE(done.error().context.find("sha256 kernel \"incomplete\""), std::string::npos) << done.error().context;
    EXPECT_NE(done.error().context.find("store nothing with it"), std::string::npos) << done.error().context;
}

TEST(SelfTest, DoesNotRunWhatThisProcessorCannot) {
    const std::array kernels{LaneKernel{"of another processor", never, 4, omits_the_last_lane}};
    EXPECT_TRUE(test_lanes(Algorithm::sha256, kernels, LaneFeatures::detect()));
}

TEST(SelfTest, HoldsWhatLibrariesMakeAgainstPortableCode) {
    Incomplete wrong;
    const auto done = test_engine(Algorithm::xxh3_64, wrong);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().context.find("self-test of xxh3-64 kernel \"in use\""), std::string::npos)
        << done.error().context;
    for (const auto algorithm : algorithms)
        EXPECT_TRUE(test_engine(algorithm, *make_engine(algorithm))) << name(algorithm);
}

TEST(SelfTest, NamesABlake3KernelThatIsWrongForSeveralChunks) {
    auto wrong = blake3::portable;
    wrong.name = "swapped";
    wrong.chunks = swaps_chunks;
    const std::array<const blake3::Kernel*, 2> kernels{&blake3::portable, &wrong};
    const auto done = test_blake3(kernels, CpuFeatures::detect());
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().context.find("blake3 kernel \"swapped\""), std::string::npos) << done.error().context;
}

}  // namespace
}  // namespace weir::digest
