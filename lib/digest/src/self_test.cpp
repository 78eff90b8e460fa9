// SPDX-License-Identifier: Apache-2.0
// The answers are those of Python's hashlib and of b3sum (test/vectors has the script and many more). Neighbours in
// the lanes have different data, so that a lane that is mistaken for another is found.
#include "weir/digest/self_test.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "blake3/blake3_hasher.hpp"
#include "engines/engines.hpp"
#include "kernel_tests.hpp"
#include "lanes/block_hash.hpp"
#include "lanes/lane_streams.hpp"
#include "weir/digest/portable.hpp"

namespace weir::digest {
namespace {

struct Sample {
    std::string_view name;
    std::vector<std::byte> data;
    std::string_view md5, sha1, sha224, sha256, blake3;
};

std::array<Sample, 2> samples() {
    std::vector<std::byte> noise(4109);
    std::uint32_t state = 1;
    for (auto& byte : noise) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    return {{{"4109 pseudo-random bytes", std::move(noise), "f6cadfcffb2a0fdad2185cc5432daeef",
              "9b5f6a47b775cf18ea26a696b191ba901a3178cf", "b9ea36ad181e9f2eca104369c9521983928780ba293be1baddc958bc",
              "a355dea1dd612d4d28f832c6cf597a72fc189919bca4e106b7039430760d9ad3",
              "50e599c282a8f7463343c16bcd6bcffe49b18cefe343bfca1741ad39811ffe4e"},
             {"5553 bytes of 0xff", std::vector(5553, std::byte{0xff}), "80b7b19aa5431104d4a956a17f72ff68",
              "92e5f54ca755ae27cd401cc3912b2e39d7d1af40", "fc70f420c1522f6b95e7fe6657139c3a57eadf78078dd73565f8c8a7",
              "ecc814598caefea41eeec29ec240e98b2d6c4ff3b1f76e05e3562e24fcbbd937",
              "7ce60c8a887ad6cdf06effcd495e7d0274c8e332f2723a2157374fe423095334"}}};
}

Result<> compare(const Digest& digest, std::string_view right, std::string_view kernel, std::string_view sample) {
    if (digest.hex() == right) return {};
    return fail(Errc::corrupt, fmt::format("self-test of {} kernel \"{}\": {} give {} instead of {}; the build or the "
                                           "processor is broken, store nothing with it",
                                           name(digest.algorithm()), kernel, sample, digest.hex(), right));
}

std::string_view Sample::* right_of(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::md5: return &Sample::md5;
        case Algorithm::sha1: return &Sample::sha1;
        case Algorithm::sha224: return &Sample::sha224;
        default: return &Sample::sha256;
    }
}

}  // namespace

Result<> test_lanes(Algorithm algorithm, std::span<const LaneKernel> kernels, const LaneFeatures& features) {
    const auto both = samples();
    const auto right = right_of(algorithm);
    for (const auto& kernel : kernels) {
        if (!kernel.usable(features)) continue;
        LaneStreams streams(algorithm, kernel.lanes, kernel);
        std::vector<ManySums::Part> parts;
        for (std::size_t i = 0; i < kernel.lanes; ++i) parts.push_back({i, both[i % 2].data, true});
        streams.add(parts);
        for (std::size_t i = 0; i < kernel.lanes; ++i) {
            const auto& sample = both[i % 2];
            if (auto same = compare(streams.value(i), sample.*right, kernel.name, sample.name); !same) return same;
        }
    }
    return {};
}

Result<> test_blake3(std::span<const blake3::Kernel* const> kernels, const CpuFeatures& features) {
    const auto both = samples();
    for (const auto* kernel : kernels) {
        if (!kernel->usable(features)) continue;
        for (const auto& sample : both) {
            blake3::Hasher hasher(*kernel);
            hasher.add(sample.data);
            const auto digest = Digest::of_bytes(Algorithm::blake3, hasher.value());
            if (auto same = compare(digest, sample.blake3, kernel->name, sample.name); !same) return same;
        }
        // Both in a row and more of it: every lane, whole subtrees and what is left, against the first kernel.
        std::vector<std::byte> data;
        while (data.size() < (std::size_t{45} << 10))
            for (const auto& sample : both) data.insert(data.end(), sample.data.begin(), sample.data.end());
        blake3::Hasher right(*blake3::kernels().front()), hasher(*kernel);
        right.add(data);
        hasher.add(data);
        const auto digest = Digest::of_bytes(Algorithm::blake3, hasher.value());
        const auto portable = Digest::of_bytes(Algorithm::blake3, right.value()).hex();
        if (auto same = compare(digest, portable, kernel->name, "45 KiB of both samples"); !same) return same;
    }
    return {};
}

Result<> test_engine(Algorithm algorithm, Engine& engine) {
    const auto portable = make_portable_engine(algorithm);
    for (const auto& sample : samples()) {
        const auto cut = sample.data.size() / 3;
        for (auto* one : {&engine, portable.get()}) {
            one->add(ConstData(sample.data).first(cut));
            one->add(ConstData(sample.data).subspan(cut));
        }
        if (auto same = compare(engine.value(), portable->value().hex(), "in use", sample.name); !same) return same;
        engine.reset();
        portable->reset();
    }
    return {};
}

namespace {

/// The same for sums of a whole message at once, which other code makes for some algorithms.
Result<> test_at_once(Algorithm algorithm) {
    const auto portable = make_portable_engine(algorithm);
    for (const auto& sample : samples()) {
        portable->add(sample.data);
        if (auto same = compare(sum(algorithm, sample.data), portable->value().hex(), "at once", sample.name); !same)
            return same;
        portable->reset();
    }
    return {};
}

}  // namespace

Result<> self_test(std::span<const Algorithm> of) {
    const auto features = LaneFeatures::detect();
    for (const auto algorithm : of) {
        if (is_block_hash(algorithm)) {
            if (auto done = test_lanes(algorithm, lane_kernels(algorithm), features); !done) return done;
        }
        if (algorithm == Algorithm::blake3) {
            if (auto done = test_blake3(blake3::kernels(), features.cpu); !done) return done;
        }
        if (auto done = test_engine(algorithm, *make_engine(algorithm)); !done) return done;
        if (auto done = test_at_once(algorithm); !done) return done;
    }
    return {};
}

}  // namespace weir::digest
