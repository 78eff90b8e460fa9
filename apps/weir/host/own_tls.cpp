// SPDX-License-Identifier: Apache-2.0
#include "host/own_tls.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace weir::app {

using namespace std::chrono_literals;

Result<std::optional<service::ControlTls>> own_tls(const std::optional<service::ControlAccess>& access,
                                                   const Reporter& report, const Clock& clock) {
    if (!access) return std::nullopt;
    auto context = WEIR_TRY(transport::TlsContext::for_client(access->tls));
    context.trust_own_key();
    const auto left = context.certificate_ends() - clock.wall();
    const auto when = fmt::format(
        "{:%Y-%m-%d %H:%M:%S} UTC",
        fmt::gmtime(std::chrono::system_clock::to_time_t(
            std::chrono::time_point_cast<std::chrono::system_clock::duration>(context.certificate_ends()))));
    const auto& file = access->tls.certificate.native();
    if (left <= 0s) return fail(Errc::usage, fmt::format("{} ended on {}; give a new one", file, when));
    if (clock.wall() > context.certificate_ends_soon())
        report.alarm("certificate",
                     fmt::format("{} ends on {}; give a new one and start again before that", file, when));
    return service::ControlTls{std::move(context), true};
}

std::string system_name() {
    std::array<char, 256> text{};
    if (::gethostname(text.data(), text.size() - 1) != 0) return "host";
    const std::string name(text.data());
    return name.substr(0, name.find('.'));
}

}  // namespace weir::app
