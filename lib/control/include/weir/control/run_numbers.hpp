// SPDX-License-Identifier: Apache-2.0
// Gives out run numbers, each once for good. The catalogues of the recorders know the numbers that were recorded; a
// small file remembers those that were given out, also to runs that never wrote anything. Either of the two may be
// lost.
#pragma once

#include <filesystem>

#include "weir/base/file.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::control {

class RunNumbers {
public:
    /// In `directory`, which is there. Also takes it for this process: Errc::refused when another run control has it.
    [[nodiscard]] static Result<RunNumbers> open(const std::filesystem::path& directory);

    /// The next number: above all that were given out, and at least `free`, the next free one of the catalogues. It is
    /// on stable storage before it is returned.
    [[nodiscard]] Result<RunNumber> take(RunNumber free);
    /// Again, when the file was changed by who holds this. Errors as of open().
    [[nodiscard]] Result<> read_again();

private:
    RunNumbers(std::filesystem::path directory, File lock, std::uint32_t last)
        : directory_(std::move(directory)), lock_(std::move(lock)), last_(last) {}

    std::filesystem::path directory_;
    File lock_;
    std::uint32_t last_ = 0;
};

}  // namespace weir::control
