// SPDX-License-Identifier: Apache-2.0
#include "web/name_lookup.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "weir/base/clock.hpp"

namespace weir::service {
namespace {

constexpr std::chrono::milliseconds look_up_look{50};

/// What getaddrinfo_a() writes to, on a thread of the C library.
struct Lookup {
    std::string host, port;
    addrinfo hints{};
    gaicb question{};

    Lookup(std::string host_name, std::uint16_t to) : host(std::move(host_name)), port(std::to_string(to)) {
        hints.ai_socktype = SOCK_STREAM;
        hints.ai_flags = AI_NUMERICSERV;
        question.ar_name = host.c_str();
        question.ar_service = port.c_str();
        question.ar_request = &hints;
    }
    ~Lookup() {
        if (question.ar_result != nullptr) ::freeaddrinfo(question.ar_result);
    }
    Lookup(const Lookup&) = delete;
    Lookup& operator=(const Lookup&) = delete;
};

/// A host that is written as an address, which no name service is asked for; nothing: it is a name.
std::optional<transport::Address> numeric(const std::string& host, std::uint16_t port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return std::nullopt;
    const transport::Address address(found->ai_addr, found->ai_addrlen);
    ::freeaddrinfo(found);
    return address;
}

}  // namespace

Result<std::vector<transport::Address>> look_up(const std::string& host, std::uint16_t port,
                                                std::chrono::milliseconds deadline,
                                                const std::function<bool()>& given_up) {
    if (const auto address = numeric(host, port)) return std::vector{*address};
    auto lookup = std::make_unique<Lookup>(host, port);
    std::array<gaicb*, 1> list{&lookup->question};
    if (const int failure = ::getaddrinfo_a(GAI_NOWAIT, list.data(), 1, nullptr); failure != 0)
        return fail(Errc::io, fmt::format("cannot look for the host {}: {}", host, ::gai_strerror(failure)));
    int state = EAI_INPROGRESS;
    bool stopped = false;
    for (auto left = deadline; left.count() > 0 && !stopped; left -= look_up_look) {
        const auto wait = std::min(left, look_up_look);
        const timespec time{0, std::chrono::nanoseconds(wait).count()};
        static_cast<void>(::gai_suspend(list.data(), 1, &time));
        state = ::gai_error(&lookup->question);
        if (state != EAI_INPROGRESS) break;
        stopped = given_up();
    }
    if (state == EAI_INPROGRESS) {
        // One that has begun cannot be cancelled, and will still be written to: it is left to the C library.
        if (::gai_cancel(&lookup->question) == EAI_NOTCANCELED) static_cast<void>(lookup.release());
        return stopped ? fail(Errc::refused, "given up")
                       : fail(Errc::limit, fmt::format("the name service did not answer within {} where {} is",
                                                       to_string(deadline), host));
    }
    if (state != 0)
        return fail(Errc::io, fmt::format("cannot find the host {}: {}; check its name", host, ::gai_strerror(state)));
    std::vector<transport::Address> addresses;
    for (const auto* entry = lookup->question.ar_result; entry != nullptr; entry = entry->ai_next)
        addresses.emplace_back(entry->ai_addr, entry->ai_addrlen);
    if (addresses.empty()) return fail(Errc::io, fmt::format("the host {} has no address", host));
    return addresses;
}

}  // namespace weir::service
