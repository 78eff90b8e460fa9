// SPDX-License-Identifier: Apache-2.0
#include "gzip.hpp"

#include <zlib.h>

#include "weir/base/assert.hpp"

namespace weir::page {

std::string gzipped(std::string_view bytes, int level) {
    constexpr int gzip_frame = 16;  // added to the window bits: gzip's header and trailer, not zlib's
    z_stream stream{};
    WEIR_ASSERT(deflateInit2(&stream, level, Z_DEFLATED, MAX_WBITS + gzip_frame, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) ==
                Z_OK);
    std::string out(deflateBound(&stream, bytes.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    WEIR_ASSERT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

}  // namespace weir::page
