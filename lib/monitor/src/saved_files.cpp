// SPDX-License-Identifier: Apache-2.0
#include "saved_files.hpp"

#include <fmt/format.h>

#include <system_error>

#include "root/root_file.hpp"
#include "weir/base/data.hpp"
#include "weir/base/file.hpp"

namespace weir::monitor {

Result<std::filesystem::path> save_histograms(const std::filesystem::path& directory, const SavedWith& with,
                                              const KeptHistograms::Picture& picture, WallTime now) {
    std::error_code failed;
    std::filesystem::create_directories(directory, failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot make directory {}", directory.native()));
    const auto name = fmt::format("{}.{:08}.histograms", with.monitor, number(with.run));
    std::vector<const Histogram*> histograms;
    for (const auto& histogram : picture.histograms) histograms.push_back(histogram.get());
    // Counters too: histograms of one bin, whose content is the count.
    std::vector<Histogram1D> counters;
    counters.reserve(picture.counters.size());
    for (const auto& counter : picture.counters) {
        auto& made = counters.emplace_back("counter " + counter.name, counter.name, Axis(1, 0, 1));
        made.contents[1] = made.entries = counter.value;
        histograms.push_back(&made);
    }
    const auto root = directory / (name + ".root");
    const auto bytes = WEIR_TRY(root_file_of(root.filename().native(), histograms, now));
    WEIR_TRY(replace_text(root, as_text(bytes), Synced::yes));
    WEIR_TRY(replace_text(directory / (name + ".json"), saved_document(with, picture), Synced::yes));
    return root;
}

}  // namespace weir::monitor
