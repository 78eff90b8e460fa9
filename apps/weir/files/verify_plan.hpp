// SPDX-License-Identifier: Apache-2.0
// Which files are to be proved, from what the user named: the closed files of a catalogue, the files in
// the directory that it does not know, single files. What is wrong without reading any file (a file that
// is not there, a ledger that does not add up) is found here too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weir/catalogue/catalogue.hpp"
#include "weir/recovery/verification.hpp"

namespace weir::app {

class VerifyPlan {
public:
    /// With `shared`, which has to outlive the plan, rows and ledgers are those of that catalogue.
    explicit VerifyPlan(std::optional<RunNumber> run, catalogue::Catalogue* shared = nullptr)
        : run_(run), shared_(shared) {}

    /// The ledgers of the shared catalogue, whichever recorder they are of.
    [[nodiscard]] Result<> add_shared_ledgers(const std::string& name) { return check_ledgers(name, *shared_); }

    /// A directory or a file. Error: it is not there, or its catalogue cannot be read.
    [[nodiscard]] Result<> add(const std::filesystem::path& path);

    [[nodiscard]] const std::vector<recovery::FileToVerify>& files() const noexcept { return files_; }
    [[nodiscard]] Bytes size() const noexcept { return size_; }
    [[nodiscard]] const std::vector<recovery::Damage>& damages() const noexcept { return damages_; }
    [[nodiscard]] std::uint64_t files_missing() const noexcept { return files_missing_; }

    /// Files that are not proved, and why not.
    struct NotVerified {
        std::uint64_t open = 0;     // still written, or their recorder died
        std::uint64_t deleted = 0;  // on purpose, after a transfer
    };
    [[nodiscard]] const NotVerified& not_verified() const noexcept { return not_verified_; }
    /// Files among files() that the catalogue has as QUARANTINED: an operator has to find out why.
    struct Quarantined {
        std::filesystem::path path;
        Guid guid;
        std::filesystem::path catalogue;  // the one with that row; empty: a shared one
    };
    [[nodiscard]] const std::vector<Quarantined>& quarantined() const noexcept { return quarantined_; }

    /// What was named and has nothing to verify, and why.
    [[nodiscard]] const std::vector<std::string>& empty() const noexcept { return empty_; }

    /// Promise 1 of each closed run, stream and recorder; one that does not add up is a damage too.
    struct LedgerProof {
        catalogue::LedgerRow row;
        std::uint64_t in_files = 0;  // events that the catalogue has in its files, the deleted ones included
    };
    [[nodiscard]] const std::vector<LedgerProof>& ledgers() const noexcept { return ledgers_; }

    /// What a reader should know and is not damage.
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }

private:
    [[nodiscard]] Result<> add_directory(const std::filesystem::path& directory);
    [[nodiscard]] Result<> add_shared_directory(const std::filesystem::path& directory);
    [[nodiscard]] Result<bool> add_recorders_below(const std::filesystem::path& directory);
    [[nodiscard]] Result<> add_file(const std::filesystem::path& path);
    [[nodiscard]] Result<> add_catalogue(const std::filesystem::path& directory, catalogue::Catalogue& catalogue);
    [[nodiscard]] Result<> check_ledgers(const std::filesystem::path& path, catalogue::Catalogue& catalogue);
    [[nodiscard]] Result<> add_unknown_files(const std::filesystem::path& directory);
    void add_row(const std::filesystem::path& directory, const catalogue::FileRow& row,
                 const std::filesystem::path& catalogue);
    void add_once(const std::filesystem::path& path, std::optional<catalogue::FileRow> row,
                  const std::filesystem::path& catalogue = {});
    [[nodiscard]] bool of_this_run(const std::filesystem::path& path) const;

    const std::optional<RunNumber> run_;
    catalogue::Catalogue* const shared_;
    std::vector<recovery::FileToVerify> files_;
    std::set<std::filesystem::path> known_;  // canonical; also those that are not verified
    Bytes size_;
    std::vector<recovery::Damage> damages_;
    std::uint64_t files_missing_ = 0;
    NotVerified not_verified_;
    std::vector<Quarantined> quarantined_;
    std::vector<std::string> empty_;
    std::vector<LedgerProof> ledgers_;
    std::vector<std::string> notes_;
};

}  // namespace weir::app
