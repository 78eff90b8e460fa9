// SPDX-License-Identifier: Apache-2.0
#include "weir/service/join_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "join/pem_field.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

constexpr std::size_t watched_addresses_max = 1024;

HttpResponse signed_answer(const JoinParts& parts, const std::string& host, const transport::Certificate& made) {
    const auto certificate = made.pem(), authority = parts.authority.certificate().pem();
    if (!certificate || !authority) return http_error(500, "the certificate was not written");
    return {.status = 200,
            .body = boost::json::serialize(
                        boost::json::object{{"host", host}, {"certificate", *certificate}, {"ca", *authority}}) +
                    "\n"};
}

HttpResponse delayed(HttpResponse response, std::chrono::milliseconds delay) {
    response.after = delay;
    return response;
}

void warn_of_join(const JoinParts& parts, const std::string& address, const std::string& why) {
    parts.report({.severity = Severity::warning,
                  .what = fmt::format("{} was refused at the port for joins", address),
                  .where = "run",
                  .why = why,
                  .advice = {},
                  .key = "refused at the port for joins: " + address});
}

HttpResponse answer_join(const JoinParts& parts, WrongTokens& wrong, const HttpRequest& request) {
    if (wrong.too_many(request.address)) {
        const auto why = fmt::format("more than {} wrong join tokens came from this address; try again in {}",
                                     wrong_tokens_max, to_string(wrong_tokens_window));
        warn_of_join(parts, request.address, why);
        return delayed(http_error(429, why), parts.wrong_token_delay);
    }
    const auto refused = [&](unsigned status, const Error& error) {
        wrong.add(request.address);
        warn_of_join(parts, request.address, error.message());
        return delayed(http_error(status, error.message()), parts.wrong_token_delay);
    };
    const auto asked = parse_join_request(request.body);
    if (!asked) return refused(400, asked.error());
    // A token that is for another partition is not even looked up; its file may have been copied by mistake.
    if (asked->token.authority != parts.authority.certificate().fingerprint())
        return refused(403, {Errc::refused, 0, "this join token is of another partition's authority"});
    const auto key = transport::key_of_request(asked->request);
    if (!key) return refused(400, key.error());
    const auto host = parts.tokens->use(asked->token, asked->host, request.address);
    if (!host && host.error().code == Errc::refused) return refused(403, host.error());
    if (!host) {
        parts.report(report_of(Severity::error, "join tokens cannot be used", host.error()));
        return http_error(500, "join tokens cannot be used now; run control's log says why");
    }
    const auto made = sign_host(parts, *key, *host, request.address);
    if (!made) return refused(403, made.error());
    parts.report.information(fmt::format("host {} joined from {}; its certificate ends on {}", *host, request.address,
                                         transport::utc_text(made->ends())));
    return signed_answer(parts, *host, *made);
}

HttpResponse answer_renew(const JoinParts& parts, const HttpRequest& request) {
    if (request.role != Role::station || request.person.empty())
        return http_error(403, "only the certificate of a station (weir-station) is renewed here");
    const auto document = json::parse(request.body, {.size = 64_KiB, .depth = 4});
    if (!document) return http_error(400, document.error().message());
    json::Fields fields(*document, "the request");
    const auto pem = pem_field(fields, *document, "request");
    fields.no_others();
    if (const auto good = fields.result(); !good) return http_error(400, good.error().message());
    const auto key = transport::key_of_request(pem);
    if (!key) return http_error(400, key.error().message());
    if (key->bytes() != request.key)
        return http_error(403,
                          "the request is about another key than that of the certificate that is shown; a new key "
                          "needs a join token");
    const auto made = sign_host(parts, *key, request.person, request.address);
    if (!made) return http_error(403, made.error().message());
    return signed_answer(parts, request.person, *made);
}

}  // namespace

void WrongTokens::add(const std::string& address) {
    const std::scoped_lock lock(mutex_);
    const auto now = clock_.now();
    if (addresses_.size() >= watched_addresses_max && !addresses_.contains(address))
        addresses_.erase(
            std::ranges::min_element(addresses_, {}, [](const auto& entry) { return entry.second.began; }));
    auto& window = addresses_[address];
    if (window.count == 0 || now - window.began >= wrong_tokens_window) window = {now, 0};
    ++window.count;
}

bool WrongTokens::too_many(const std::string& address) const {
    const std::scoped_lock lock(mutex_);
    const auto at = addresses_.find(address);
    return at != addresses_.end() && at->second.count >= wrong_tokens_max &&
           clock_.now() - at->second.began < wrong_tokens_window;
}

Result<transport::Certificate> sign_host(const JoinParts& parts, const transport::PublicKey& key,
                                         const std::string& host, const std::string& address) {
    WEIR_TRY(check_host_name(host));
    if (std::ranges::find(parts.listed, host) != parts.listed.end())
        return fail(Errc::usage,
                    fmt::format("{} is listed in [security] as an operator or reader, and no host may have "
                                "that name",
                                host));
    std::vector<std::string> hosts{host};
    if (!address.empty()) hosts.push_back(address.substr(0, address.find('%')));
    return parts.authority.sign(key, {host, fmt::format("weir-{}", name(Role::station)), std::move(hosts)},
                                parts.clock.wall(), host_certificate_validity);
}

std::vector<HttpRoute> join_routes(const JoinParts& parts) {
    const auto wrong = std::make_shared<WrongTokens>(parts.clock);  // shared by copies of the route
    return {{.method = HttpRoute::Method::post,
             .path = "/join",
             .handle = [parts, wrong](const HttpRequest& request, const HttpAnswer& answer) {
                 answer(answer_join(parts, *wrong, request));
             }}};
}

HttpServerOptions join_options(const std::string& listen, const ControlAccess& access) {
    HttpServerOptions options;
    options.listen = listen;
    options.access = access;
    options.anyone = true;
    options.connections_max = 64;
    options.connections_per_peer_max = 4;
    options.header_size_max = 4096;
    options.body_size_max = 32_KiB;
    options.requests_max = 1;
    return options;
}

HttpRoute renew_route(const JoinParts& parts) {
    return {.method = HttpRoute::Method::post,
            .path = "/renew",
            .handle = [parts](const HttpRequest& request,
                              const HttpAnswer& answer) { answer(answer_renew(parts, request)); },
            .for_stations = true};
}

}  // namespace weir::service
