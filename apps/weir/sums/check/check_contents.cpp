// SPDX-License-Identifier: Apache-2.0
#include "sums/check/check_contents.hpp"

#include <algorithm>

namespace weir::app {
namespace {

using digest::Digest;
using fixity::Status;

std::string key_of(const Digest& sum) {
    std::string key(1, static_cast<char>(sum.algorithm()));
    for (const auto byte : sum.bytes()) key += static_cast<char>(byte);
    return key;
}

bool has(const std::vector<Digest>& sums, const Digest& sum) { return std::ranges::find(sums, sum) != sums.end(); }

}  // namespace

void KnownContents::add(const fixity::FileSum& file) {
    if (!file.expected) return;
    const auto& expected = *file.expected;
    const bool at_its_place = file.status == Status::ok || file.status == Status::unchanged;
    const auto remember = [&](std::vector<Digest> sums) {
        for (const auto& sum : sums) {
            if (std::ranges::find(algorithms_, sum.algorithm()) == algorithms_.end())
                algorithms_.push_back(sum.algorithm());
        }
        auto key = key_of(sums.front());
        known_.emplace(std::move(key), Known{expected.name, std::move(sums), expected.size, at_its_place});
    };
    if (!expected.sums.empty()) return remember(expected.sums);
    for (const auto& sum : expected.one_of) {  // of one that was read it is known which of them it is
        if (!at_its_place || file.sums.empty() || has(file.sums, sum)) remember({sum});
    }
}

bool KnownContents::is(const Known& known, const fixity::FileSum& file) const {
    if (known.size && *known.size != file.size) return false;
    return std::ranges::all_of(known.sums, [&](const Digest& sum) { return has(file.sums, sum); });
}

void KnownContents::judge(fixity::FileSum& file) {
    file.status = Status::extra;
    for (const auto& sum : file.sums) {
        const auto [begin, end] = known_.equal_range(key_of(sum));
        for (auto at = begin; at != end; ++at) {
            auto& known = at->second;
            if (!is(known, file)) continue;
            if (!known.at_its_place) {
                file.status = Status::moved;
                file.same_as = known.name;
                known.at_its_place = true;  // it is found; another one is a copy
                return;
            }
            if (file.status == Status::extra) {
                file.status = Status::duplicate;
                file.same_as = known.name;
            }
        }
    }
}

}  // namespace weir::app
