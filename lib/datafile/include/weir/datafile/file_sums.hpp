// SPDX-License-Identifier: Apache-2.0
// The sums of a file, folded from the sums of its parts in file order: start, then for each event its
// separator and bytes, then the end. A few nanoseconds an event, whatever its size.
#pragma once

#include <array>
#include <cstdint>

#include "weir/base/data.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::datafile {

class FileSums {
public:
    FileSums(ConstData start, bool adler32) : has_adler32_(adler32) { add_bytes(start); }

    void add_event(const StoredCopy& copy) {
        std::array<std::byte, event::separator_size_bytes> separator;
        event::encode_separator(separator, {copy.block_number, static_cast<std::uint32_t>(copy.length)});
        add_bytes(separator);
        if (has_adler32_) adler32_ = checksum::adler32_combine(adler32_, copy.adler32, copy.length);
        crc32c_ = checksum::crc32c_combine(crc32c_, copy.crc32c, copy.length);
    }
    void add_end(ConstData end) { add_bytes(end); }

    /// 0 when the run records none.
    [[nodiscard]] std::uint32_t adler32() const noexcept { return has_adler32_ ? adler32_ : 0; }
    [[nodiscard]] std::uint32_t crc32c() const noexcept { return crc32c_; }

private:
    void add_bytes(ConstData bytes) {
        if (has_adler32_) adler32_ = checksum::adler32(bytes, adler32_);
        crc32c_ = checksum::crc32c(bytes, crc32c_);
    }

    bool has_adler32_;
    std::uint32_t adler32_ = checksum::adler32_start;
    std::uint32_t crc32c_ = 0;
};

}  // namespace weir::datafile
