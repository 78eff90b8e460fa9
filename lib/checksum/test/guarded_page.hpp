// SPDX-License-Identifier: Apache-2.0
// A page of noise between two that cannot be read: a kernel that goes one byte too far stops the test.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "samples.hpp"
#include "weir/base/assert.hpp"

namespace weir::checksum::test {

class GuardedPage {
public:
    GuardedPage() {
        auto* const at = ::mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        WEIR_ASSERT(at != MAP_FAILED);
        mapped_ = static_cast<std::byte*>(at);
        WEIR_ASSERT(::mprotect(mapped_ + size_, size_, PROT_READ | PROT_WRITE) == 0);
        std::ranges::copy(random_bytes(size_, 15), mapped_ + size_);
    }
    GuardedPage(const GuardedPage&) = delete;
    GuardedPage& operator=(const GuardedPage&) = delete;
    ~GuardedPage() { ::munmap(mapped_, 3 * size_); }

    [[nodiscard]] ConstData first(std::size_t size) const noexcept {
        return ConstData(mapped_ + size_, size_).first(size);
    }
    [[nodiscard]] ConstData last(std::size_t size) const noexcept {
        return ConstData(mapped_ + size_, size_).last(size);
    }

private:
    std::size_t size_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::byte* mapped_ = nullptr;
};

}  // namespace weir::checksum::test
