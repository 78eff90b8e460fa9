// SPDX-License-Identifier: Apache-2.0
// Bytes that touch, at one of their ends, a page that cannot be read or written; what lies at the other end is known
// and can be checked. A kernel that goes one byte too far stops the test or is seen.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::serial::test {

enum class Guard { behind, before };

class GuardedBytes {
public:
    GuardedBytes(std::size_t size, Guard guard) : size_(size) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        room_ = (size + 64 + page - 1) / page * page;
        mapped_ = room_ + 2 * page;
        auto* const at = ::mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        WEIR_ASSERT(at != MAP_FAILED);
        base_ = static_cast<std::byte*>(at);
        open_ = base_ + page;
        WEIR_ASSERT(::mprotect(open_, room_, PROT_READ | PROT_WRITE) == 0);
        std::fill_n(open_, room_, known);
        data_ = guard == Guard::behind ? open_ + room_ - size : open_;
    }
    GuardedBytes(const GuardedBytes&) = delete;
    GuardedBytes& operator=(const GuardedBytes&) = delete;
    ~GuardedBytes() { ::munmap(base_, mapped_); }

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
    [[nodiscard]] bool others_untouched() const noexcept {
        const auto is_known = [](std::byte byte) { return byte == known; };
        return std::all_of(open_, data_, is_known) && std::all_of(data_ + size_, open_ + room_, is_known);
    }

private:
    static constexpr std::byte known{0xa5};
    std::size_t size_, room_ = 0, mapped_ = 0;
    std::byte *base_ = nullptr, *open_ = nullptr, *data_ = nullptr;
};

}  // namespace weir::serial::test
