// SPDX-License-Identifier: Apache-2.0
#include "notify/notify_delivery.hpp"

#include <fmt/format.h>

#include "engines/engine_command.hpp"
#include "weir/base/stoppable_sleep.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto command_look = 20ms;

Result<std::string> deliver_to_command(const NotifierOptions& to, const std::string& document,
                                       const std::vector<std::string>& variables, std::chrono::milliseconds deadline,
                                       const std::function<bool()>& given_up, const Clock& clock) {
    auto command = WEIR_TRY(EngineCommand::start(to.command, document + "\n", EngineCommand::Environment::narrow,
                                                 deadline, clock, variables));
    while (true) {
        if (const auto ended = command.ended()) {
            WEIR_TRY(*ended);
            return "ended with code 0";
        }
        if (given_up()) return fail(Errc::refused, "given up");
        static_cast<void>(stoppable_sleep(command_look, {}));
    }
}

}  // namespace

Result<std::string> deliver(const NotifierOptions& to, const NotifyMessage& message, const std::string& partition,
                            std::uint64_t missed, std::chrono::milliseconds deadline,
                            const std::function<bool()>& given_up, const Clock& clock) {
    const auto document = document_of(message, partition, missed);
    if (!to.url) return deliver_to_command(to, document, variables_of(message, partition), deadline, given_up, clock);
    const auto client = WEIR_TRY(service::WebClient::open(*to.url, to.headers, to.authorities, clock));
    const auto status = WEIR_TRY(client.post(document, deadline, given_up));
    if (status < 200 || status >= 300)
        return fail(Errc::io, fmt::format("{} answered with status {}", to.url->shown(), status));
    return fmt::format("answered with status {}", status);
}

Result<std::string> send_test(const NotifierOptions& options, const std::string& partition, const Clock& clock) {
    const NotifyMessage message{.event = NotifyEvent::test, .when = clock.wall(), .text = "a test of weir run notify"};
    return deliver(options, message, partition, 0, options.time_limit, [] { return false; }, clock);
}

}  // namespace weir::control
