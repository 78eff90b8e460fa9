// SPDX-License-Identifier: Apache-2.0
#include "weir/service/join_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "join/pem_field.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

constexpr Bytes join_answer_max = 64_KiB;
constexpr const char* unnamed_host = "a host";  // in a request: the token says which

Result<HostCertificate> answered(const std::string& address, const ControlAnswer& answer,
                                 const transport::PublicKey& key, const Clock& clock) {
    if (!answer.good()) return fail(Errc::refused, fmt::format("run control at {}: {}", address, answer.error()));
    return parse_host_certificate(answer.body, key, clock.wall());
}

}  // namespace

Result<HostCertificate> parse_host_certificate(std::string_view text, const transport::PublicKey& key, WallTime now) {
    const auto document = WEIR_TRY(json::parse(text, {.size = join_answer_max, .depth = 4}));
    json::Fields fields(document, "the answer");
    HostCertificate made;
    made.host = fields.text("host");
    made.certificate = pem_field(fields, document, "certificate");
    made.authority = pem_field(fields, document, "ca");
    WEIR_TRY(fields.result());
    WEIR_TRY(check_host_name(made.host));
    const auto certificate = WEIR_TRY(transport::Certificate::read(made.certificate));
    if (certificate.public_key().bytes() != key.bytes())
        return fail(Errc::corrupt, "the answer is a certificate of another key than was asked for");
    if (const auto good = transport::check_chain(made.certificate, made.authority, now); !good)
        return fail(Errc::corrupt,
                    fmt::format("the answer is a certificate that is not good: {}; does the clock of this "
                                "machine go right?",
                                good.error().context));
    return made;
}

Result<HostCertificate> join(const std::string& address, const JoinToken& token, const transport::PrivateKey& key,
                             const std::string& host, const Clock& clock, std::chrono::milliseconds deadline) {
    const auto request = WEIR_TRY(key.request(host.empty() ? unnamed_host : host));
    const auto believe = [&](const ssl_st* ssl) -> Result<> {
        const auto checked = transport::check_authority(ssl, token.authority, clock.wall());
        if (!checked)
            return fail(Errc::refused, fmt::format("{}; nothing was sent to it. Is the address that of the partition "
                                                   "which made the token?",
                                                   checked.error().context));
        // Each machine of the partition has a certificate of this authority; run control has that of an operator.
        const auto units = transport::peer_of(ssl).units;
        if (std::ranges::find(units, fmt::format("weir-{}", name(Role::operation))) == units.end())
            return fail(Errc::refused, "its certificate is not that of run control; nothing was sent to it");
        return {};
    };
    auto context = WEIR_TRY(transport::TlsContext::for_stranger());
    const ControlClient client(address, join_answer_max, ControlTls{std::move(context), false, believe});
    const auto answer = WEIR_TRY(client.post("/join", to_json({token, request, host}), deadline));
    auto made = WEIR_TRY(answered(address, answer, key.public_key(), clock));
    const auto authority = WEIR_TRY(transport::Certificate::read(made.authority));
    if (authority.fingerprint() != token.authority)
        return fail(Errc::corrupt, fmt::format("{} answered with another authority than the token's", address));
    return made;
}

Result<HostCertificate> renew(const ControlClient& client, const transport::PrivateKey& key, const std::string& host,
                              const Clock& clock, std::chrono::milliseconds deadline) {
    const auto request = WEIR_TRY(key.request(host.empty() ? unnamed_host : host));
    const auto body = boost::json::serialize(boost::json::object{{"request", json::safe(request)}});
    const auto answer = WEIR_TRY(client.post("/renew", body, deadline));
    return answered(client.address(), answer, key.public_key(), clock);
}

}  // namespace weir::service
