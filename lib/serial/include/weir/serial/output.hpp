// SPDX-License-Identifier: Apache-2.0
// The target of encoded bytes: one flat buffer that grows and is kept. A writer asks for room once for as much as it
// knows, then stores without further checks. Too much, and every later request fails: the place is a null pointer then,
// which is passed on and checked by the code that stores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/result.hpp"
#include "weir/serial/wire_size.hpp"

namespace weir::serial {

template <std::unsigned_integral U>
inline std::byte* store(std::byte* at, U value) noexcept {
    store_big(MutableData(at, sizeof(U)), 0, value);
    return at + sizeof(U);
}

/// Offsets of objects and classes already written, by their addresses: the targets of references.
class WrittenObjects {
public:
    /// The offset of an object (of a class: `object` is null), or 0.
    [[nodiscard]] std::uint32_t find(const void* object, std::string_view class_name) const noexcept;
    void add(const void* object, std::string_view class_name, std::uint32_t offset);
    void clear() noexcept {
        objects_from_ = 0;
        if (count_ > 0) empty();
    }
    /// Erases those at `offset` and behind.
    void erase_from(std::uint32_t offset);
    /// Ignores all objects before `offset`, but no class: other objects may lie at their addresses now.
    void erase_objects_before(std::uint32_t offset) noexcept { objects_from_ = offset; }

private:
    struct Entry {
        const void* object = nullptr;
        const char* class_name = nullptr;  // names have one address each
        std::uint32_t offset = 0;          // 0: nothing is here
    };
    [[nodiscard]] std::size_t slot(const void* object, const char* class_name) const noexcept;
    void rehash(std::size_t size);
    void empty() noexcept;

    std::vector<Entry> entries_;
    std::size_t count_ = 0;
    std::uint32_t objects_from_ = 0;  // entries of objects before it are not found
};

class Output {
public:
    Output(bool member_wise, std::size_t bytes_max) noexcept
        : member_wise_(member_wise), bytes_max_(std::min(bytes_max, buffer_size_max)) {}

    [[nodiscard]] bool member_wise() const noexcept { return member_wise_; }
    [[nodiscard]] std::byte* begin() const noexcept { return memory_.get(); }
    [[nodiscard]] std::size_t offset(const std::byte* at) const noexcept {
        return at == nullptr ? 0 : static_cast<std::size_t>(at - memory_.get());
    }

    /// Where `size` bytes can be stored that follow `at`: there, or in a larger buffer with everything before it; null
    /// when that is over the limit.
    [[nodiscard]] std::byte* room(std::byte* at, std::size_t size) {
        return size <= static_cast<std::size_t>(end_ - at) ? at : grow(at, size);
    }
    /// For `count` things of so many bytes, and `before` them.
    template <std::size_t size_each>
    [[nodiscard]] std::byte* room_for(std::byte* at, std::size_t count, std::size_t before = 0) {
        return count <= buffer_size_max / size_each ? room(at, before + count * size_each) : fail_limit();
    }

    /// Room for a byte count, which is stored when the bytes that it counts are there.
    void close_frame(std::size_t start, const std::byte* at) noexcept {
        if (at == nullptr) return;
        const auto count = static_cast<std::uint32_t>(offset(at) - start - 4);
        store(begin() + start, count | byte_count_flag);
    }

    /// Enters an object, or a class, for later references.
    void remember(const void* object, std::string_view class_name, const std::byte* at);

    WrittenObjects written;
    std::size_t depth = 0;    // objects that pointers lead through
    std::size_t nesting = 0;  // collections in elements of collections

    /// Begins and ends a part that is removed when it fails.
    [[nodiscard]] std::byte* start() {
        if (capacity_ == 0) [[unlikely]]
            reserve(std::min<std::size_t>(256, bytes_max_));
        return memory_.get() + size_;
    }
    [[nodiscard]] Result<> finish(const std::byte* at) {
        if (at == nullptr) [[unlikely]]
            return failed();
        size_ = offset(at);
        return {};
    }

    [[nodiscard]] ConstData data() const noexcept { return {memory_.get(), size_}; }
    void clear() noexcept {
        size_ = 0;
        written.clear();
    }
    std::byte* fail_depth() noexcept;
    /// Objects that are written from now on are other ones than those before, also at the same addresses.
    void erase_objects() noexcept {
        written.erase_objects_before(static_cast<std::uint32_t>(size_) + reference_offset);
    }

private:
    void reserve(std::size_t size);
    std::byte* grow(std::byte* at, std::size_t size);
    std::byte* fail_limit() noexcept;
    Result<> failed();
    void roll_back();

    bool member_wise_ = false;
    bool too_deep_ = false;
    std::size_t bytes_max_ = 0;
    std::unique_ptr<std::byte[]> memory_;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    std::byte* end_ = nullptr;
};

}  // namespace weir::serial
