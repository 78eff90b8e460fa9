// SPDX-License-Identifier: Apache-2.0
#include "run/directory/view_port.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "weir/base/data.hpp"
#include "weir/base/file.hpp"
#include "weir/base/hex.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::app {
namespace {

constexpr std::size_t token_bytes = 16;
constexpr std::uint32_t viewers_max = 128;        // connections
constexpr std::uint32_t viewers_of_one_max = 24;  // machine

/// What the directory has since its first run control, so that an address that was sent around stays good.
Result<std::string> token_of(const std::filesystem::path& directory) {
    const auto path = directory / "view-token";
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) {
        auto token = WEIR_TRY(read_text(path, Bytes{4096}));
        while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
        if (token.empty())
            return fail(Errc::refused, fmt::format("{} is empty; delete it, and a new token is made", path.native()));
        if ((std::filesystem::status(path, unknown).permissions() & std::filesystem::perms::others_read) !=
            std::filesystem::perms::none)
            return fail(Errc::refused, fmt::format("{} can be read by all; chmod 600 it, or delete it", path.native()));
        return token;
    }
    const auto secret = WEIR_TRY(transport::random_secret(token_bytes));
    auto token = hex_of(as_data(secret));
    WEIR_TRY(transport::write_pem(path, token + "\n", transport::Readable::by_owner));
    return token;
}

/// Of this machine, for others.
std::string own_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? name.data() : "localhost";
}

}  // namespace

Result<ViewPort> ViewPort::start(const std::string& listen, const std::filesystem::path& directory,
                                 const std::vector<service::HttpRoute>& routes,
                                 const std::optional<service::ControlAccess>& access,
                                 const std::function<void(const service::HttpRefusal&)>& refused) {
    std::vector<service::HttpRoute> looks;
    std::ranges::copy_if(routes, std::back_inserter(looks),
                         [](const auto& route) { return route.method == service::HttpRoute::Method::get; });
    const auto token = WEIR_TRY(token_of(directory));
    auto server = WEIR_TRY(service::HttpServer::start({.listen = listen,
                                                       .access = access,
                                                       .plain = true,
                                                       .anyone = access.has_value(),
                                                       .token = token,
                                                       .refused = refused,
                                                       .connections_max = viewers_max,
                                                       .connections_per_peer_max = viewers_of_one_max},
                                                      std::move(looks)));
    const bool everywhere = listen.starts_with("0.0.0.0:") || listen.starts_with("[::]:");
    auto address = fmt::format("{}://{}/", access ? "https" : "http",
                               everywhere ? fmt::format("{}:{}", own_name(), server.port()) : server.address());
    // A log is read by more people than the file.
    address += ::isatty(STDERR_FILENO) != 0
                   ? "?token=" + token
                   : fmt::format("?token=... (as {} has it)", (directory / "view-token").native());
    return ViewPort(std::move(server), std::move(address));
}

}  // namespace weir::app
