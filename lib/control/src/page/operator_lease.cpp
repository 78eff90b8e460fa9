// SPDX-License-Identifier: Apache-2.0
#include "weir/control/operator_lease.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>

namespace weir::control {
namespace {

constexpr std::size_t person_max = 100;

Result<std::string> make_secret() {
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        return fail_errno(errno, "no random bytes for the operator's lease");
    std::string hex;
    for (const auto byte : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", byte);
    return hex;
}

std::string since_text(WallTime time) {
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

}  // namespace

bool OperatorLease::fits(std::string_view secret) const {
    if (!holder_ || secret.size() != secret_.size()) return false;
    unsigned different = 0;  // all of it is compared, so that the time taken shows nothing
    for (std::size_t i = 0; i < secret.size(); ++i) different |= static_cast<unsigned>(secret[i] ^ secret_[i]);
    return different == 0;
}

Result<std::string> OperatorLease::take(const std::string& person, bool by_force) {
    if (person.empty() || person.size() > person_max)
        return fail(Errc::usage,
                    fmt::format("who takes control? give a name of 1 to {} bytes as \"person\"", person_max));
    auto secret = WEIR_TRY(make_secret());
    std::optional<Holder> before;
    {
        const std::scoped_lock lock(mutex_);
        if (holder_ && !by_force)
            return fail(Errc::refused,
                        fmt::format("{} has been in control since {}; ask for a release, or take control "
                                    "by force",
                                    on_one_line(holder_->person), since_text(holder_->since)));
        before = std::exchange(holder_, Holder{person, clock_.wall()});
        secret_ = secret;
    }
    if (before)
        report_(
            {.severity = Severity::warning,
             .what = fmt::format("{} took control by force from {}", on_one_line(person), on_one_line(before->person)),
             .key = "operator's lease"});
    else report_({.what = fmt::format("{} is in control", on_one_line(person)), .key = "operator's lease"});
    return secret;
}

Result<> OperatorLease::release(std::string_view secret) {
    std::string person;
    {
        const std::scoped_lock lock(mutex_);
        if (!holder_) return {};
        if (!fits(secret))
            return fail(Errc::refused, fmt::format("not you but {} is in control", on_one_line(holder_->person)));
        person = std::exchange(holder_, std::nullopt)->person;
        secret_.clear();
    }
    report_({.what = fmt::format("{} released control", on_one_line(person)), .key = "operator's lease"});
    return {};
}

Result<> OperatorLease::allows(std::string_view secret, bool of_page) const {
    const std::scoped_lock lock(mutex_);
    if (fits(secret)) return {};
    if (holder_)
        return fail(Errc::refused, fmt::format("{} has been in control since {}: ask for a release, or take control by "
                                               "force (at the page, or --force)",
                                               on_one_line(holder_->person), since_text(holder_->since)));
    if (of_page) return fail(Errc::refused, "nobody is in control: take control first");
    return {};
}

std::optional<OperatorLease::Holder> OperatorLease::holder() const {
    const std::scoped_lock lock(mutex_);
    return holder_;
}

}  // namespace weir::control
