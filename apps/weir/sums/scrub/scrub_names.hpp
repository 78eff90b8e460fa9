// SPDX-License-Identifier: Apache-2.0
// What a scrub proves: every file below a directory against its attributes, and the files of manifests that
// are met during the walk (SHA256SUMS, x.md5, sums.weir ...) against those. In one order, from any place on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sums/check/check_manifests.hpp"
#include "weir/fixity/tree_walk.hpp"

namespace weir::app {

/// By its file name: "MD5SUMS", "sha256sums.txt", "run7.sfv", "data.adler32", "sums.weir", "manifest.json".
[[nodiscard]] bool is_manifest_name(std::string_view path);

/// Whether a walk meets `a` before `b`: component by component, as bytes.
[[nodiscard]] bool walks_before(std::string_view a, std::string_view b);

class ScrubNames {
public:
    /// `after`: what stands up to this path, it included, was proven before; empty: all is to be.
    ScrubNames(std::string root, std::string after, CheckManifests::Complain complain);

    [[nodiscard]] std::optional<fixity::Job> next();
    /// Lines and manifests that are not understood, not there or not readable.
    [[nodiscard]] std::uint64_t malformed() const noexcept { return malformed_; }
    [[nodiscard]] std::uint64_t links() const noexcept { return links_; }

private:
    fixity::TreeWalk walk_;
    const std::string after_;
    const CheckManifests::Complain complain_;
    std::optional<CheckManifests> manifest_;  // its files come before the walk goes on
    std::uint64_t malformed_ = 0, links_ = 0;
};

}  // namespace weir::app
