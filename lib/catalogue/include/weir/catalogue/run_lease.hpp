// SPDX-License-Identifier: Apache-2.0
// Which run control has a partition, and the documents that it leaves to the next one, in the PostgreSQL database that
// the recorders share (tables weir_run_leases and weir_run_documents). It says again and again that it lives; one that
// has been silent for long enough has lost the lease to whoever takes it. Only the database's clock counts.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/guid.hpp"
#include "weir/base/result.hpp"

namespace weir::catalogue {

struct LeaseHolder {
    Guid id{};                           // of the run control that took it
    std::string name{};                  // for who reads it: "ctl:/data/run7 (pid 4711)"
    std::chrono::milliseconds silent{};  // since it was last heard, when the question was answered
    bool ended = false;                  // properly: it left nothing
};

/// The lease of one partition. One thread. A call takes seconds at most when the server is away or hangs, and is
/// Errc::io then; a connection that was lost is made anew by the next call.
class RunLease {
public:
    virtual ~RunLease() = default;  // does not end the lease
    /// Nothing: nobody has had it yet.
    [[nodiscard]] virtual Result<std::optional<LeaseHolder>> look() = 0;
    /// From the one who was seen with look(), be it nobody. False: another was quicker.
    [[nodiscard]] virtual Result<bool> take(const Guid& id, const std::string& name,
                                            const std::optional<Guid>& from) = 0;
    /// By name.
    [[nodiscard]] virtual Result<std::map<std::string, std::string>> documents() = 0;
    /// Puts a document, or removes it. False: another has the lease, and nothing was changed.
    [[nodiscard]] virtual Result<bool> put(const Guid& id, const std::string& name,
                                           const std::optional<std::string>& text) = 0;
    /// It lives. False: another has the lease.
    [[nodiscard]] virtual Result<bool> renew(const Guid& id) = 0;
    /// It ends properly. False: another has the lease.
    [[nodiscard]] virtual Result<bool> end(const Guid& id) = 0;
};

/// `uri` as of open_postgres_catalogue(). Makes the tables where they are not there. Errc::usage: no such URI;
/// Errc::io: no connection; Errc::unsupported: built without libpq.
[[nodiscard]] Result<std::unique_ptr<RunLease>> open_run_lease(const std::string& uri, std::string_view partition);

}  // namespace weir::catalogue
