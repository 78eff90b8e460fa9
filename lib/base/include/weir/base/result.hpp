// SPDX-License-Identifier: Apache-2.0
// How a failure of the world (disk, network, bytes from outside) looks: a Result that names what was
// being done to which thing and why it failed. Ordinary answers are bool or optional; our own
// mistakes are WEIR_ASSERT.
#pragma once

#include <expected>
#include <string>
#include <type_traits>
#include <utility>

namespace weir {

enum class Errc {
    io,           // the operating system refused or failed; os_errno has the error
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

/// The value of a Result that has one, moved out of it; for WEIR_TRY.
template <class T, class E>
constexpr T take_value(std::expected<T, E>&& result) {
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace weir

/// The value of a Result; on failure the function returns its error. For functions that return a Result themselves:
///
///     Result<Index> read_index(const std::filesystem::path& path) {
///         auto file = WEIR_TRY(File::open(path, File::Mode::read));  // open returns Result<File>
///         std::vector<std::byte> bytes(index_size);
///         WEIR_TRY(file.read_at(0, bytes));                          // read_at returns Result<>
///         return parse_index(bytes);
///     }
///
/// It is a whole statement, or all that a variable is initialised with or assigned: in the middle of an expression it
/// would return while other parts of that expression exist, and one WEIR_TRY inside another is a warning (-Wshadow).
/// The value is moved out and refers to nothing of the Result; without a variable it is destroyed at once, so a lock
/// needs one. A function that adds to the error, counts it or goes on without the value looks at the Result itself.
/// (A statement expression, which g++ and clang have: one form for both uses.)
#define WEIR_TRY(...)                                                             \
    (__extension__({                                                              \
        auto weir_result = (__VA_ARGS__);                                         \
        if (!weir_result) return std::unexpected(std::move(weir_result.error())); \
        ::weir::take_value(std::move(weir_result));                               \
    }))
