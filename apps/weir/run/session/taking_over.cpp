// SPDX-License-Identifier: Apache-2.0
#include "run/session/taking_over.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/command_line.hpp"
#include "run/authority/own_authority.hpp"
#include "run/records/run_again.hpp"
#include "stations/frame/partition_settings.hpp"
#include "weir/base/file.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/control/open_run.hpp"

namespace weir::app {
namespace {

/// Of the file that was typed, or else of the one in the directory.
Result<std::optional<LeasePlace>> lease_place_of(const RunOptions& options) {
    const auto file = options.partition.empty() ? RunDirectory::partition_file(options.directory) : options.partition;
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown)) return std::nullopt;  // which is said later, if it matters
    auto text = WEIR_TRY(read_text(file, 64_MiB));
    const auto record = WEIR_TRY(record_to_take(std::move(text), file));
    return lease_place(record.text, file.native());
}

/// Machines obey no certificate of another authority than the one with which the run was begun.
Result<> check_authority_for(const RunOptions& options, const catalogue::LeaseHolder& from) {
    if (options.partition.empty()) return {};
    auto text = WEIR_TRY(read_text(options.partition, 64_MiB));
    const auto record = WEIR_TRY(record_to_take(std::move(text), options.partition));
    const auto shared = WEIR_TRY(read_shared_settings(record.text, options.partition.native()));
    if (!shared.security.own_authority || OwnAuthority::open(options.directory)) return {};
    return fail(Errc::usage,
                fmt::format("{} has no authority, without which no machine obeys; copy the folder authority from the "
                            "directory of {} into it: no key is in the database",
                            options.directory.native(), from.name));
}

}  // namespace

Result<std::optional<RunClaim>> claim_to_take_over(const RunOptions& options) {
    const auto place = WEIR_TRY(lease_place_of(options));
    const auto may = [&](const catalogue::LeaseHolder& from) { return check_authority_for(options, from); };
    if (!options.standby) {
        auto claim = WEIR_TRY(RunClaim::lock(options.directory));
        if (place) {
            WEIR_TRY(claim.take(*place, RunClaim::How::take_over, may));
        }
        return claim;
    }
    while (true) {
        auto claim = WEIR_TRY(RunClaim::stand_by(options.directory, place, may));
        if (!claim || !place) return claim;
        const auto taken = claim->take(*place, RunClaim::How::take_over, may);
        if (taken) return claim;
        if (taken.error().code != Errc::io && taken.error().code != Errc::refused)
            return std::unexpected(taken.error());
        complain(weir_run, taken.error().message());  // another one was quicker, or the database went away
    }
}

std::optional<PartitionLeft> partition_left(const std::filesystem::path& directory) {
    std::error_code unknown;
    if (const auto open = control::OpenRun(directory).left(); open && *open) {
        auto record = catalogue::run_record_path(directory, (*open)->run);
        if (std::filesystem::exists(record, unknown)) return PartitionLeft{std::move(record), true};
    }
    auto file = RunDirectory::partition_file(directory);
    return std::filesystem::exists(file, unknown) ? std::optional(PartitionLeft{std::move(file)}) : std::nullopt;
}

bool is_that_of_left(const RunDirectory& directory, const std::string& text) {
    const auto before = read_text(directory.partition_file(), 64_MiB);
    return before && *before == text;
}

void take_file_of(const catalogue::RunRecord& record, const std::filesystem::path& typed, RunOptions& options) {
    if (!record.file.empty()) options.partition = record.file;
    if (typed.empty()) return;
    const auto text = read_text(typed, 64_MiB);
    if (text && *text != record.text)
        complain(weir_run,
                 fmt::format("{} is not the partition file with which the run was begun; it goes on with that "
                             "one, and yours counts after weir run apply",
                             typed.native()));
    options.partition = std::filesystem::absolute(typed);
}

}  // namespace weir::app
