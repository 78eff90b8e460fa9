// SPDX-License-Identifier: Apache-2.0
// How a failure of the world (disk, network, bytes from outside) looks: a Result that says what was
// being done to which thing and why it failed. Ordinary answers are bool or optional; our own
// mistakes are WEIR_ASSERT.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace weir {

enum class Errc {
    io,           // the operating system refused or failed; os_errno says how
    truncated,    // bytes end before the thing they describe
    corrupt,      // bytes contradict themselves or their checksum
    unsupported,  // valid, but a version or kind that we do not handle
    limit,        // a configured limit was exceeded
    refused,      // the request is understood and not allowed (a closed run, a directory in use)
    usage,        // an option, key or value that the user should change
};

/// "io", "truncated", ...
[[nodiscard]] const char* name(Errc code) noexcept;

struct Error {
    Errc code = Errc::io;
    int os_errno = 0;     // 0 when the operating system had no part in it
    std::string context;  // one line: what was being done, to which file or peer, why, what to do

    /// The context, with the operating system's reason when there is one.
    [[nodiscard]] std::string message() const;
};

template <class T = void>
using Result = std::expected<T, Error>;

[[nodiscard]] inline std::unexpected<Error> fail(Errc code, std::string context) {
    return std::unexpected(Error{code, 0, std::move(context)});
}

/// A failed system call: pass errno at once, before anything else can change it.
[[nodiscard]] inline std::unexpected<Error> fail_errno(int os_errno, std::string context) {
    return std::unexpected(Error{Errc::io, os_errno, std::move(context)});
}

}  // namespace weir
