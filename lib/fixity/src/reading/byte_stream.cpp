// SPDX-License-Identifier: Apache-2.0
#include "reading/byte_stream.hpp"

#include <algorithm>
#include <cstring>

namespace weir::fixity {

/// Keeps the unread bytes, at the front. False: nothing was added.
bool ByteStream::fill() {
    if (over_) return false;
    if (at_ > 0) std::memmove(buffer_.data(), buffer_.data() + at_, end_ - at_);
    end_ -= at_;
    at_ = 0;
    if (end_ == buffer_.size()) return false;
    const auto got = source_(MutableData(buffer_).subspan(end_));
    if (!got) error_ = got.error();
    const auto size = got.value_or(0);
    over_ = size == 0;
    end_ += size;
    return size > 0;
}

std::string_view ByteStream::front(std::size_t size) {
    while (end_ - at_ < size && fill()) {
    }
    return as_text(ConstData(buffer_).subspan(at_, std::min(size, end_ - at_)));
}

std::string_view ByteStream::piece() {
    if (at_ == end_) fill();
    return as_text(ConstData(buffer_).subspan(at_, end_ - at_));
}

ByteStream::Line ByteStream::get_line(std::string& to, char end, std::size_t limit) {
    to.clear();
    bool any = false, too_long = false;
    while (at_ < end_ || fill()) {
        any = true;
        const auto rest = as_text(ConstData(buffer_).subspan(at_, end_ - at_));
        const auto size = std::min(rest.find(end), rest.size());
        if (to.size() + size > limit) too_long = true;
        else to += rest.substr(0, size);
        at_ += size;
        if (at_ < end_) {
            ++at_;
            break;
        }
    }
    if (error_ || !any) return Line::none;
    return too_long ? Line::too_long : Line::whole;
}

}  // namespace weir::fixity
