// SPDX-License-Identifier: Apache-2.0
// `weir host`: the agent of a machine, until SIGTERM or SIGINT.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/serialize.hpp>
#include <csignal>
#include <memory>
#include <optional>

#include "cli/output.hpp"
#include "cli/process/child_process.hpp"
#include "host/background.hpp"
#include "host/commands.hpp"
#include "host/join.hpp"
#include "host/own_tls.hpp"
#include "stations/frame/station_process.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/host_agent.hpp"
#include "weir/transport/network.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_host = "weir host";
constexpr std::uint32_t connections_max = 1024;  // run control commands each station over one of its own

struct HostOptions {
    std::string name;  // empty: as the system calls it
    std::string listen = "127.0.0.1:7400";
    std::filesystem::path directory = "weir-host";
    transport::TlsFiles tls;
    std::chrono::milliseconds orphan_after{600'000};
    std::filesystem::path certificates;  // empty: as in tls
    std::string join;
    std::filesystem::path token_file;
    bool ends_with_run = false;
    bool background = false;
    bool json = false;
};

/// What stations of this machine show to others, in place of the files that the partition names.
std::vector<std::string> arguments_of(const transport::TlsFiles& tls) {
    if (!tls.any()) return {};
    return {"--tls-certificate", tls.certificate.native(), "--tls-key", tls.key.native(),
            "--tls-ca",          tls.authority.native()};
}

/// What is wrong with the options, in words; empty: nothing.
std::string misuse(const HostOptions& options) {
    if (!options.certificates.empty() && options.tls.any())
        return "--certificates stands for --tls-certificate, --tls-key and --tls-ca; leave them out, or it";
    if (!options.join.empty() && options.certificates.empty())
        return "--join needs --certificates D: where the certificate goes";
    if (!options.join.empty() && options.token_file.empty()) return "--join needs --token-file FILE, or - for stdin";
    return {};
}

/// "10.77.0.0/16:7400" is the address of this machine in that network.
Result<std::string> listen_address(const std::string& listen) {
    const auto colon = listen.rfind(':');
    if (colon == listen.npos || !listen.contains('/')) return listen;
    const auto network = WEIR_TRY(transport::Network::parse(listen.substr(0, colon)));
    const auto own = WEIR_TRY(transport::own_address(network));
    const auto host = transport::host_of(own);
    return (host.contains(':') ? "[" + host + "]" : host) + listen.substr(colon);
}

/// A machine that has no certificate, one of another authority than the token's, or one that has lived for half of its
/// time, gets one with the token.
Result<> join_if_due(const HostOptions& options) {
    const auto due = certificate_is_due(options.certificates, system_clock());
    const auto token = read_token(options.token_file);
    if (due && !*due && (!token || has_authority_of(*token, options.certificates))) return {};
    if (!token) return std::unexpected(token.error());
    WEIR_TRY(join_partition(options.join, *token, options.certificates, options.name, system_clock()));
    return {};
}

int run_host(HostOptions& options) {
    if (const auto wrong = misuse(options); !wrong.empty()) return fail_usage(weir_host, wrong);
    if (options.name.empty()) options.name = system_name();
    std::error_code failed;
    options.certificates =
        options.certificates.empty() ? options.certificates : std::filesystem::absolute(options.certificates, failed);
    if (!options.token_file.empty() && options.token_file != "-")
        options.token_file = std::filesystem::absolute(options.token_file, failed);
    auto tls = options.certificates.empty() ? options.tls : host_files(options.certificates);
    for (auto* file : {&tls.certificate, &tls.key, &tls.authority})
        if (!file->empty()) *file = std::filesystem::absolute(*file, failed);
    const auto directory = std::filesystem::absolute(options.directory, failed);
    std::filesystem::create_directories(directory, failed);
    if (!failed) std::filesystem::current_path(directory, failed);
    if (failed)
        return fail_with(weir_host, Error{Errc::io, failed.value(), fmt::format("cannot use {}", directory.native())});

    const auto listen = listen_address(options.listen);
    if (!listen) return fail_with(weir_host, listen.error());
    std::optional<Background> background;
    if (options.background) {
        auto begun = Background::begin();
        if (!begun) return fail_with(weir_host, begun.error());
        background = std::move(*begun);
    }
    std::signal(SIGPIPE, SIG_IGN);
    if (!options.join.empty()) {
        if (const auto joined = join_if_due(options); !joined) return fail_with(weir_host, joined.error());
    }
    StationProcess process(options.name);
    const auto access = tls.any() ? std::optional(service::ControlAccess{tls, {}, {}}) : std::nullopt;
    const auto own = own_tls(access, process.reports.reporter(), process.clock);
    if (!own) return fail_with(weir_host, own.error());
    auto calls = service::ControlCalls::start(*own);
    if (!calls) return fail_with(weir_host, calls.error());
    const auto agent = control::HostAgent::start({.name = options.name,
                                                  .directory = directory,
                                                  .program = ChildProcess::self(),
                                                  .arguments = arguments_of(tls),
                                                  .orphan_after = options.orphan_after,
                                                  .ends_with_run = options.ends_with_run},
                                                 std::move(*calls), process.reports.reporter(), process.clock);
    if (!agent) return fail_with(weir_host, agent.error());
    auto routes = (*agent)->routes();
    routes.push_back(service::metrics_route(process.metrics));
    const auto server = service::HttpServer::start(
        {.listen = *listen,
         .access = access,
         .refused = service::report_refusals(process.reports.reporter(), options.name),
         .connections_max = connections_max,
         .connections_per_peer_max = connections_max / 2,  // one reader does not keep run control out
         .body_size_max = Bytes{64U << 20}},
        std::move(routes));
    if (!server) return fail_with(weir_host, server.error());
    if (options.json) {
        print("{}\n", json::serialize(json::object{{"host", json_text(options.name)},
                                                   {"control", json_text(server->address())},
                                                   {"directory", json_text(directory.native())},
                                                   {"pid", ::getpid()}}));
    } else {
        print("{}: agent at {}, below {}\n", printable(options.name), server->address(), printable(directory.native()));
    }
    flush_output();
    if (background) {
        if (const auto left = background->leave(directory / "agent.log"); !left)
            return fail_with(weir_host, left.error());
    }
    process.manager.ready();
    while (!process.signals.wait(options.ends_with_run ? 200ms : 1s) && !(*agent)->over()) process.manager.alive();
    process.manager.stopping();
    return exit_good;
}

}  // namespace

