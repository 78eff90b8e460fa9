// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_client.hpp"

#include <fmt/format.h>

#include <system_error>

#include "control/control_connection.hpp"
#include "weir/base/report.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

constexpr std::chrono::milliseconds deadline_unsaid{60'000};

}  // namespace

std::string ControlAnswer::error() const {
    if (const auto document = json::parse(body)) {
        json::Fields fields(*document, "the answer");
        const auto text = fields.text("error", "", 65'536);
        if (fields.result() && !text.empty()) return text;
    }
    return fmt::format("answered with status {}: {}", status, on_one_line(body, 200));
}

Result<ControlAnswer> ControlClient::ask(bool post, const std::string& path, const std::string& body,
                                         std::chrono::milliseconds deadline) const {
    const auto place = WEIR_TRY(parse_control_place(address_));
    try {
        asio::io_context io{1};
        const auto connection = WEIR_TRY(control_connection(io, place, tls_, answer_max_));
        Exchanged result{.failed = asio::error::would_block};
        connection->ask(http_question(place, post, path, body, false), deadline,
                        [&](Exchanged exchanged) { result = std::move(exchanged); });
        {
            const ScopedWait wait(WaitCause::peer);
            io.run();
        }
        return answer_of(std::move(result), address_, path, deadline);
    } catch (const std::system_error& error) {  // Asio's constructors, when there are no descriptors
        return fail_errno(error.code().value(), fmt::format("cannot ask {}", address_));
    }
}

Result<ControlAnswer> ControlClient::get(const std::string& path, std::chrono::milliseconds deadline) const {
    return ask(false, path, {}, deadline);
}

Result<ControlAnswer> ControlClient::post(const std::string& path, const std::string& json,
                                          std::chrono::milliseconds deadline) const {
    return ask(true, path, json, deadline);
}

Result<StationReport> ControlClient::status(std::chrono::milliseconds deadline) const {
    const auto answer = WEIR_TRY(get("/status", deadline));
    if (!answer.good()) return fail(Errc::io, answer.error());
    return parse_station_report(answer.body);
}

Result<StationEvents> ControlClient::events(std::chrono::milliseconds deadline) const {
    const auto answer = WEIR_TRY(get("/events", deadline));
    if (!answer.good()) return fail(Errc::io, answer.error());
    return parse_station_events(answer.body, events_memory_max);
}

std::chrono::milliseconds answer_deadline(const StationRequest& request) {
    return request.deadline.value_or(deadline_unsaid) + std::chrono::seconds{2};
}

Result<StationState> station_state(const ControlAnswer& answer, const std::string& address) {
    if (!answer.good())
        return fail(answer.status == 409   ? Errc::refused
                    : answer.status == 504 ? Errc::limit
                                           : Errc::usage,
                    answer.error());
    const auto document = WEIR_TRY(json::parse(answer.body));
    json::Fields fields(document, "the answer");
    const auto state = parse_station_state(fields.text("state"));
    if (!state) return fail(Errc::unsupported, fmt::format("{} answered with an unknown state", address));
    return *state;
}

Result<StationState> ControlClient::request(const StationRequest& request) const {
    const auto answer = WEIR_TRY(post("/transition", to_json(request), answer_deadline(request)));
    return station_state(answer, address_);
}

}  // namespace weir::service
