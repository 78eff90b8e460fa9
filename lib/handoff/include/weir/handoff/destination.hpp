// SPDX-License-Identifier: Apache-2.0
// Where files are handed to: an XRootD server, another directory. An interface, because the way of a file
// (copy under a temporary name, ask for the sum of what was stored, give it its name) is the same for
// all, and the user chooses at run time. Every call may fail, answer late or not at all, and what it
// answers is a claim of another program until it was compared.
//
// Any thread, several at once. A call ends when its stop token is asked to, or when an answer takes longer
// than its patience allows: that is an Error like any other failure.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/digest/digest.hpp"

namespace weir::handoff {

/// How long a call may take.
struct Patience {
    std::stop_token stop;
    std::chrono::milliseconds answer{60'000};  // for one answer of the other side, not for a whole file
};

/// One file that is being copied. One thread. What is not finished when it is destroyed stays behind as it is, under
/// its temporary name: the caller removes it.
class Upload {
public:
    virtual ~Upload() = default;

    /// Where the next bytes go: memory of 4096-byte alignment and a multiple of it in size. Waits until an
    /// earlier piece has been taken. The memory is the caller's until put().
    [[nodiscard]] virtual Result<MutableData> space() = 0;

    /// The first `size` bytes of the space are the next ones of the file.
    [[nodiscard]] virtual Result<> put(std::size_t size) = 0;

    /// Everything has arrived, and the destination was asked to put it on stable storage.
    [[nodiscard]] virtual Result<> finish() = 0;
};

class Destination {
public:
    virtual ~Destination() = default;

    /// As it stands in the catalogue, and in every message.
    [[nodiscard]] virtual const std::string& name() const noexcept = 0;
    /// For people: where `place` (a path below the destination) is.
    [[nodiscard]] virtual std::string url(const std::string& place) const = 0;

    /// A new file with the directories above it. A file that has the name is replaced: it is a temporary one.
    [[nodiscard]] virtual Result<std::unique_ptr<Upload>> begin(const std::string& place, std::uint64_t size,
                                                                const Patience& patience) = 0;

    /// Nothing: there is no such file.
    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> size_of(const std::string& place,
                                                                       const Patience& patience) = 0;

    /// The destination's own sum of what it stored. Nothing: it has none to offer; never a guess.
    [[nodiscard]] virtual Result<std::optional<digest::Digest>> stored_sum(const std::string& place,
                                                                           digest::Algorithm algorithm,
                                                                           const Patience& patience) = 0;

    /// The sum of the bytes as they come back, all of them.
    [[nodiscard]] virtual Result<digest::Digest> read_back(const std::string& place, digest::Algorithm algorithm,
                                                           const Patience& patience) = 0;

    /// Durable when it returns, as far as the destination can promise. Errc::refused: the name is taken.
    [[nodiscard]] virtual Result<> rename_new(const std::string& from, const std::string& to,
                                              const Patience& patience) = 0;

    /// No error when there is no such file.
    [[nodiscard]] virtual Result<> remove(const std::string& place, const Patience& patience) = 0;
};

}  // namespace weir::handoff
