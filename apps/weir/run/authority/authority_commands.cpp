// SPDX-License-Identifier: Apache-2.0
#include "run/authority/authority_commands.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "cli/output.hpp"
#include "run/authority/own_authority.hpp"
#include "weir/base/file.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/service/join_tokens.hpp"

namespace weir::app {
namespace {

using transport::Readable;

constexpr const char* weir_certify = "weir run certify";
constexpr const char* weir_token = "weir run token";
constexpr std::uint32_t certificate_days_max = 3650;

struct AuthorityOptions {
    std::filesystem::path directory{"weir-run"}, out{"."};
    std::string name;
    service::Role role = service::Role::reader;
    std::uint32_t days = 365;
    bool json = false;
};

int fail_to_open(const char* command, const Error& error) {
    return error.code == Errc::refused ? fail_missing(command, error.message()) : fail_with(command, error);
}

/// The lists of the partition that is in effect there. None yet: they are empty.
Result<PartitionSettings> settings_of_directory(const std::filesystem::path& directory) {
    const auto file = directory / "run-partition.toml";
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown)) return PartitionSettings{};
    const auto text = WEIR_TRY(read_text(file, 64_MiB));
    return read_shared_settings(text, file.native());
}

/// [security] must not give it more than its own role.
Result<> check_not_listed(const PartitionSettings& settings, const std::string& name) {
    const auto names = listed_names(settings);
    if (std::ranges::find(names, name) == names.end()) return {};
    return fail(Errc::usage,
                fmt::format("{} is listed in [security] as an operator or reader, which would count beside "
                            "the role in its certificate; take it from the list, or choose another name",
                            name));
}

struct WrittenFiles {
    std::filesystem::path certificate, key, authority;
    WallTime ends;
};

Result<WrittenFiles> certify(const AuthorityOptions& options, const OwnAuthority& own) {
    WEIR_TRY(service::check_host_name(options.name));
    if (options.name == "ca")
        return fail(Errc::usage, "\"ca\" is the name of the authority's own file; choose another");
    if (options.days == 0 || options.days > certificate_days_max)
        return fail(Errc::usage, fmt::format("--days is 1 to {}", certificate_days_max));
    const auto settings = WEIR_TRY(settings_of_directory(options.directory));
    WEIR_TRY(check_not_listed(settings, options.name));
    std::error_code failed;
    std::filesystem::create_directories(options.out, failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot make {}", options.out.native()));
    const WrittenFiles to{
        options.out / (options.name + ".crt"), options.out / (options.name + ".key"), options.out / "ca.crt", {}};
    for (const auto& path : {to.certificate, to.key}) {
        if (std::filesystem::exists(path, failed))
            return fail(Errc::refused,
                        fmt::format("{} is there already; remove it, or choose another --out", path.native()));
    }
    const auto authority = WEIR_TRY(own.authority().certificate().pem());
    if (std::filesystem::exists(to.authority, failed) && read_text(to.authority, 1_MiB).value_or("") != authority)
        return fail(Errc::refused,
                    fmt::format("{} is that of another authority; choose another --out", to.authority.native()));
    const auto key = WEIR_TRY(transport::PrivateKey::make());
    const auto made = WEIR_TRY(own.authority().sign(key.public_key(),
                                                    {options.name, fmt::format("weir-{}", service::name(options.role))},
                                                    system_clock().wall(), std::chrono::hours(24) * options.days));
    const auto key_text = WEIR_TRY(key.pem()), certificate = WEIR_TRY(made.pem());
    WEIR_TRY(transport::write_pem(to.key, key_text, Readable::by_owner));
    WEIR_TRY(transport::write_pem(to.certificate, certificate, Readable::by_all));
    WEIR_TRY(transport::write_pem(to.authority, authority, Readable::by_all));
    return WrittenFiles{to.certificate, to.key, to.authority, made.ends()};
}

int run_certify(const AuthorityOptions& options) {
    const auto own = OwnAuthority::open(options.directory);
    if (!own) return fail_to_open(weir_certify, own.error());
    const auto written = certify(options, *own);
    if (!written) return fail_with(weir_certify, written.error());
    if (options.json) {
        print_json(json::object{{"certificate", json_text(written->certificate.native())},
                                {"key", json_text(written->key.native())},
                                {"ca", json_text(written->authority.native())},
                                {"ends", transport::utc_text(written->ends)}});
    } else {
        print("{}, {} and {}: {} is {} {} until {}\n", written->certificate.native(), written->key.native(),
              written->authority.native(), options.name, options.role == service::Role::operation ? "an" : "a",
              service::name(options.role), transport::utc_text(written->ends));
    }
    return output_arrived_or_reported(weir_certify) ? exit_good : exit_bad;
}

Result<service::JoinToken> give_token(const AuthorityOptions& options, const OwnAuthority& own) {
    const auto settings = WEIR_TRY(settings_of_directory(options.directory));
    WEIR_TRY(check_not_listed(settings, options.name));
    auto token = WEIR_TRY(service::make_join_token(own.authority().certificate().fingerprint()));
    WEIR_TRY(service::JoinTokens(own.tokens_file(), system_clock()).add(token, options.name));
    return token;
}

int run_token(const AuthorityOptions& options) {
    const auto own = OwnAuthority::open(options.directory);
    if (!own) return fail_to_open(weir_token, own.error());
    const auto token = give_token(options, *own);
    if (!token) return fail_with(weir_token, token.error());
    if (options.json) {
        print_json(json::object{{"token", token->text()},
                                {"host", options.name},
                                {"seconds", std::chrono::seconds(service::join_token_validity).count()}});
    } else {
        print("{}\n", token->text());
    }
    return output_arrived_or_reported(weir_token) ? exit_good : exit_bad;
}

}  // namespace

void add_authority_commands(CLI::App& run, Command& chosen) {
    auto certify_options = std::make_shared<AuthorityOptions>();
    auto& certify = add_command(run, more_options, "certify", "a certificate of the partition's authority for a person",
                                "weir run certify ann --role operator --dir D --out ann");
    add_value(certify, "name", certify_options->name, "NAME", "of the person, and of the files").required();
    add_choice(certify, "--role", certify_options->role,
               {{"operator", service::Role::operation}, {"reader", service::Role::reader}}, "what it may do");
    add_value(certify, "--dir", certify_options->directory, "D", "where weir run works");
    add_value(certify, "--out", certify_options->out, "FOLDER", "for NAME.crt, NAME.key and ca.crt");
    add_value(certify, "--days", certify_options->days, "N", "until it ends");
    add_json_flag(certify, certify_options->json);
    certify.callback(
        [certify_options, &chosen] { chosen = [certify_options] { return run_certify(*certify_options); }; });

    auto token_options = std::make_shared<AuthorityOptions>();
    auto& token = add_command(run, more_options, "token", "a join token for one machine, once, for ten minutes",
                              "weir run token builder-1 --dir D > token");
    add_value(token, "host", token_options->name, "HOST", "the name that the machine will have").required();
    add_value(token, "--dir", token_options->directory, "D", "where weir run works");
    add_json_flag(token, token_options->json);
    token.callback([token_options, &chosen] { chosen = [token_options] { return run_token(*token_options); }; });
}

}  // namespace weir::app
