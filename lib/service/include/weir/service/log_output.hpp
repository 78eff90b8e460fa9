// SPDX-License-Identifier: Apache-2.0
// Where the log of a process goes: to stderr, as text or as JSON, or with fields to systemd's journal, where that is
// behind stderr.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weir/service/log_entry.hpp"

namespace weir::service {

enum class LogFormat : std::uint8_t { text, json };

struct LogOptions {
    LogFormat format = LogFormat::text;    // JSON goes to stderr, also where that is the journal
    std::string partition{};               // empty: there is none
    const char* journal_stream = nullptr;  // the value of JOURNAL_STREAM
    std::filesystem::path journal = "/run/systemd/journal/socket";
};

/// Any thread. It never waits: what cannot be written at once is counted, and the next line says how many were.
class LogOutput {
public:
    explicit LogOutput(const LogOptions& options);
    ~LogOutput();
    LogOutput(const LogOutput&) = delete;
    LogOutput& operator=(const LogOutput&) = delete;

    /// As JSON or to the journal: who reads it can tell stations apart.
    [[nodiscard]] bool structured() const noexcept;
    /// Of entries from now on that have none themselves.
    void set_run(RunNumber run);
    /// Its partition is that of the options.
    void write(LogEntry entry);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace weir::service
