// SPDX-License-Identifier: Apache-2.0
// The books of a recorder on another machine, through the agent there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "hosts/host_messages.hpp"
#include "weir/control/run_books.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::control {

class HostBooks final : public RunBooks {
public:
    /// `machine`: its name. `address`: of its agent; nothing as long as the machine is lost, and not waited for.
    /// `directory` and `catalogue`: as LocalBooks there takes them. The calls outlive it.
    HostBooks(service::ControlCalls& calls, std::string machine, Commander commander, std::string directory,
              std::string catalogue, std::function<std::optional<std::string>()> address)
        : calls_(calls),
          machine_(std::move(machine)),
          commander_(std::move(commander)),
          directory_(std::move(directory)),
          catalogue_(std::move(catalogue)),
          address_(std::move(address)) {}

    [[nodiscard]] Result<RunNumber> next_free_run() override;
    [[nodiscard]] Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) override;
    [[nodiscard]] Result<> keep(const catalogue::RunRecord& record) override;
    [[nodiscard]] Result<HandOffAccount> files(RunNumber run, const std::string& checksum) override;

private:
    [[nodiscard]] Result<boost::json::value> ask(boost::json::object request) const;

    service::ControlCalls& calls_;
    const std::string machine_;
    const Commander commander_;
    const std::string directory_, catalogue_;
    const std::function<std::optional<std::string>()> address_;
};

/// What was asked of the books: who asks, and the answer once it may be given. Any thread.
struct BooksRequest {
    Commander commander{};
    std::string directory{}, catalogue{};
    enum class What { next_free_run, parameters, record, files } what = What::next_free_run;
    RunNumber run{};
    std::map<std::string, std::string> parameters{};
    std::string record{};
    std::string checksum{};
};
[[nodiscard]] Result<BooksRequest> parse_books_request(std::string_view text);
/// The answer as JSON. Waits for the disk.
[[nodiscard]] Result<std::string> answer_of_books(const BooksRequest& request);

}  // namespace weir::control
