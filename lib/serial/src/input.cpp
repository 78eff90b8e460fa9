// SPDX-License-Identifier: Apache-2.0
#include "weir/serial/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>

#include "weir/serial/output.hpp"

namespace weir::serial {

std::string quoted(std::string_view name) {
    constexpr std::size_t most = 64;
    std::string text = "\"";
    for (const char c : name.substr(0, most)) text += c >= ' ' && c <= '~' ? c : '?';
    return text += name.size() > most ? "...\"" : "\"";
}

const std::byte* Input::fail(const std::byte* at, Errc code, std::string_view what, std::string_view why) {
    if (auto& error = seen().error; error.context.empty())
        error = {code, 0, fmt::format("ROOT buffer, offset {}: reading {}: {}", at - begin_, what, why)};
    return nullptr;
}

const std::byte* Input::too_short(const std::byte* at, std::string_view what, std::size_t needed) {
    if (frames_ == 0)
        return fail(at, Errc::truncated, what, fmt::format("the data ends after {} of {} bytes", left(at), needed));
    return fail(at, Errc::corrupt, what,
                fmt::format("{} bytes are needed, and the byte count around them leaves {}", needed, left(at)));
}

const std::byte* Input::too_many(const std::byte* at, std::string_view what, std::size_t count) {
    return fail(
        at, frames_ == 0 ? Errc::truncated : Errc::corrupt, what,
        fmt::format("{} elements are announced, more than fit into the {} bytes that follow", count, left(at) - 4));
}

const std::byte* Input::bad_frame(const std::byte* at, std::string_view what) {
    const auto word = load<std::uint32_t>(at);
    if (word >> 30 != 1)
        return fail(at, Errc::unsupported, what, fmt::format("here is no byte count but {:#010x}", word));
    const auto size = word & 0x3fffffff;
    if (has(at + 4, size))
        return fail(at, Errc::limit, what,
                    fmt::format("objects lie deeper in each other than {} byte counts", frames_max));
    if (frames_ == 0)
        return fail(at, Errc::truncated, what,
                    fmt::format("its byte count is {}, the data ends after {}", size, left(at) - 4));
    return fail(at, Errc::corrupt, what,
                fmt::format("its byte count is {}, and the one around it leaves {}", size, left(at) - 4));
}

/// Offsets and references cannot number so many bytes, so nothing of the buffer is read.
const std::byte* Input::too_large() {
    fail(begin_, Errc::limit, "it",
         fmt::format("it has {} bytes, a buffer has at most {}: read it in parts", size(), buffer_size_max));
    end_ = nullptr;
    return nullptr;
}

const std::byte* Input::left_over(const std::byte* at, std::string_view what) {
    return fail(at, Errc::corrupt, what, fmt::format("its byte count is {} larger than what it holds", left(at)));
}

const std::byte* Input::unknown_checksum(const std::byte* at, std::string_view what, std::uint32_t version,
                                         std::uint32_t checksum, std::uint32_t ours) {
    const auto theirs = version == 0 ? fmt::format("checksum {:#010x}", checksum) : fmt::format("version {}", version);
    return fail(at, Errc::unsupported, what,
                fmt::format("{} is of no known shape of the class, the class here has {:#010x}; "
                            "Unknown::skip passes over it",
                            theirs, ours));
}

const std::byte* Input::unknown_version(const std::byte* at, std::string_view what, std::uint32_t version,
                                        std::uint32_t ours) {
    const auto theirs = version == 0 ? std::string("a checksum") : fmt::format("version {}", version);
    return fail(at, Errc::unsupported, what,
                fmt::format("{}, and the class here is version {}: its description does not name the other one; state "
                            "it there with since() or older(), or pass over it with Unknown::skip",
                            theirs, ours));
}

Input::Seen& Input::make_seen() {
    seen_ = std::make_unique<Seen>();
    return *seen_;
}

void Input::add_object(Object object) { seen().objects.push_back(std::move(object)); }

void Input::set_height(std::uint32_t offset, std::uint32_t of_it) noexcept {
    const auto at = std::ranges::lower_bound(seen_->objects, offset, {}, &Object::offset);
    at->height = of_it;
}

const Input::Object* Input::find_object(std::uint32_t reference) const noexcept {
    if (!seen_) return nullptr;
    const auto at = std::ranges::lower_bound(seen_->objects, reference, {}, &Object::offset);
    return at != seen_->objects.end() && at->offset == reference ? &*at : nullptr;
}

const std::byte* Input::read_class(const std::byte* at, std::string_view& name) {
    if (!has(at, 4)) return too_short(at, "the class of an object", 4);
    const auto tag = load<std::uint32_t>(at);
    auto& classes = seen().classes;
    if (tag != new_class_tag) {
        if ((tag & class_flag) == 0)
            return fail(at, Errc::corrupt, "the class of an object", "neither a class nor a reference to one");
        const auto found = std::ranges::lower_bound(classes, tag & ~class_flag, {}, &Class::offset);
        if (found != classes.end() && found->offset == (tag & ~class_flag)) {
            name = found->name;
        } else if (!skips_unknown()) {
            return fail(at, Errc::corrupt, "the class of an object", "a reference to a place where no class is named");
        }
        return at + 4;
    }
    const auto* zero = std::find(at + 4, end_, std::byte{0});
    if (zero == end_) return too_short(at + 4, "the name of a class", left(at + 4) + 1);
    name = {reinterpret_cast<const char*>(at + 4), static_cast<std::size_t>(zero - (at + 4))};
    classes.push_back({offset(at) + reference_offset, name});
    return zero + 1;
}

/// The objects that this call has read are erased; objects that point at each other in a ring would never be freed
/// otherwise.
void Input::roll_back() {
    const auto late = [this](const auto& each) { return each.offset >= position_ + reference_offset; };
    auto& [objects, classes, error] = *seen_;
    const auto first = std::ranges::partition_point(objects, std::not_fn(late));
    for (auto& object : std::ranges::subrange(first, objects.end()))
        if (object.owner) object.empty(object.owner.get());
    objects.erase(first, objects.end());
    classes.erase(std::ranges::partition_point(classes, std::not_fn(late)), classes.end());
    error = {};
}

Result<> Input::failed() {
    auto error = std::exchange(seen().error, {});
    roll_back();
    return std::unexpected(std::move(error));
}

}  // namespace weir::serial
