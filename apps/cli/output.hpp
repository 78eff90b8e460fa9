// SPDX-License-Identifier: Apache-2.0
// What goes to stdout: with --json exactly one document, else text and tables for people. Bytes from
// outside (names in files, tags, metadata) never reach a terminal or a document as they are.
#pragma once

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/json/parse.hpp"

namespace weir::app {

/// The whole document, on a line of its own.
void print_json(const json::value& document);

/// A part of a document that is too large to hold: the caller writes what stands between the parts.
void print_json_part(const json::value& part);

void print(std::string_view text);

template <class... Args>
    requires(sizeof...(Args) > 0)
void print(fmt::format_string<Args...> format, Args&&... args) {
    print(fmt::format(format, std::forward<Args>(args)...));
}

/// What was printed so far goes out now.
void flush_output();
/// Of the first write to stdout that failed; 0: none so far.
[[nodiscard]] int output_errno() noexcept;
/// What was printed has arrived: false (errno is set) when stdout is full or gone. main asks once at the end.
[[nodiscard]] bool output_arrived();

/// For a terminal: control characters and bytes that are not UTF-8 become \x1b, \xff; so it is one line.
[[nodiscard]] std::string printable(std::string_view text);
/// For a JSON document: bytes that are not UTF-8 become \xff written out; all else stays.
[[nodiscard]] std::string json_text(std::string_view text);

/// "1,234,567"
[[nodiscard]] std::string with_commas(std::uint64_t number);
/// "43 s", "3 min 12 s", "2 h 05 min"
[[nodiscard]] std::string human(std::chrono::seconds time);
/// 10^9 bytes a second; 0 when no time has passed.
[[nodiscard]] double gb_per_s(std::uint64_t bytes, double seconds) noexcept;

/// "1 event", "2 events"; the number with commas.
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural = {});

/// Text in columns as wide as they need to be, with a line of titles and one below it.
class Table {
public:
    enum class Align { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// As many cells as columns; made printable here.
    void add(std::vector<std::string> cells);
    [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
    [[nodiscard]] std::string text() const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace weir::app
