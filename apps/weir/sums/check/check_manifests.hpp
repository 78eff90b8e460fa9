// SPDX-License-Identifier: Apache-2.0
// The files of manifests, one after the other, with what they are to be held against.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/fixity/manifest_reader.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::app {

struct CheckSettings {
    std::vector<std::string> paths;   // "-" is stdin
    std::filesystem::path directory;  // of relative names; empty: where we are
    std::optional<digest::Algorithm> algorithm;
    bool allow_outside = false;
    bool zero = false;
};

class CheckManifests {
public:
    using Complain = std::function<void(std::string_view)>;

    /// `complain` may be null: nothing is reported.
    CheckManifests(CheckSettings settings, Complain complain);

    [[nodiscard]] std::optional<fixity::Job> next();

    /// Of the last job: which of the manifests named it, from 1.
    [[nodiscard]] std::size_t number() const noexcept { return at_; }
    /// Where relative names begin, absolute.
    [[nodiscard]] const std::filesystem::path& base() const noexcept { return base_; }
    /// The manifests that were opened so far.
    [[nodiscard]] const std::vector<fixity::FileStamp>& stamps() const noexcept { return stamps_; }
    [[nodiscard]] std::uint64_t malformed() const noexcept {
        return malformed_;
    }  // lines, and manifests with nothing in them
    /// Once next() gave nothing: all manifests were there, read to their ends and understood.
    [[nodiscard]] bool names_are_known() const noexcept {
        return !stopped_ && malformed_ + missing_ + unreadable_ == outside_;
    }
    [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }        // manifests that are not there
    [[nodiscard]] std::uint64_t unreadable() const noexcept { return unreadable_; }  // manifests with a read error

private:
    [[nodiscard]] bool open_next();
    void close();
    [[nodiscard]] fixity::Job job_of(fixity::ManifestEntry entry);
    [[nodiscard]] bool is_outside(const std::filesystem::path& path) const;
    void report(std::string_view text) const;
    void report_failure(const fixity::Failure& failure);

    CheckSettings settings_;
    Complain complain_;
    std::filesystem::path base_;  // settings_.directory, absolute
    std::size_t at_ = 0;
    std::vector<fixity::FileStamp> stamps_;
    std::optional<fixity::ManifestReader> reader_;
    std::uint64_t entries_ = 0;  // of this manifest
    std::uint64_t problems_ = 0;
    bool guessed_ = false;
    bool stopped_ = false;
    std::uint64_t malformed_ = 0, missing_ = 0, unreadable_ = 0;
    std::uint64_t outside_ = 0;  // of the malformed
};

}  // namespace weir::app
