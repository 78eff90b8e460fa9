// SPDX-License-Identifier: Apache-2.0
// What the commands share that talk to the run control of a directory.
#pragma once

#include <chrono>
#include <string_view>

#include "run/directory/run_address.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_client.hpp"

namespace weir::app {

inline constexpr Bytes remote_answer_max{64U << 20};

/// Errc::refused: there is none.
[[nodiscard]] Result<service::ControlClient> client_of(const RunAddressOptions& run);
/// The exit code, after a line on stderr.
[[nodiscard]] int fail_without_run(std::string_view me, const Error& error);
/// The same of one that did not answer: where nothing listens any more at the address that its directory names, with
/// what to do.
[[nodiscard]] int fail_without_answer(std::string_view me, const Error& error, const RunAddressOptions& run);
/// Run control is gone, as it is when no further run is waited for.
[[nodiscard]] bool has_ended(const RunAddressOptions& run);
/// The document of a good answer; Errc::usage, refused: what the answer says.
[[nodiscard]] Result<json::value> body_of(const Result<service::ControlAnswer>& answer);
/// Between two questions. SIGINT and SIGTERM end it at once, and then the program, as they do at any other time.
void pause(std::chrono::nanoseconds time);

}  // namespace weir::app
