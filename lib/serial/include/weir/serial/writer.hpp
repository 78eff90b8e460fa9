// SPDX-License-Identifier: Apache-2.0
// C++ objects to ROOT's bytes (docs/formats/root-buffer.md), as TBufferFile would write them:
//
//     weir::serial::Writer writer;
//     if (auto ok = writer.stream(hits); !ok) ...   // TBufferFile::StreamObject
//     send(writer.data());
//     writer.clear();                               // the memory is kept for the next one
//
// What can be streamed, and how a class is described for that: weir/serial/describe.hpp. A Writer belongs to one
// thread; writers share nothing that is written.
#pragma once

#include <cstddef>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/serial/encoder.hpp"

namespace weir::serial {

/// How vectors and maps of classes are written that are members of classes. ROOT reads both.
enum class Mode {
    object_wise,  // object after object: readable by uproot and others
    member_wise,  // all first members, then all second ones: smaller, faster, ROOT's own default
};

struct WriterOptions {
    Mode mode = Mode::object_wise;
    std::size_t bytes_max = buffer_size_max;  // of all that is in the buffer; the format allows no more
};

template <class Use>
class BasicWriter {
public:
    explicit BasicWriter(WriterOptions options = {}) noexcept
        : out_(options.mode == Mode::member_wise, options.bytes_max) {}

    /// Appends an object, as TBufferFile::StreamObject does: without its class. Objects that pointers lead to are
    /// remembered by their addresses, here as by write_any: they live until clear(), or are not written again.
    template <class T>
    [[nodiscard]] Result<> stream(const T& object) {
        return out_.finish(Encoder<Use>(out_).value(out_.start(), object));
    }

    /// Appends an object with its class, as TBufferFile::WriteObjectAny does; a null pointer, and only a reference for
    /// an object that this buffer has already (which must still live: it is known by its address). So a local variable
    /// that is written in a loop is written once, and then referred to: use write_new() for that.
    template <class T>
    [[nodiscard]] Result<> write_any(const T* object) {
        return out_.finish(Encoder<Use>(out_).pointer(out_.start(), object));
    }

    /// Appends an object with its class as a new one, also when an object was written from its address, or from
    /// the addresses of what it points at: all objects before it are erased, and may have ended. The reader is
    /// given as many objects as there were calls. (ROOT: ResetMap() before WriteObjectAny, but that classes which were
    /// named stay so.)
    template <class T>
    [[nodiscard]] Result<> write_new(const T& object) {
        out_.erase_objects();
        return write_any(&object);
    }

    /// Valid until the next call.
    [[nodiscard]] ConstData data() const noexcept { return out_.data(); }
    /// Erases all that was written, keeps the memory.
    void clear() noexcept { out_.clear(); }

private:
    Output out_;
};

using Writer = BasicWriter<VersionUse<>>;

}  // namespace weir::serial
