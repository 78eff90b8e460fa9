// SPDX-License-Identifier: Apache-2.0
// What was typed behind `weir run`, and what a run control before it left instead.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weir/service/log_output.hpp"

namespace weir::app {

inline constexpr const char* weir_run = "weir run";

struct RunOptions {
    std::filesystem::path partition;
    std::filesystem::path directory = "weir-run";
    std::vector<std::filesystem::path> sources;
    std::optional<std::uint64_t> events;
    std::chrono::milliseconds duration{0};
    std::string masked;  // empty: as in the file
    std::string comment;
    std::string listen = "127.0.0.1:0";
    bool take_over = false;
    bool adopt = false;           // what it left there
    bool standby = false;         // takes over when the run control of the directory is gone
    std::string engine;           // empty: as in the file
    std::string join;             // empty: as in the file
    std::string view;             // where the page is for whoever has its token; empty: nowhere
    std::filesystem::path pages;  // of further pages; empty: none
    bool wait = false;
    bool json = false;
    service::LogFormat log_format = service::LogFormat::text;
};

}  // namespace weir::app
