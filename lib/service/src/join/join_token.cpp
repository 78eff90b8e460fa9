// SPDX-License-Identifier: Apache-2.0
#include "weir/service/join_token.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>
#include <span>

#include "join/pem_field.hpp"
#include "weir/base/data.hpp"
#include "weir/base/report.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

constexpr char token_version = 1;
constexpr std::string_view token_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t token_bytes_size = 1 + join_secret_size + std::tuple_size_v<transport::Digest>;
constexpr std::size_t host_name_size_max = 63;
constexpr std::size_t token_text_max = 1024;  // with what stands around a token

std::string base64url(std::string_view bytes) {
    std::string text;
    unsigned bits = 0, count = 0;
    for (const char byte : bytes) {
        bits = (bits << 8) | static_cast<unsigned char>(byte);
        for (count += 8; count >= 6; count -= 6) text += token_letters[(bits >> (count - 6)) & 63];
    }
    if (count > 0) text += token_letters[(bits << (6 - count)) & 63];
    return text;
}

/// Nothing: another letter, or bits behind the last byte.
std::optional<std::string> bytes_of_base64url(std::string_view text) {
    std::string bytes;
    unsigned bits = 0, count = 0;
    for (const char letter : text) {
        const auto value = token_letters.find(letter);
        if (value == token_letters.npos) return std::nullopt;
        bits = (bits << 6) | static_cast<unsigned>(value);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        bytes += static_cast<char>((bits >> count) & 255);
    }
    if (count >= 6 || (bits & ((1U << count) - 1)) != 0) return std::nullopt;
    return bytes;
}

std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const auto begin = text.find_first_not_of(blanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

bool is_letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

}  // namespace

std::string JoinToken::text() const { return base64url(token_version + secret + std::string(as_text(authority))); }

Result<JoinToken> make_join_token(const transport::Digest& authority) {
    auto secret = WEIR_TRY(transport::random_secret(join_secret_size));
    return JoinToken{std::move(secret), authority};
}

Result<JoinToken> parse_join_token(std::string_view text) {
    constexpr const char* advice = "; take the line that weir run token printed, whole";
    if (text.size() > token_text_max)
        return fail(Errc::usage, fmt::format("this is too long for a join token{}", advice));
    const auto bytes = bytes_of_base64url(without_blanks(text));
    if (!bytes || bytes->empty()) return fail(Errc::usage, fmt::format("this is no join token{}", advice));
    if (bytes->size() < token_bytes_size)
        return fail(Errc::usage, fmt::format("this join token is not whole{}", advice));
    if (bytes->front() != token_version)
        return fail(Errc::unsupported,
                    "this is no join token of a version that this weir knows; make it with weir run token of the same "
                    "version");
    if (bytes->size() > token_bytes_size)
        return fail(Errc::usage, fmt::format("this is too long for a join token{}", advice));
    JoinToken token{bytes->substr(1, join_secret_size), {}};
    std::ranges::copy(std::as_bytes(std::span(*bytes).subspan(1 + join_secret_size)), token.authority.begin());
    return token;
}

Result<JoinRequest> parse_join_request(std::string_view text) {
    const auto document = json::parse(text, {.size = 64_KiB, .depth = 4});
    if (!document) return fail(Errc::usage, "the request is not the JSON that it should be");  // without its text
    json::Fields fields(*document, "the request");
    const auto token = fields.text("token", std::nullopt, token_text_max);
    JoinRequest request;
    request.host = fields.text("host", "", host_name_size_max);
    request.request = pem_field(fields, *document, "request");
    fields.no_others();
    WEIR_TRY(fields.result());
    request.token = WEIR_TRY(parse_join_token(token));
    return request;
}

std::string to_json(const JoinRequest& request) {
    boost::json::object document{{"token", request.token.text()}, {"request", json::safe(request.request)}};
    if (!request.host.empty()) document["host"] = request.host;
    return boost::json::serialize(document);
}

Result<> check_host_name(std::string_view name) {
    const bool good =
        !name.empty() && name.size() <= host_name_size_max && is_letter_or_digit(name.front()) &&
        std::ranges::all_of(name, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; });
    if (good) return {};
    return fail(Errc::usage,
                fmt::format("\"{}\" is no name of a host; write letters, digits, -, _ and ., at most {}, and "
                            "begin with a letter or digit",
                            on_one_line(name, 100), host_name_size_max));
}

}  // namespace weir::service
