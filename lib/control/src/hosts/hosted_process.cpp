// SPDX-License-Identifier: Apache-2.0
#include "hosts/hosted_process.hpp"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>

#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

/// Where the station is reached through the agent, in place of an address that only its own machine can use.
std::string through_agent(const std::string& announcement, const HostEntry& host, const std::string& name) {
    auto document = json::parse(announcement);
    if (!document || !document->is_object()) return announcement;
    document->get_object()["control"] = fmt::format("{}/stations/{}", host.address, name);
    return json::serialize(*document);
}

}  // namespace

std::int64_t HostedProcess::pid() const noexcept {
    return table_->look(slot_, [](const HostTable::Slot& slot, const HostEntry&) { return slot.pid; });
}

std::optional<std::string> HostedProcess::announcement() {
    return table_->look(slot_, [](const HostTable::Slot& slot, const HostEntry& host) -> std::optional<std::string> {
        if (!slot.announcement) return std::nullopt;
        return through_agent(*slot.announcement, host, slot.name);
    });
}

std::optional<ProcessEnd> HostedProcess::ended() {
    return table_->look(slot_, [](const HostTable::Slot& slot, const HostEntry&) { return slot.end; });
}

bool HostedProcess::waits() const {
    return table_->look(slot_,
                        [](const HostTable::Slot& slot, const HostEntry&) { return !slot.ordered && !slot.end; });
}

std::string HostedProcess::host() const {
    return table_->look(slot_, [](const HostTable::Slot&, const HostEntry& host) { return host.name; });
}

HostedLink::HostedLink(std::shared_ptr<HostTable> table, const std::string& address)
    : table_(std::move(table)), name_(address.substr(address.rfind('/') + 1)), direct_(table_->links().open(address)) {}

void HostedLink::ask(bool with_events) {
    direct_asked_ = with_events;
    if (with_events) direct_->ask(true);
    else poll_ = table_->want_report(name_);
}

std::optional<Result<service::StationReport>> HostedLink::report() {
    if (direct_asked_) return direct_->report();
    if (!poll_) return std::nullopt;
    auto report = table_->take_report(name_, *poll_);
    if (!report) return std::nullopt;
    poll_.reset();
    return Result<service::StationReport>(std::move(*report));
}

void HostedLines::read(const std::function<void(std::string_view line)>& line) {
    for (const auto& text : table_->take_lines(name_)) line(text);
}

}  // namespace weir::control
