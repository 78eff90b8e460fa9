// SPDX-License-Identifier: Apache-2.0
// Memory for libraries that write to streams: it grows once, and is written and read from its begin again and again,
// so that what is measured is the library and not a string stream that allocates.
#pragma once

#include <ios>
#include <streambuf>
#include <vector>

namespace weir::jobs {

class StreamMemory final : public std::streambuf {
public:
    StreamMemory() : bytes_(4096) { rewind(); }

    /// To the begin, for writing.
    void rewind() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }
    /// To the begin, for reading what was written.
    void reread() { setg(bytes_.data(), bytes_.data(), pptr()); }

    [[nodiscard]] const char* data() const { return pbase(); }
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(pptr() - pbase()); }

protected:
    int_type overflow(int_type byte) override {
        const auto used = pptr() - pbase();
        bytes_.resize(bytes_.size() * 2);
        rewind();
        pbump(static_cast<int>(used));
        *pptr() = traits_type::to_char_type(byte);
        pbump(1);
        return byte;
    }

private:
    std::vector<char> bytes_;
};

}  // namespace weir::jobs
