// SPDX-License-Identifier: Apache-2.0
#include "weir/service/join_tokens.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <optional>
#include <vector>

#include "weir/base/descriptor.hpp"
#include "weir/base/file.hpp"
#include "weir/base/hex.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t tokens_max = 4096;
constexpr auto token_kept = 24h;  // behind its end, so that who comes too late sees why

struct GivenToken {
    std::string hash;  // SHA-256 of the secret, in hexadecimal digits
    std::string host;
    std::int64_t ends = 0;  // seconds since 1970, as `used`
    std::int64_t used = 0;  // 0: not yet
    std::string by{};       // the address from which it was used
};

std::int64_t unix_seconds(WallTime time) {
    return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}
std::string shown_seconds(std::int64_t seconds) { return transport::utc_text(WallTime(std::chrono::seconds(seconds))); }
std::string hash_of_token(const JoinToken& token) { return hex_of(transport::sha256(token.secret)); }

/// Held until its descriptor is closed.
Result<Descriptor> lock_tokens(std::filesystem::path file) {
    file += ".lock";
    Descriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!descriptor) return fail_errno(errno, fmt::format("cannot open {}", file.native()));
    while (::flock(descriptor.get(), LOCK_EX) != 0) {
        if (errno != EINTR) return fail_errno(errno, fmt::format("cannot lock {}", file.native()));
    }
    return descriptor;
}

Result<std::vector<GivenToken>> read_tokens(const std::filesystem::path& file) {
    std::vector<GivenToken> entries;
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown) && !unknown) return entries;
    const auto text = WEIR_TRY(read_text(file, 4_MiB));
    const auto damaged = [&](const Error& error) {
        return fail(Errc::corrupt, fmt::format("{} is damaged ({}); remove it, and give out new tokens", file.native(),
                                               error.message()));
    };
    const auto document = json::parse(text, {.size = 4_MiB, .depth = 4});
    if (!document) return damaged(document.error());
    json::Fields fields(*document, "it");
    const auto version = fields.number("version");
    const auto* tokens = fields.array("tokens", 2 * tokens_max);
    if (const auto good = fields.result(); !good) return damaged(good.error());
    if (version != 1 || tokens == nullptr) return damaged({Errc::unsupported, 0, "another version"});
    for (const auto& token : *tokens) {
        json::Fields of_token(token, "a token");
        GivenToken entry{of_token.text("sha256"), of_token.text("host"), 0, 0, {}};
        constexpr std::uint64_t most = 9'000'000'000;  // in the year 2255: within the range of WallTime
        entry.ends = static_cast<std::int64_t>(of_token.number("ends", std::nullopt, most));
        entry.used = static_cast<std::int64_t>(of_token.number("used", 0, most));
        entry.by = of_token.text("by", "");
        if (const auto good = of_token.result(); !good) return damaged(good.error());
        entries.push_back(std::move(entry));
    }
    return entries;
}

Result<> write_tokens(const std::filesystem::path& file, const std::vector<GivenToken>& entries) {
    boost::json::array tokens;
    for (const auto& entry : entries) {
        boost::json::object token{{"sha256", entry.hash}, {"host", json::safe(entry.host)}, {"ends", entry.ends}};
        if (entry.used > 0) {
            token["used"] = entry.used;
            token["by"] = json::safe(entry.by);
        }
        tokens.push_back(std::move(token));
    }
    const auto text = boost::json::serialize(boost::json::object{{"version", 1}, {"tokens", std::move(tokens)}}) + "\n";
    return transport::write_pem(file, text, transport::Readable::by_owner);
}

}  // namespace

Result<> JoinTokens::add(const JoinToken& token, const std::string& host) const {
    WEIR_TRY(check_host_name(host));
    const auto locked = WEIR_TRY(lock_tokens(file_));
    auto entries = WEIR_TRY(read_tokens(file_));
    const auto now = clock_.wall();
    std::erase_if(entries, [&](const GivenToken& entry) { return entry.ends < unix_seconds(now - token_kept); });
    if (entries.size() >= tokens_max)
        return fail(Errc::limit,
                    fmt::format("{} join tokens were given out within a day, and no more are", tokens_max));
    entries.push_back({hash_of_token(token), host, unix_seconds(now + join_token_validity), 0, {}});
    return write_tokens(file_, entries);
}

Result<std::string> JoinTokens::use(const JoinToken& token, const std::string& host, const std::string& address) const {
    const auto locked = WEIR_TRY(lock_tokens(file_));
    auto entries = WEIR_TRY(read_tokens(file_));
    const auto hash = hash_of_token(token);
    GivenToken* found = nullptr;
    for (auto& entry : entries) {  // all of them, and each for as long
        if (transport::same_secret(entry.hash, hash)) found = &entry;
    }
    if (found == nullptr)
        return fail(Errc::refused, "this join token is not known here; take a new one (weir run token)");
    if (found->used > 0)
        return fail(Errc::refused, fmt::format("this join token was used already, from {} on {}; if that was not you, "
                                               "somebody else has its certificate. Take a new one (weir run token)",
                                               found->by, shown_seconds(found->used)));
    const auto now = unix_seconds(clock_.wall());
    if (now >= found->ends)
        return fail(Errc::refused,
                    fmt::format("this join token ended on {}; take a new one (weir run token), and use it "
                                "within {}",
                                shown_seconds(found->ends), to_string(join_token_validity)));
    if (!host.empty() && host != found->host)
        return fail(Errc::refused,
                    fmt::format("this join token is for the host {}, and {} asks with it; take one for {}", found->host,
                                host, host));
    found->used = std::max<std::int64_t>(now, 1);
    found->by = address;
    auto name = found->host;
    WEIR_TRY(write_tokens(file_, entries));
    return name;
}

}  // namespace weir::service
