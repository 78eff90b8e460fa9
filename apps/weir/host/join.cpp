// SPDX-License-Identifier: Apache-2.0
#include "host/join.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include "cli/output.hpp"
#include "weir/base/file.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/service/join_client.hpp"

namespace weir::app {
namespace {

using transport::Readable;

constexpr const char* weir_join = "weir run join";
constexpr Bytes host_file_max = 64_KiB;
constexpr std::size_t token_file_max = 4096;

struct JoinOptions {
    std::string address;
    std::filesystem::path directory{"weir-host"}, token_file;
    std::string name;
    bool renew = false;
    bool json = false;
};

/// Before a token is used up for nothing.
Result<> make_writable(const std::filesystem::path& directory) {
    std::error_code failed;
    std::filesystem::create_directories(directory, failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot make {}", directory.native()));
    if (::access(directory.c_str(), W_OK | X_OK) != 0)
        return fail_errno(errno, fmt::format("cannot write into {}", directory.native()));
    return {};
}

Result<HostPlace> host_place_of(const service::HostCertificate& made) {
    const auto certificate = WEIR_TRY(transport::Certificate::read(made.certificate));
    return HostPlace{made.host, certificate.ends()};
}

Result<transport::Certificate> read_certificate(const std::filesystem::path& path) {
    const auto text = WEIR_TRY(read_text(path, host_file_max));
    auto certificate = transport::Certificate::read(text);
    if (!certificate)
        return fail(certificate.error().code, fmt::format("{}: {}", path.native(), certificate.error().message()));
    return certificate;
}

int run_join(const JoinOptions& options) {
    const auto place = [&]() -> Result<HostPlace> {
        if (options.renew) return renew_certificate(options.address, options.directory, system_clock());
        const auto token = WEIR_TRY(read_token(options.token_file));
        return join_partition(options.address, token, options.directory, options.name, system_clock());
    };
    if (!options.renew && options.token_file.empty())
        return fail_usage(weir_join, "give the join token with --token-file FILE, or - for stdin");
    const auto joined = place();
    if (!joined) return fail_with(weir_join, joined.error());
    const auto files = host_files(options.directory);
    if (options.json) {
        print_json(json::object{{"host", joined->host},
                                {"certificate", json_text(files.certificate.native())},
                                {"key", json_text(files.key.native())},
                                {"ca", json_text(files.authority.native())},
                                {"ends", transport::utc_text(joined->ends)}});
    } else {
        print("this machine is {} in the partition; its certificate, {}, ends on {}\n", joined->host,
              files.certificate.native(), transport::utc_text(joined->ends));
    }
    return output_arrived_or_reported(weir_join) ? exit_good : exit_bad;
}

}  // namespace

transport::TlsFiles host_files(const std::filesystem::path& directory) {
    return {directory / "host.crt", directory / "host.key", directory / "ca.crt"};
}

Result<HostPlace> join_partition(const std::string& address, std::string_view token,
                                 const std::filesystem::path& directory, const std::string& host, const Clock& clock) {
    const auto parsed = WEIR_TRY(service::parse_join_token(token));
    WEIR_TRY(make_writable(directory));
    const auto key = WEIR_TRY(transport::PrivateKey::make());
    const auto made = WEIR_TRY(service::join(address, parsed, key, host, clock));
    const auto place = WEIR_TRY(host_place_of(made));
    const auto text = WEIR_TRY(key.pem());
    const auto files = host_files(directory);
    WEIR_TRY(transport::write_pem(files.key, text, Readable::by_owner));
    WEIR_TRY(transport::write_pem(files.authority, made.authority, Readable::by_all));
    WEIR_TRY(transport::write_pem(files.certificate, made.certificate, Readable::by_all));
    return place;
}

Result<bool> certificate_is_due(const std::filesystem::path& directory, const Clock& clock) {
    const auto certificate = WEIR_TRY(read_certificate(host_files(directory).certificate));
    return clock.wall() >= certificate.begins() + (certificate.ends() - certificate.begins()) / 2;
}

bool has_authority_of(std::string_view token, const std::filesystem::path& directory) {
    const auto parsed = service::parse_join_token(token);
    const auto authority = read_certificate(host_files(directory).authority);
    return !parsed || (authority && authority->fingerprint() == parsed->authority);
}

Result<HostPlace> renew_certificate(const std::string& run_control, const std::filesystem::path& directory,
                                    const Clock& clock) {
    const auto files = host_files(directory);
    const auto text = WEIR_TRY(read_text(files.key, host_file_max));
    const auto key = WEIR_TRY(transport::PrivateKey::read(text));
    auto context = WEIR_TRY(transport::TlsContext::for_client(files));
    const service::ControlClient client(run_control, host_file_max, service::ControlTls{std::move(context)});
    const auto made = WEIR_TRY(service::renew(client, key, {}, clock));
    const auto authority = WEIR_TRY(read_text(files.authority, host_file_max));
    if (made.authority != authority)
        return fail(Errc::corrupt, fmt::format("{} answered with a certificate of another authority than {}",
                                               run_control, files.authority.native()));
    WEIR_TRY(transport::write_pem(files.certificate, made.certificate, Readable::by_all));
    return host_place_of(made);
}

Result<std::string> read_token(const std::filesystem::path& file) {
    if (file != "-") return read_text(file, Bytes{token_file_max});
    std::string text;
    std::array<char, token_file_max> piece{};
    while (text.size() <= token_file_max) {
        const auto got = ::read(STDIN_FILENO, piece.data(), piece.size());
        if (got == 0) return text;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_errno(errno, "cannot read a join token from stdin");
        text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return fail(Errc::limit, "what comes from stdin is too long for a join token");
}

void add_join(CLI::App& run, Command& chosen) {
    auto options = std::make_shared<JoinOptions>();
    auto& command = add_command(run, more_options, "join", "this machine gets a certificate of the partition",
                                "weir run join 192.168.10.5:9401 --token-file token --dir H");
    add_value(command, "address", options->address, "H:P",
              "run control's port for joins (weir run --join); with --renew run control's own")
        .required();
    add_value(command, "--token-file", options->token_file, "FILE", "what weir run token printed; -: stdin");
    add_value(command, "--dir", options->directory, "H", "for host.crt, host.key and ca.crt");
    add_value(command, "--name", options->name, "HOST", "refused unless the token is for it");
    add_flag(command, "--renew", options->renew, "a fresh certificate with the one that there is");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_join(*options); }; });
}

}  // namespace weir::app
