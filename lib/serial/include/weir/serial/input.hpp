// SPDX-License-Identifier: Apache-2.0
// The bytes that are read, and what a decoder has to know beside them: where the innermost byte count ends, the classes
// and objects that references may name, and the error that stopped it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/result.hpp"
#include "weir/serial/wire_size.hpp"

namespace weir::serial {

/// The treatment of an object whose class, or whose class's shape, is not known.
enum class Unknown {
    error,
    skip,  // pass over it by its byte count, leave a fresh object (or null pointer) in its place, and count it
};

template <std::unsigned_integral U>
[[nodiscard]] inline U load(const std::byte* at) noexcept {
    return load_big<U>(ConstData(at, sizeof(U)));
}

/// The treatment of a version that the class's description does not name.
enum class OtherVersions {
    refuse,    // it is not known: see Unknown
    in_order,  // read as many of our members as there are bytes for: right only when the class grew at its end
};

/// A name from outside as a message may have it: in quotes, at most 64 characters, and nothing that moves a terminal.
[[nodiscard]] std::string quoted(std::string_view name);

class Input {
public:
    Input(ConstData data, Unknown unknown, OtherVersions others) noexcept
        : begin_(data.data()), data_end_(begin_ + data.size()), end_(data_end_), unknown_(unknown), others_(others) {}

    [[nodiscard]] bool has(const std::byte* at, std::size_t size) const noexcept { return size <= left(at); }
    /// Bytes up to the end of the innermost byte count.
    [[nodiscard]] std::size_t left(const std::byte* at) const noexcept { return static_cast<std::size_t>(end_ - at); }
    [[nodiscard]] const std::byte* end() const noexcept { return end_; }
    [[nodiscard]] std::uint32_t offset(const std::byte* at) const noexcept {
        return static_cast<std::uint32_t>(at - begin_);
    }

    /// Reads a byte count; what it counts is all there is until it is closed. Null when there is none.
    [[nodiscard]] const std::byte* open_frame(const std::byte* at, std::string_view what, const std::byte*& outer) {
        if (!has(at, 4)) return too_short(at, what, 4);
        const auto word = load<std::uint32_t>(at);
        const auto size = word & 0x3fffffff;
        if (word >> 30 != 1 || !has(at + 4, size) || frames_ == frames_max) return bad_frame(at, what);
        outer = end_;
        end_ = at + 4 + size;
        ++frames_;
        return at + 4;
    }
    [[nodiscard]] const std::byte* close_frame(const std::byte* at, std::string_view what, const std::byte* outer) {
        if (at == nullptr) return nullptr;
        if (at != end_) return left_over(at, what);
        end_ = outer;
        --frames_;
        return at;
    }

    [[nodiscard]] bool skips_unknown() const noexcept { return unknown_ == Unknown::skip; }
    [[nodiscard]] OtherVersions other_versions() const noexcept { return others_; }

    // Errors: the first one is kept, and all that follow fail as well. They return null.
    const std::byte* fail(const std::byte* at, Errc code, std::string_view what, std::string_view why);
    const std::byte* too_short(const std::byte* at, std::string_view what, std::size_t needed);
    const std::byte* too_many(const std::byte* at, std::string_view what, std::size_t count);
    const std::byte* bad_frame(const std::byte* at, std::string_view what);
    const std::byte* left_over(const std::byte* at, std::string_view what);
    const std::byte* unknown_checksum(const std::byte* at, std::string_view what, std::uint32_t version,
                                      std::uint32_t checksum, std::uint32_t ours);
    const std::byte* unknown_version(const std::byte* at, std::string_view what, std::uint32_t version,
                                     std::uint32_t ours);

    /// An object that references may name.
    struct Object {
        std::uint32_t offset = 0;
        const char* class_name = nullptr;  // null: it was passed over
        std::shared_ptr<void> owner{};     // null: a unique_ptr owns it
        void (*empty)(void*) = nullptr;    // makes it release the object it points at
        std::uint32_t height = 0;          // objects on the longest way that pointers lead from it
    };
    void add_object(Object object);
    void set_height(std::uint32_t offset, std::uint32_t of_it) noexcept;
    [[nodiscard]] const Object* find_object(std::uint32_t reference) const noexcept;

    /// The class of an object, by its name or by a reference to one; the place behind it. `name` is empty for a
    /// reference to a class that was passed over.
    [[nodiscard]] const std::byte* read_class(const std::byte* at, std::string_view& name);

    std::size_t depth = 0;     // objects that pointers have led through
    std::uint32_t height = 0;  // of what the innermost of them has pointed at so far
    std::size_t skipped = 0;
    std::size_t evolved = 0;

    [[nodiscard]] const std::byte* start() {
        if (seen_) roll_back();  // left by an exception
        end_ = data_end_;
        frames_ = 0;
        depth = 0;
        height = 0;
        if (size() > buffer_size_max) [[unlikely]]
            return too_large();
        return begin_ + position_;
    }
    [[nodiscard]] Result<> finish(const std::byte* at) {
        if (at == nullptr) return failed();
        position_ = static_cast<std::size_t>(at - begin_);
        return {};
    }
    [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(data_end_ - begin_); }
    [[nodiscard]] std::size_t position() const noexcept { return position_; }

private:
    Result<> failed();
    void roll_back();
    const std::byte* too_large();

    const std::byte* begin_;
    const std::byte* data_end_;
    const std::byte* end_;
    std::size_t position_ = 0;
    std::size_t frames_ = 0;  // byte counts that are open
    Unknown unknown_;
    OtherVersions others_;

    struct Class {
        std::uint32_t offset = 0;
        std::string_view name{};
    };
    struct Seen {  // not needed by most readers; objects and classes stand in the order of their offsets
        std::vector<Object> objects{};
        std::vector<Class> classes{};
        Error error{};
    };
    std::unique_ptr<Seen> seen_;
    [[nodiscard]] Seen& seen() { return seen_ ? *seen_ : make_seen(); }
    [[nodiscard]] Seen& make_seen();
};

}  // namespace weir::serial