void add_host(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<HostOptions>();
    auto& command =
        add_command(parent, group_stations, "host", "the agent of a machine, on which weir run starts stations",
                    "weir host --listen 127.0.0.1:7400 --dir /data/weir");
    add_value(command, "--listen", options->listen, "H:P", "address, or network of it, and port for run control");
    add_value(command, "--dir", options->directory, "D", "where stations find and keep their files, and their logs");
    add_value(command, "--name", options->name, "NAME", "of the machine, in reports; else as the system calls it");
    add_value(command, "--tls-certificate", options->tls.certificate, "F", "ours, PEM");
    add_value(command, "--tls-key", options->tls.key, "F", "of our certificate, PEM");
    add_value(command, "--tls-ca", options->tls.authority, "F", "whose certificates may ask, PEM");
    add_value(command, "--orphan-after", options->orphan_after, "TIME",
              "without run control for so long, stations are ended properly");
    add_value(command, "--certificates", options->certificates, "D", "instead: host.crt, host.key, ca.crt in D");
    add_value(command, "--join", options->join, "H:P", "where this machine gets them when it has none");
    add_value(command, "--token-file", options->token_file, "F", "of a join token; -: stdin");
    add_flag(command, "--ends-with-run", options->ends_with_run, "ends when its run control does; for engines");
    add_flag(command, "--background", options->background, "goes on behind the command, which ends when it listens");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_host(*options); }; });
}

}  // namespace weir::app
