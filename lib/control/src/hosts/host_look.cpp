// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_look.hpp"

#include <chrono>
#include <future>
#include <memory>

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto first_look = 2s;

}  // namespace

std::vector<std::optional<HostReport>> look_at_hosts(const std::vector<HostEntry>& hosts,
                                                     service::ControlCalls& calls) {
    std::vector<std::future<std::optional<HostReport>>> asked;
    for (const auto& host : hosts) {
        const auto promise = std::make_shared<std::promise<std::optional<HostReport>>>();
        asked.push_back(promise->get_future());
        if (host.address.empty()) {  // its node is not known
            promise->set_value(std::nullopt);
            continue;
        }
        calls.get(host.address, "/host", first_look, [promise](const auto& answer) {
            auto report = answer && answer->good() ? parse_host_report(answer->body)
                                                   : Result<HostReport>(fail(Errc::io, "no answer"));
            promise->set_value(report ? std::optional(std::move(*report)) : std::nullopt);
        });
    }
    std::vector<std::optional<HostReport>> all;
    for (auto& one : asked) all.push_back(one.get());
    return all;
}

}  // namespace weir::control
