// SPDX-License-Identifier: Apache-2.0
#include "run/remote_calls.hpp"

#include "cli/command_line.hpp"
#include "cli/process/signals.hpp"
#include "run/directory/run_place.hpp"

namespace weir::app {

Result<service::ControlClient> client_of(const RunAddressOptions& run) {
    auto place = WEIR_TRY(find_run(run));
    return service::ControlClient(std::move(place.address), remote_answer_max, std::move(place.tls));
}

int fail_without_run(std::string_view me, const Error& error) {
    return error.code == Errc::refused ? fail_missing(me, error.message()) : fail_with(me, error);
}

bool has_ended(const RunAddressOptions& run) { return run.at.empty() && !RunPlace::find(run.directory); }

Result<json::value> body_of(const Result<service::ControlAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (!answer->good()) return fail(answer->status == 400 ? Errc::usage : Errc::refused, answer->error());
    return json::parse(answer->body, {.size = remote_answer_max, .depth = 16});
}

void pause(std::chrono::nanoseconds time) {
    const Signals signals;
    static_cast<void>(Signals::pending(time));
}

}  // namespace weir::app
