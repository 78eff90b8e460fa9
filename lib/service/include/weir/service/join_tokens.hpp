// SPDX-License-Identifier: Apache-2.0
// The join tokens that were given out, in a file: of each the hash of its secret, for which host, until when, and
// whether it was used. The file is changed as a whole under a lock beside it, so that a token counts once, whoever
// comes at the same time, and also when run control is started again. Who reads the file can join nothing with it.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/service/join_token.hpp"

namespace weir::service {

inline constexpr std::chrono::minutes join_token_validity{10};

class JoinTokens {
public:
    /// `file` need not be there yet, its directory must. Any number of objects and processes may use one file; any
    /// thread.
    JoinTokens(std::filesystem::path file, const Clock& clock) : file_(std::move(file)), clock_(clock) {}

    /// From now on the token is good for `host`, once, for ten minutes. Errc::usage: no name of a host; limit: there
    /// are too many that were not used.
    [[nodiscard]] Result<> add(const JoinToken& token, const std::string& host) const;

    /// The host that the token is for; it is used up then, durably. Errc::refused says why not: unknown, used (since
    /// when, from where), ended, for another host than `host` (empty: any), and then it stays as it was. Any other
    /// error: the file cannot be read or written. `address`: of who joins.
    [[nodiscard]] Result<std::string> use(const JoinToken& token, const std::string& host,
                                          const std::string& address) const;

private:
    const std::filesystem::path file_;
    const Clock& clock_;
};

}  // namespace weir::service
