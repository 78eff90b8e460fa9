// SPDX-License-Identifier: Apache-2.0
#include "run/directory/run_address.hpp"

#include <fmt/format.h>

#include <utility>

#include "cli/command_line.hpp"
#include "run/directory/run_place.hpp"
#include "stations/frame/input_settings.hpp"

namespace weir::app {

void declare_run_address(CLI::App& command, RunAddressOptions& options) {
    add_value(command, "--dir", options.directory, "D", "where weir run works");
    add_value(command, "--at", options.at, "H:P", "its run control on another machine (weir run --listen)")
        .group(more_options);
    add_value(command, "--tls-certificate", options.tls.certificate, "F", "PEM; else run control's own, with --dir")
        .group(more_options);
    add_value(command, "--tls-key", options.tls.key, "F", "PEM: its key").group(more_options);
    add_value(command, "--tls-ca", options.tls.authority, "F", "PEM: the authority of run control's certificate")
        .group(more_options);
}

Result<RunAddress> find_run(const RunAddressOptions& options) {
    auto place = options.at.empty() ? RunPlace::find(options.directory) : RunPlace::Found{.address = options.at};
    if (!place) return std::unexpected(place.error());
    const bool own = !options.tls.any();
    const auto& files = own ? place->tls : options.tls;
    std::optional<service::ControlTls> tls;
    if (files.any()) {
        auto context = WEIR_TRY(transport::TlsContext::for_client(files));
        if (own) context.trust_own_key();
        tls = service::ControlTls{std::move(context), own};
    } else if (!options.at.empty() && !WEIR_TRY(on_this_machine(options.at))) {
        return fail(Errc::usage,
                    fmt::format("{} is another machine, where run control takes commands under TLS only; give "
                                "--tls-certificate, --tls-key and --tls-ca",
                                options.at));
    }
    return RunAddress{place->address, std::move(tls)};
}

}  // namespace weir::app
