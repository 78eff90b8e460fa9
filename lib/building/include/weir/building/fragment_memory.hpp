// SPDX-License-Identifier: Apache-2.0
// Where the fragments of one event that is being built lie: one behind the other in a few buffers of the pool, so that
// a thousand small ones cost no thousand allocations. All of it goes back to the pool at once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/memory/buffer_pool.hpp"

namespace weir::building {

class FragmentMemory {
public:
    /// `chunk`: the size that is taken from the pool at once.
    void begin(memory::BufferPool& pool, std::size_t chunk) {
        pool_ = &pool;
        chunk_ = chunk;
    }

    /// Room for `size` bytes; nothing when the pool is full.
    [[nodiscard]] std::optional<MutableData> room(std::size_t size) {
        if (buffers_.empty() || last_is_kept_ || buffers_.back().size() - used_ < size) {
            auto buffer = pool_->try_take(std::max(size, chunk_));
            if (!buffer) return std::nullopt;
            buffers_.push_back(std::move(*buffer));
            used_ = 0;
            last_is_kept_ = false;
        }
        const auto at = buffers_.back().data().subspan(used_, size);
        used_ += size;
        return at;
    }
    [[nodiscard]] std::optional<ConstData> copy(ConstData bytes) {
        const auto to = room(bytes.size());
        if (!to) return std::nullopt;
        if (!bytes.empty()) std::memcpy(to->data(), bytes.data(), bytes.size());
        return *to;
    }
    /// Bytes that lie in a buffer of their own already stay where they are.
    void keep(memory::Buffer buffer) {
        buffers_.push_back(std::move(buffer));
        last_is_kept_ = true;
    }

private:
    memory::BufferPool* pool_ = nullptr;
    std::size_t chunk_ = 0;
    std::vector<memory::Buffer> buffers_;
    std::size_t used_ = 0;  // of the last one
    bool last_is_kept_ = false;
};

}  // namespace weir::building
