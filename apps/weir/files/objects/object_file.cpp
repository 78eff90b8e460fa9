// SPDX-License-Identifier: Apache-2.0
#include "files/objects/object_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdint>

#include "weir/base/endian.hpp"
#include "weir/base/file.hpp"
#include "weir/serial/wire_size.hpp"

namespace weir::app {

bool holds_objects(const std::filesystem::path& path) {
    const auto file = File::open(path, File::Mode::read);
    std::array<std::byte, 8> start{};
    if (!file || !file->read_at(0, start)) return false;
    // A raw file's first byte is 0xaa: no byte count.
    return load_big<std::uint32_t>(ConstData(start)) >> 30 == 1 &&
           load_big<std::uint32_t>(ConstData(start), 4) == serial::new_class_tag;
}

Result<ObjectFile> ObjectFile::read(const std::filesystem::path& path) {
    const auto file = WEIR_TRY(File::open(path, File::Mode::read));
    const auto size = WEIR_TRY(file.size());
    if (size > size_max.count())
        return fail(Errc::limit, fmt::format("{} has {} bytes; a file of objects may have {}", path.native(), size,
                                             to_string(size_max)));
    ObjectFile objects;
    objects.bytes.resize(static_cast<std::size_t>(size));
    WEIR_TRY(file.read_at(0, objects.bytes));
    return objects;
}

}  // namespace weir::app
