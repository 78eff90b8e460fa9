// SPDX-License-Identifier: Apache-2.0
// How many files are read at once from one device: a spinning disk loses by more than one, flash and the
// page cache want as many as there are cores, a network file system hides its latency behind more.
#pragma once

#include <cstdint>
#include <map>

namespace weir::fixity {

class DeviceLimits {
public:
    /// `fixed` 0: as the device wants it; else for all devices.
    explicit DeviceLimits(unsigned fixed) : fixed_(fixed) {}

    /// `path` is any file there. One thread.
    [[nodiscard]] unsigned of(std::uint64_t device, const char* path);

private:
    unsigned fixed_;
    std::map<std::uint64_t, unsigned> known_;
};

}  // namespace weir::fixity
