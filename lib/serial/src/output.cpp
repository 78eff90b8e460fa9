// SPDX-License-Identifier: Apache-2.0
#include "weir/serial/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::serial {

std::size_t WrittenObjects::slot(const void* object, const char* class_name) const noexcept {
    const auto mix = reinterpret_cast<std::uintptr_t>(object) + reinterpret_cast<std::uintptr_t>(class_name) * 31;
    auto at = (mix * 0x9e3779b97f4a7c15u >> 32) & (entries_.size() - 1);
    while (entries_[at].offset != 0 && (entries_[at].object != object || entries_[at].class_name != class_name))
        at = (at + 1) & (entries_.size() - 1);
    return at;
}

std::uint32_t WrittenObjects::find(const void* object, std::string_view class_name) const noexcept {
    if (count_ == 0) return 0;
    const auto offset = entries_[slot(object, class_name.data())].offset;
    return object != nullptr && offset < objects_from_ ? 0 : offset;
}

void WrittenObjects::add(const void* object, std::string_view class_name, std::uint32_t offset) {
    if (2 * (count_ + 1) > entries_.size()) rehash(std::max<std::size_t>(16, 2 * entries_.size()));
    auto& entry = entries_[slot(object, class_name.data())];
    if (entry.offset == 0) ++count_;  // else it was an object that is erased
    entry = {object, class_name.data(), offset};
}

void WrittenObjects::empty() noexcept {
    std::ranges::fill(entries_, Entry{});
    count_ = 0;
}

void WrittenObjects::rehash(std::size_t size) {
    const auto old = std::exchange(entries_, std::vector<Entry>(size));
    for (const auto& entry : old)
        if (entry.offset != 0) entries_[slot(entry.object, entry.class_name)] = entry;
}

void WrittenObjects::erase_from(std::uint32_t offset) {
    if (count_ == 0) return;
    for (auto& entry : entries_)
        if (entry.offset >= offset && entry.offset != 0) {
            entry = {};
            --count_;
        }
    rehash(entries_.size());
}

void Output::reserve(std::size_t size) {
    auto larger = std::make_unique_for_overwrite<std::byte[]>(size);
    if (capacity_ > 0) std::memcpy(larger.get(), memory_.get(), capacity_);
    memory_ = std::move(larger);
    capacity_ = size;
    end_ = memory_.get() + capacity_;
}

std::byte* Output::grow(std::byte* at, std::size_t size) {
    if (at == nullptr) return nullptr;
    const auto used = offset(at);
    if (used > bytes_max_ || size > bytes_max_ - used) return fail_limit();
    try {
        reserve(std::max(used + size, std::min(bytes_max_, 2 * capacity_)));
    } catch (...) {
        roll_back();
        throw;
    }
    return memory_.get() + used;
}

void Output::remember(const void* object, std::string_view class_name, const std::byte* at) {
    try {
        written.add(object, class_name, static_cast<std::uint32_t>(offset(at)) + reference_offset);
    } catch (...) {
        roll_back();
        throw;
    }
}

std::byte* Output::fail_limit() noexcept {
    end_ = nullptr;
    return nullptr;
}

std::byte* Output::fail_depth() noexcept {
    too_deep_ = true;
    return fail_limit();
}

/// The bytes that were written since the last call that succeeded.
void Output::roll_back() {
    written.erase_from(static_cast<std::uint32_t>(size_) + reference_offset);
    depth = nesting = 0;
    end_ = memory_.get() + capacity_;
}

Result<> Output::failed() {
    roll_back();
    if (std::exchange(too_deep_, false))
        return fail(Errc::limit,
                    fmt::format("ROOT buffer, offset {}: pointers or collections lead deeper than {} objects; "
                                "nothing was written: keep the objects in one vector instead",
                                size_, pointer_depth_max));
    return fail(Errc::limit, fmt::format("ROOT buffer, offset {}: the object does not fit below the limit of {} bytes; "
                                         "nothing of it was written: split it, or clear the buffer before",
                                         size_, bytes_max_));
}

}  // namespace weir::serial
