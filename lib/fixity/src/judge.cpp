// SPDX-License-Identifier: Apache-2.0
#include "judge.hpp"

#include <algorithm>

namespace weir::fixity {
namespace {

bool made(std::span<const digest::Digest> sums, const digest::Digest& claimed) {
    return std::ranges::find(sums, claimed) != sums.end();
}

Status against_manifest(const ManifestEntry& expected, const FileSum& found, std::span<const digest::Digest> sums) {
    const auto is_made = [&](const digest::Digest& claimed) { return made(sums, claimed); };
    if (expected.size && *expected.size != found.size) return Status::mismatch;
    if (!std::ranges::all_of(expected.sums, is_made)) return Status::mismatch;
    if (!expected.one_of.empty() && std::ranges::none_of(expected.one_of, is_made)) return Status::mismatch;
    // The map detects damage that a short sum may miss.
    if (!expected.blocks.empty() && expected.blocks != found.blocks) return Status::mismatch;
    const bool nothing = expected.sums.empty() && expected.one_of.empty() && expected.blocks.empty();
    return nothing ? Status::unverified : Status::ok;
}

Status against_attributes(AttributeOutcome& attributes, std::span<const digest::Digest> sums) {
    bool any_current = false;
    for (const auto& stored : attributes.stored) {
        const auto add_to = [&](std::vector<std::string>& names) {
            if (std::ranges::find(names, stored.attribute) == names.end()) names.push_back(stored.attribute);
        };
        if (!stored.current) add_to(attributes.stale);
        else if (!made(sums, stored.sum)) add_to(attributes.mismatches);
        else any_current = true;
    }
    if (!attributes.mismatches.empty()) return Status::mismatch;
    if (!attributes.stale.empty()) return Status::stale;
    return any_current ? Status::ok : Status::unverified;
}

}  // namespace

void judge(FileSum& result, std::span<const digest::Digest> sums, AttributeUse use) {
    result.status = result.expected ? against_manifest(*result.expected, result, sums) : Status::ok;
    if (use == AttributeUse::none || use == AttributeUse::read) return;
    const auto status = against_attributes(result.attributes, sums);
    if (use == AttributeUse::replace) return;
    if (use == AttributeUse::write) {  // the file has none, or old ones: they are to be written
        if (status == Status::mismatch) result.status = status;
        return;
    }
    // Without a manifest an attribute is the only reference; beside one it can only make things worse.
    if (!result.expected || status == Status::mismatch || result.status == Status::unverified) {
        if (result.status != Status::mismatch) result.status = status;
    }
}

}  // namespace weir::fixity
