// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/worker_message.hpp"

#include <fmt/format.h>

#include "weir/base/endian.hpp"

namespace weir::plugin {

Result<MessageHead> read_message_head(ConstData head, const MessageLimits& limits) {
    if (head.size() != message_head || load_little<std::uint32_t>(head) != message_magic)
        return fail(Errc::corrupt, "the worker process answered with something that is not an answer");
    const MessageHead read{.kind = load_little<std::uint32_t>(head, 4), .size = load_little<std::uint32_t>(head, 8)};
    if (read.kind < 1 || read.kind > limits.kind_max)
        return fail(Errc::corrupt, "the worker process answered with an unknown kind of message");
    if (read.size > limits.size_max)
        return fail(Errc::limit, fmt::format("the worker process answered with {} bytes; {} are allowed", read.size,
                                             limits.size_max));
    return read;
}

std::size_t begin_message(std::uint32_t kind, std::vector<std::byte>& to) {
    const auto at = to.size();
    to.resize(at + message_head);
    const auto head = std::span(to).subspan(at);
    store_little(head, 0, message_magic);
    store_little(head, 4, kind);
    store_little(head, 8, std::uint32_t{0});
    return to.size();
}

void end_message(std::size_t begin, std::vector<std::byte>& to) {
    store_little(std::span(to), begin - 4, static_cast<std::uint32_t>(to.size() - begin));
}

void write_message(std::uint32_t kind, ConstData body, std::vector<std::byte>& to) {
    const auto begin = begin_message(kind, to);
    to.insert(to.end(), body.begin(), body.end());
    end_message(begin, to);
}

}  // namespace weir::plugin
