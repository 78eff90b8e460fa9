// SPDX-License-Identifier: Apache-2.0
#include "cross_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/digest/portable.hpp"

namespace weir::fixity {
namespace {

struct Sums {
    std::vector<digest::Summer> sums;
    std::optional<BlockSummer> blocks;

    void add(ConstData data) {
        for (auto& sum : sums) sum.add(data);
        if (blocks) blocks->add(data);
    }
    [[nodiscard]] std::vector<digest::Digest> values() const {
        std::vector<digest::Digest> values;
        for (const auto& sum : sums) values.push_back(sum.value());
        return values;
    }
    [[nodiscard]] std::vector<std::uint32_t> block_values() {
        return blocks ? blocks->finish() : std::vector<std::uint32_t>{};
    }
};

Sums in_use(const FileWork& work) {
    Sums made;
    for (const auto algorithm : work.algorithms) made.sums.emplace_back(algorithm);
    if (work.block > 0) made.blocks.emplace(work.block);
    return made;
}

Sums portable(const FileWork& work) {
    const auto sum_of = [](digest::Algorithm algorithm) {
        return digest::Summer(digest::make_portable_engine(algorithm));
    };
    Sums made;
    for (const auto algorithm : work.algorithms) made.sums.push_back(sum_of(algorithm));
    if (work.block > 0) made.blocks.emplace(work.block, sum_of(digest::Algorithm::crc32c));
    return made;
}

Failure two_values(std::string_view what, std::string_view used, std::string_view right) {
    return {std::nullopt, 0,
            fmt::format("its {} is {} by the kernel in use and {} by portable code: the processor, the memory or the "
                        "build is broken",
                        what, used, right)};
}

}  // namespace

ReadOutcome sum_twice(const FileWork& work, PieceReader& reader) {
    auto first = in_use(work), second = portable(work);
    auto bytes = reader.read(*work.file, 0, work.file->stamp().size, [&](ConstData data) {
        for (; !data.empty(); data = data.subspan(std::min(data.size(), digest::SumSet::block))) {
            const auto part = data.first(std::min(data.size(), digest::SumSet::block));
            first.add(part);
            second.add(part);
        }
    });
    if (!bytes) return {std::move(bytes), {}, {}};
    auto values = first.values();
    const auto right = second.values();
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != right[i])
            return {std::unexpected(two_values(digest::name(values[i].algorithm()), values[i].hex(), right[i].hex())),
                    {},
                    {}};
    }
    auto blocks = first.block_values();
    const BlockMap used{work.block, blocks}, portable{work.block, second.block_values()};
    if (const auto at = first_difference(portable, used)) {
        const auto index = static_cast<std::size_t>(*at);
        return {std::unexpected(two_values(fmt::format("crc32c of the block at offset {}", *at * work.block),
                                           fmt::format("{:08x}", used.sums[index]),
                                           fmt::format("{:08x}", portable.sums[index]))),
                {},
                {}};
    }
    return {bytes, std::move(values), std::move(blocks)};
}

}  // namespace weir::fixity
