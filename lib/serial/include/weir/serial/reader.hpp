// SPDX-License-Identifier: Apache-2.0
// ROOT's bytes to C++ objects (docs/formats/root-buffer.md), whether ROOT wrote them or weir, object-wise or
// member-wise:
//
//     weir::serial::Reader reader(data);
//     std::vector<Hit> hits;
//     if (auto ok = reader.stream(hits); !ok) ...   // "ROOT buffer, offset 123: ..."
//
// Bytes may be anything: every length and count is checked before it is used, and what contradicts itself is an error,
// also where ROOT prints a message and goes on. A class without a version may have gained members at its end since it
// was written: its checksum proves that, and what is missing is left as a fresh object has it. Of a class with a
// version other versions are read when its description defines them (weir/serial/describe.hpp), and are errors else.
#pragma once

#include <cstddef>
#include <memory>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/serial/decoder.hpp"

namespace weir::serial {

struct ReaderOptions {
    Unknown unknown = Unknown::error;
    /// in_order takes for granted that classes with versions grew at their ends: a wrong assumption gives wrong
    /// values.
    OtherVersions other_versions = OtherVersions::refuse;
};

class Reader {
public:
    /// `data` lives as long as the reader is used.
    explicit Reader(ConstData data, ReaderOptions options = {}) noexcept
        : in_(data, options.unknown, options.other_versions) {}

    /// Reads an object that has no class before it, as TBufferFile::StreamObject does. Memory that it has is used
    /// again. After an error the object is valid, its contents are unspecified, and the position is where it was.
    template <class T>
    [[nodiscard]] Result<> stream(T& object) {
        return in_.finish(Decoder(in_).value(in_.start(), object));
    }

    /// Reads an object with its class, as TBufferFile::ReadObjectAny does: null for a null pointer, and the same object
    /// again for a reference. Objects may point at each other in a ring, as the bytes have it: then they own each
    /// other, and a program that is done with them resets one of the pointers. (After an error that is done here.)
    template <class T>
    [[nodiscard]] Result<std::shared_ptr<T>> read_any() {
        std::shared_ptr<T> object;
        WEIR_TRY(in_.finish(Decoder(in_).pointer(in_.start(), object)));
        return object;
    }

    /// Where the next object begins.
    [[nodiscard]] std::size_t position() const noexcept { return in_.position(); }
    [[nodiscard]] bool at_end() const noexcept { return in_.position() == in_.size(); }

    /// Objects, or whole columns of them, that were passed over because their class is not known (Unknown::skip).
    [[nodiscard]] std::size_t skipped() const noexcept { return in_.skipped; }
    /// Objects, or whole columns of them, of another version of their class.
    [[nodiscard]] std::size_t evolved() const noexcept { return in_.evolved; }

private:
    Input in_;
};

}  // namespace weir::serial
