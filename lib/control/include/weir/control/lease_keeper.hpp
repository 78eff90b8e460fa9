// SPDX-License-Identifier: Apache-2.0
// Keeps the lease of a partition while its run control lives: says each second that it does, and copies what it leaves
// in its directory into the recorders' database, as it changes (run_documents.hpp). The database may be away: then the
// run goes on, and another run control cannot take over from elsewhere until it is back; an alarm says so.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/catalogue/run_lease.hpp"

namespace weir::control {

inline constexpr std::chrono::milliseconds lease_renewed_each{1'000};
/// A run control that was not heard for so long has lost its lease to whoever takes it.
inline constexpr std::chrono::milliseconds lease_lost_after{8'000};

/// Notes in a directory, in run-lease, that its run control is about to take the lease as `id`; those before stay
/// known, for it may not get it.
[[nodiscard]] Result<> note_lease_id(const std::filesystem::path& directory, const Guid& id);
/// Of run controls of this directory, the last first; empty: none has reached the database.
[[nodiscard]] std::vector<Guid> lease_ids(const std::filesystem::path& directory);

struct LeaseKeeperOptions {
    std::string uri{};  // of the database
    std::string partition{};
    Guid id = Guid::random();           // of this run control
    std::string name{};                 // of this run control, for who reads who has the lease
    std::filesystem::path directory{};  // of the documents
    bool taken = false;                 // it has the lease; else it takes it when it is free, or was of this directory
};

class LeaseKeeper {
public:
    /// `lease`: as it was opened; none: it is opened when the server answers. The clock outlives it.
    LeaseKeeper(LeaseKeeperOptions options, std::unique_ptr<catalogue::RunLease> lease, Reporter report,
                const Clock& clock);
    ~LeaseKeeper();  // the lease is lost after lease_lost_after, unless it was ended
    LeaseKeeper(const LeaseKeeper&) = delete;
    LeaseKeeper& operator=(const LeaseKeeper&) = delete;

    /// Another run control has the lease, and who; nothing: none has. Any thread.
    [[nodiscard]] std::optional<std::string> superseded() const;
    /// This run control ends properly, and leaves nothing to go on with. One call, after which nothing is copied any
    /// more. With a server that is away it takes some seconds, and the lease is then lost as if it had not ended.
    void end();

private:
    static constexpr std::int64_t not_there = -1, unknown = -2;
    struct Stamp {  // of a file, by which it is seen that it is another one
        std::uint64_t inode = 0;
        std::int64_t changed_ns = 0;
        std::int64_t size = not_there;
        bool operator==(const Stamp&) const = default;
    };
    static Stamp stamp_of(const std::filesystem::path& file);
    void keep(const std::stop_token& stop);
    [[nodiscard]] Result<> once();
    [[nodiscard]] Result<> take_lease();
    /// False: another has the lease.
    [[nodiscard]] Result<bool> copy_changes();
    [[nodiscard]] Result<> lose();
    void show(const Result<>& done);

    const LeaseKeeperOptions options_;
    const Reporter report_;
    const Clock& clock_;
    // Of the thread, and of end() when it has ended.
    std::unique_ptr<catalogue::RunLease> lease_;
    bool taken_ = false;
    std::map<std::string, Stamp> copied_{};
    bool knows_ = false;  // what was in the database at first
    SteadyTime renewed_{};
    SteadyTime good_{};  // when the database was last up to date
    bool alarmed_ = false;

    mutable std::mutex mutex_;
    std::condition_variable_any stopped_;
    std::optional<std::string> superseded_{};
    std::jthread thread_;  // the last member: it stops before what it uses is gone
};

}  // namespace weir::control
