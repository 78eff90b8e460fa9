// SPDX-License-Identifier: Apache-2.0
#include "weir/base/thread_trace.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "weir/base/data.hpp"
#include "weir/base/file.hpp"

namespace weir {
namespace {

/// Thread and process names are ours; whatever else could break the document is left out.
std::string in_quotes(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') quoted += c;
    }
    return quoted += '"';
}

double microseconds(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

std::string thread_trace(const ThreadAccounts& accounts, std::string_view process_name) {
    const auto all = accounts.accounts();
    const auto pid = ::getpid();
    auto first = SteadyTime::max();
    for (const auto& account : all) first = std::min(first, account->began());
    std::string text =
        fmt::format(R"({{"traceEvents":[{{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", pid,
                    in_quotes(process_name));
    int thread = 0;
    for (const auto& account : all) {
        ++thread;
        fmt::format_to(std::back_inserter(text), R"(,
{{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                       pid, thread, in_quotes(account->thread()));
        for (const auto& span : account->spans()) {
            fmt::format_to(std::back_inserter(text), R"(,
{{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}}})",
                           in_quotes(span.what), span.wait ? "wait" : "work", pid, thread,
                           microseconds(span.began - first), microseconds(span.ended - span.began));
        }
    }
    return text += "\n]}\n";
}

Result<> write_thread_trace(const ThreadAccounts& accounts, std::string_view process_name,
                            const std::filesystem::path& path) {
    auto file = WEIR_TRY(File::open(path, File::Mode::open_or_create));
    WEIR_TRY(file.truncate(0));
    WEIR_TRY(file.write_at(0, as_data(thread_trace(accounts, process_name))));
    return file.close();
}

}  // namespace weir
