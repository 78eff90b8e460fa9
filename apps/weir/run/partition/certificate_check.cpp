// SPDX-License-Identifier: Apache-2.0
#include "run/partition/certificate_check.hpp"

#include <fmt/format.h>

#include <ctime>
#include <string>

#include "weir/base/file.hpp"
#include "weir/service/configuration_sections.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::app {
namespace {

constexpr Bytes checked_file_max = 1_MiB;

/// A key of [security] with its place.
struct NamedFile {
    std::string key{}, path{};
    std::size_t line = 0;
};

class CertificateCheck {
public:
    explicit CertificateCheck(const std::filesystem::path& file) : file_(file) {}

    [[nodiscard]] std::unexpected<Error> wrong(const NamedFile& named, std::string_view what) const {
        return fail(Errc::usage,
                    fmt::format("{}:{}: {} of [security]: {}", file_.native(), named.line, named.key, what));
    }
    [[nodiscard]] Result<std::string> read(const NamedFile& named) const {
        auto text = read_text(named.path, checked_file_max);
        if (text) return text;
        return wrong(named, fmt::format("{}{}", text.error().message(),
                                        std::filesystem::path(named.path).is_absolute()
                                            ? ""
                                            : " (a relative path counts from where weir run is started)"));
    }

private:
    const std::filesystem::path& file_;
};

}  // namespace

Result<> check_certificates(std::string_view text, const std::filesystem::path& file, WallTime now) {
    NamedFile certificate, key, authority;
    const auto sections = WEIR_TRY(service::list_sections(text, file.native()));
    for (const auto& section : sections) {
        if (section.path != "security") continue;
        for (const auto& value : section.texts) {
            if (value.key == "tls_certificate") certificate = {value.key, value.text, value.line};
            if (value.key == "tls_key") key = {value.key, value.text, value.line};
            if (value.key == "tls_ca") authority = {value.key, value.text, value.line};
        }
    }
    if (certificate.path.empty() || key.path.empty() || authority.path.empty()) return {};
    const CertificateCheck check(file);
    const auto chain = WEIR_TRY(check.read(certificate));
    const auto key_text = WEIR_TRY(check.read(key));
    const auto anchors = WEIR_TRY(check.read(authority));
    const auto own = transport::Certificate::read(chain);
    if (!own) return check.wrong(certificate, fmt::format("{}: {}", certificate.path, own.error().message()));
    const auto its_key = transport::PrivateKey::read(key_text);
    if (!its_key) return check.wrong(key, fmt::format("{}: {}", key.path, its_key.error().message()));
    if (its_key->public_key().bytes() != own->public_key().bytes())
        return check.wrong(key, fmt::format("{} is not the key of {}", key.path, certificate.path));
    if (const auto other = transport::Certificate::read(anchors); !other)
        return check.wrong(authority, fmt::format("{}: {}", authority.path, other.error().message()));
    if (own->ends() <= now)
        return check.wrong(certificate, fmt::format("{} ended on {}; give a new one", certificate.path,
                                                    transport::utc_text(own->ends())));
    if (const auto good = transport::check_chain(chain, anchors, now); !good)
        return check.wrong(authority, fmt::format("{} is not the authority of {}, or that serves not for servers and "
                                                  "clients: {}",
                                                  authority.path, certificate.path, good.error().context));
    return {};
}

}  // namespace weir::app
