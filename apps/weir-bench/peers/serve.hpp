// SPDX-License-Identifier: Apache-2.0
// A program of jobs answers `weir bench serialize` on a socket, a line for a line, so that candidates that
// cannot live in one process (ROOT, several libraries with the same names inside) are still measured in turn, each
// visit between those of the others:
//
//   list                                            about TEXT, wrong TEXT, job CODEC SUBJECT write|read BYTES HASH,
//   end run INDEX THREADS BATCHES SECONDS PLACE COPIES CPU... figures BEST MEDIAN COUNTED TAKEN   (seconds of one
//   operation)
//
// Words are separated by tabs. The program ends when the other side closes.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <sstream>
#include <string>

#include "batches.hpp"

namespace weir::jobs {

/// Where a program that was started by the bench finds the other side.
constexpr int peer_descriptor = 3;

inline bool send_text(int descriptor, const std::string& text) {
    for (std::size_t at = 0; at < text.size();) {
        const auto sent = ::send(descriptor, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += static_cast<std::size_t>(sent);
    }
    return true;
}

[[nodiscard]] inline std::string list_of(const Jobs& jobs) {
    std::ostringstream text;
    text << "about\t" << jobs.about << '\n';
    for (const auto& wrong : jobs.wrong) text << "wrong\t" << wrong << '\n';
    for (const auto& job : jobs.list)
        text << "job\t" << job.codec << '\t' << job.subject << '\t' << (job.writes ? "write" : "read") << '\t'
             << job.bytes << '\t' << job.hash << '\n';
    text << "end\n";
    return text.str();
}

[[nodiscard]] inline std::string answer(const Jobs& jobs, const std::string& question) {
    std::istringstream words(question);
    std::string word;
    words >> word;
    if (word == "list") return list_of(jobs);
    std::size_t index = 0;
    Visit visit;
    if (word != "run" ||
        !(words >> index >> visit.threads >> visit.batches >> visit.seconds >> visit.place >> visit.copies) ||
        index >= jobs.list.size() || visit.threads == 0)
        return "unknown\n";
    for (int cpu = 0; words >> cpu;) visit.cpus.push_back(cpu);
    const auto figures = measure(jobs.list[index], visit);
    char text[128];
    std::snprintf(text, sizeof text, "figures\t%.6e\t%.6e\t%zu\t%zu\n", figures.best, figures.median, figures.counted,
                  figures.taken);
    return text;
}

/// Answers until the other side closes; the exit code of the program.
inline int serve(const Jobs& jobs, int descriptor = peer_descriptor) {
    std::string waiting;
    while (true) {
        char buffer[512];
        const auto got = ::read(descriptor, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        waiting.append(buffer, static_cast<std::size_t>(got));
        for (auto end = waiting.find('\n'); end != std::string::npos; end = waiting.find('\n')) {
            if (!send_text(descriptor, answer(jobs, waiting.substr(0, end)))) return 0;
            waiting.erase(0, end + 1);
        }
    }
}

}  // namespace weir::jobs
