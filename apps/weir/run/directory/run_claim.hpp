// SPDX-License-Identifier: Apache-2.0
// What makes this process the run control of a directory D: the lock of D and, where the recorders of its machines
// share a PostgreSQL database, the lease of the partition there, with which another directory on another machine goes
// on.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/guid.hpp"
#include "weir/base/result.hpp"
#include "weir/catalogue/run_lease.hpp"
#include "weir/control/run_numbers.hpp"

namespace weir::app {

struct LeasePlace {
    std::string uri;  // of the database
    std::string partition;
};

/// As a partition file says it: [run] lease, or else the database that all recorders have as their catalogue. Nothing:
/// there is none, or the stations have no machines of their own and end with run control. `file` stands in errors.
[[nodiscard]] Result<std::optional<LeasePlace>> lease_place(std::string_view text, const std::string& file);

class RunClaim {
public:
    enum class How { begin, take_over };
    /// What must be so before this directory goes on with the run of another one; called at once.
    using MayComeFromElsewhere = std::function<Result<>(const catalogue::LeaseHolder& from)>;

    /// Locks D, which is made. Errc::refused: another process has it.
    [[nodiscard]] static Result<RunClaim> lock(const std::filesystem::path& directory);
    /// Waits until no other run control has D, nor the lease. Nothing: that one ended properly, or there was none.
    [[nodiscard]] static Result<std::optional<RunClaim>> stand_by(const std::filesystem::path& directory,
                                                                  const std::optional<LeasePlace>& place,
                                                                  const MayComeFromElsewhere& may);
    /// Takes the lease; from another directory with what that one left, into this one. That a holder is silent is
    /// believed after it was listened to for a while. A database that does not answer is no error, but where there is
    /// nothing else to take over: LeaseKeeper takes the lease later. Errc::refused: another run control is alive.
    [[nodiscard]] Result<> take(const LeasePlace& place, How how, const MayComeFromElsewhere& may);

    [[nodiscard]] control::RunNumbers& numbers() noexcept { return numbers_; }
    [[nodiscard]] const Guid& id() const noexcept { return id_; }
    /// Where the lease was to be taken; has_lease() says whether the database answered.
    [[nodiscard]] const std::optional<LeasePlace>& place() const noexcept { return place_; }
    [[nodiscard]] bool has_lease() const noexcept { return taken_; }
    [[nodiscard]] std::unique_ptr<catalogue::RunLease> give_lease() noexcept { return std::move(lease_); }
    /// Of this run control, for who reads that it commands: "ctl:/data/run7 (pid 4711)".
    [[nodiscard]] std::string name() const;

private:
    RunClaim(std::filesystem::path directory, control::RunNumbers numbers)
        : directory_(std::move(directory)), numbers_(std::move(numbers)) {}
    [[nodiscard]] std::string place_name() const;
    [[nodiscard]] bool is_left_here() const;
    [[nodiscard]] std::string alone(const Error& error) const;
    [[nodiscard]] bool was_here(const catalogue::LeaseHolder& holder) const;
    [[nodiscard]] bool was_of_this_directory(const catalogue::LeaseHolder& holder) const;
    [[nodiscard]] Result<> take_from_database(How how, const MayComeFromElsewhere& may);
    enum class Standing {
        nobody,
        ours,
        held,
        free
    };  // of the lease: "ours" is of a run control of D, here, before this one
    [[nodiscard]] Result<Standing> look(const LeasePlace& place, const MayComeFromElsewhere& may);

    std::filesystem::path directory_;
    control::RunNumbers numbers_;
    std::unique_ptr<catalogue::RunLease> lease_;
    Guid id_ = Guid::random();
    std::optional<LeasePlace> place_{};
    bool listened_ = false;  // for long enough to believe that the holder is silent
    bool taken_ = false;
};

}  // namespace weir::app
