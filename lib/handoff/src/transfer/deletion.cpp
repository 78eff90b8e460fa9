// SPDX-License-Identifier: Apache-2.0
#include "transfer/deletion.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "plan/source.hpp"
#include "weir/base/leaving_file.hpp"

namespace weir::handoff {
namespace {

constexpr std::size_t kept_max = 10;

struct Candidate {
    catalogue::FileRow file;
    WallTime verified{};      // by the last destination
    bool everywhere = false;  // a verified copy at each
};

bool is_there(const std::filesystem::path& path) {
    struct stat status{};
    return ::lstat(path.c_str(), &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

}  // namespace

Result<double> Deletion::usage_of(const std::string& volume) {
    struct statvfs status{};
    if (::statvfs(volume.c_str(), &status) != 0)
        return fail_errno(errno, fmt::format("cannot ask how full {} is", volume));
    const auto used = static_cast<double>(status.f_blocks - status.f_bfree);
    const auto usable =
        used + static_cast<double>(status.f_bavail);  // as df counts it: without what is reserved for root
    return usable > 0 ? 100.0 * used / usable : 0.0;
}

Deletion::Deletion(catalogue::Catalogue& catalogue, std::span<const std::unique_ptr<Destination>> destinations,
                   std::function<Result<std::string>(std::size_t, const catalogue::FileRow&)> where,
                   std::optional<std::string> recorder, const DeletionOptions& options,
                   std::chrono::milliseconds answer, const Clock& clock, Usage usage, FileSystem& system)
    : catalogue_(catalogue),
      destinations_(destinations),
      where_(std::move(where)),
      recorder_(std::move(recorder)),
      options_(options),
      answer_(answer),
      clock_(clock),
      usage_(std::move(usage)),
      system_(system) {}

Result<DeletionOutcome> Deletion::step(const std::stop_token& stop) {
    DeletionOutcome outcome;
    if (options_.above_percent >= 100) return outcome;
    const auto rows = WEIR_TRY(catalogue_.files({.recorder = recorder_,
                                                 .file_state = catalogue::FileState::closed,
                                                 .transfer_state = catalogue::TransferState::transferred}));
    std::map<std::string, std::vector<Candidate>> by_volume;
    for (const auto& file : rows) {
        if (file.file_health != catalogue::FileHealth::quarantined) by_volume[file.volume].push_back({.file = file});
    }
    for (auto& [volume, candidates] : by_volume) {
        const auto used = usage_(volume);
        if (used && *used <= options_.above_percent) continue;
        // A disk that is not mounted has none of its files: they are not deleted, they are elsewhere.
        if (!used || !is_there(std::filesystem::path(volume) / "weir.lock")) {
            if (outcome.kept.size() < kept_max)
                outcome.kept.push_back(
                    fmt::format("files of {} are kept: it is no volume of a recorder now; is it mounted?", volume));
            continue;
        }
        for (auto& candidate : candidates) {
            const auto copies = WEIR_TRY(catalogue_.transfers({.guid = candidate.file.guid}));
            for (const auto& copy : copies)
                candidate.verified = std::max(candidate.verified, copy.verified.value_or(WallTime{}));
            // A destination that is new may not have it yet: it is still to be copied there.
            candidate.everywhere = std::ranges::all_of(destinations_, [&](const auto& destination) {
                const auto copy = std::ranges::find(copies, destination->name(), &catalogue::TransferRow::destination);
                return copy != copies.end() && copy->state == catalogue::CopyState::transferred;
            });
        }
        std::erase_if(candidates, [](const Candidate& candidate) { return !candidate.everywhere; });
        std::ranges::sort(candidates, {}, &Candidate::verified);
        for (const auto& [file, verified, everywhere] : candidates) {
            if (stop.stop_requested()) return outcome;
            if (verified + options_.age > clock_.wall()) break;
            const auto now = WEIR_TRY(usage_(volume));
            if (now <= options_.above_percent) break;
            const auto keep = WEIR_TRY(reason_to_keep(file, stop));
            if (keep) {
                if (outcome.kept.size() < kept_max) outcome.kept.push_back(*keep);
                continue;
            }
            const auto erased = WEIR_TRY(erase(file, stop));
            if (erased) {
                if (!stop.stop_requested() && outcome.kept.size() < kept_max) outcome.kept.push_back(*erased);
                continue;
            }
            ++outcome.files;
            outcome.bytes += file.bytes;
        }
    }
    return outcome;
}

Result<std::optional<std::string>> Deletion::reason_to_keep(const catalogue::FileRow& file,
                                                            const std::stop_token& stop) {
    const auto keep = [&](std::string why) {
        return std::optional(fmt::format("{} is kept: {}", path_of(file).native(), why));
    };
    const auto row = WEIR_TRY(catalogue_.file(file.guid));
    if (!row || row->file_state != catalogue::FileState::closed ||
        row->transfer_state != catalogue::TransferState::transferred ||
        row->file_health == catalogue::FileHealth::quarantined || row->volume != file.volume || row->name != file.name)
        return keep("the catalogue has another state of it now");
    if (const auto none = no_copies_.find(file.guid); none != no_copies_.end()) return none->second;
    const auto copies = WEIR_TRY(catalogue_.transfers({.guid = file.guid}));
    for (std::size_t d = 0; d < destinations_.size(); ++d) {
        auto& destination = *destinations_[d];
        const auto copy = std::ranges::find(copies, destination.name(), &catalogue::TransferRow::destination);
        if (copy == copies.end() || copy->state != catalogue::CopyState::transferred)
            return keep(fmt::format("no copy at {} was verified", destination.name()));
    }
    if (auto missing = missing_copy(file, stop)) return std::optional(std::move(missing->why));
    return std::nullopt;
}

std::optional<Deletion::Missing> Deletion::missing_copy(const catalogue::FileRow& file, const std::stop_token& stop) {
    const auto keep = [&](std::string_view why, bool answered = false) {
        return Missing{fmt::format("{} is kept: {}", path_of(file).native(), why), answered};
    };
    for (std::size_t d = 0; d < destinations_.size(); ++d) {
        auto& destination = *destinations_[d];
        const auto place = where_(d, file);
        if (!place) return keep(place.error().message());
        const auto size = destination.size_of(*place, {stop, answer_});
        if (!size) return keep(size.error().message());
        if (!*size)
            return keep(fmt::format("its copy {} was verified, and is gone now", destination.url(*place)), true);
        if (**size != file.bytes)
            return keep(fmt::format("its copy {} was verified, and has {} bytes now", destination.url(*place), **size),
                        true);
    }
    return std::nullopt;
}

Result<std::optional<std::string>> Deletion::erase(const catalogue::FileRow& file, const std::stop_token& stop) {
    const auto path = path_of(file);
    const auto leaving = leaving_name(path);
    const auto keep = [&](std::string_view why) {
        return std::optional(fmt::format("{} is kept: {}", path.native(), why));
    };
    if (is_there(path)) {
        if (auto renamed = rename_new(path, leaving, system_); !renamed) return keep(renamed.error().message());
    }
    if (is_there(leaving)) {
        if (const auto missing = missing_copy(file, stop)) {
            if (auto back = rename_new(leaving, path, system_); !back)
                return keep(fmt::format("{}; it is {} now, give it its name back", missing->why, leaving.native()));
            // There again as soon as it has its name back: then it was never a copy.
            if (!missing->answered || missing_copy(file, stop)) return std::optional(missing->why);
            return no_copies_[file.guid] = *keep("a destination shows this very file, not a copy of it; correct --to");
        }
        if (auto removed = remove_file(leaving, system_); !removed) {
            static_cast<void>(rename_new(leaving, path, system_));
            return keep(removed.error().message());
        }
    }
    auto index = path;
    index.replace_extension(".index");
    if (is_there(index)) {
        if (auto removed = remove_file(index, system_); !removed) return keep(removed.error().message());
    }
    if (auto synced = sync_directory(path.parent_path(), system_); !synced) return keep(synced.error().message());
    if (auto entered = catalogue_.file_deleted(file.guid, file.volume, file.name); !entered) {
        if (entered.error().code != Errc::refused) return std::unexpected(entered.error());
        return keep(entered.error().message());  // it was moved: what is gone was what the move left
    }
    return std::nullopt;
}

Result<std::vector<std::string>> Deletion::restore_names() {
    const auto rows = WEIR_TRY(catalogue_.files({.recorder = recorder_,
                                                 .file_state = catalogue::FileState::closed,
                                                 .transfer_state = catalogue::TransferState::transferred}));
    std::set<std::filesystem::path> volumes;
    for (const auto& file : rows) volumes.insert(file.volume);
    std::vector<std::string> failed;
    for (const auto& volume : volumes) {
        if (!is_there(volume / "weir.lock")) continue;
        if (const auto back = restore_leaving_files(volume, system_); !back) failed.push_back(back.error().message());
    }
    return failed;
}

}  // namespace weir::handoff
