// SPDX-License-Identifier: Apache-2.0
#include "run/remote_calls.hpp"

#include <fmt/format.h>

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

int fail_without_answer(std::string_view me, const Error& error, const RunAddressOptions& run) {
    if (error.code != Errc::io || !run.at.empty() || !error.context.contains("Connection refused"))
        return fail_with(me, error);
    auto with_advice = error;
    with_advice.context += fmt::format(
        "; run control has ended without its own end, as when it is killed: weir run PARTITION.toml --dir {} begins "
        "anew, with --take-over where stations are on other machines",
        run.directory.native());
    return fail_with(me, with_advice);
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
