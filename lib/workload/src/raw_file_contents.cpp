// SPDX-License-Identifier: Apache-2.0
#include "raw_file_contents.hpp"

#include <fmt/format.h>

namespace weir::workload {

ConstData RawFileContents::event(std::size_t number) const {
    const auto& block = index.blocks[number];
    return ConstData(*bytes).subspan(static_cast<std::size_t>(block.offset), block.separator.size);
}

Result<RawFileContents> read_raw_file(const std::filesystem::path& path, Bytes size_max, std::string_view too_large,
                                      FileSystem& system) {
    auto file = WEIR_TRY(File::open(path, File::Mode::read, system));
    const auto size = WEIR_TRY(file.size());
    if (size > size_max.count()) return fail(Errc::limit, fmt::format("{}: {}", path.native(), too_large));
    auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size));
    WEIR_TRY(file.read_at(0, *bytes));
    auto index = event::RawFileIndex::make(*bytes);
    if (!index) return in_file(path, std::move(index.error()));
    return RawFileContents{.bytes = std::move(bytes), .index = std::move(*index)};
}

std::unexpected<Error> in_file(const std::filesystem::path& path, Error error) {
    error.context = fmt::format("{}: {}", path.native(), error.context);
    return std::unexpected(std::move(error));
}

Error in_event(std::size_t number, Error error) {
    error.context = fmt::format("event {}: {}", number, error.context);
    return error;
}

}  // namespace weir::workload
