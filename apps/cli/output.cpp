// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdio>

#include <algorithm>
#include <atomic>

#include "weir/base/assert.hpp"
#include "weir/base/utf8.hpp"

namespace weir::app {
namespace {

std::string escaped(std::string_view text, bool controls_too) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto size = utf8_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        // C0 controls, delete, and the C1 controls U+0080 to U+009F, which some terminals obey.
        const bool control = size == 1 ? first < 0x20 || first == 0x7f
                                       : size == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
        if (size == 0 || (control && controls_too)) {
            for (std::size_t i = 0; i < std::max<std::size_t>(size, 1); ++i)
                out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
        } else {
            out += text.substr(0, size);
        }
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return out;
}

/// Columns that a text takes on the screen: its characters, not its bytes.
std::size_t screen_width(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Kept at once: whatever else is called afterwards sets errno anew.
std::atomic<int> first_errno{0};

void keep_errno(bool good) {
    int none = 0;
    if (!good) first_errno.compare_exchange_strong(none, errno == 0 ? EIO : errno);
}

}  // namespace

void print(std::string_view text) { keep_errno(std::fwrite(text.data(), 1, text.size(), stdout) == text.size()); }

void flush_output() { keep_errno(std::fflush(stdout) == 0); }

int output_errno() noexcept { return first_errno; }

void print_json_part(const json::value& part) { print(json::serialize(part)); }

void print_json(const json::value& document) {
    print_json_part(document);
    print("\n");
}

bool output_arrived() {
    flush_output();
    errno = std::ferror(stdout) != 0 && first_errno == 0 ? EIO : first_errno.load();
    return errno == 0;
}

std::string printable(std::string_view text) { return escaped(text, true); }

std::string json_text(std::string_view text) { return escaped(text, false); }

std::string with_commas(std::uint64_t number) {
    auto digits = fmt::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
}

std::string human(std::chrono::seconds time) {
    const auto s = time.count();
    if (s < 60) return fmt::format("{} s", s);
    if (s < 3600) return fmt::format("{} min {:02} s", s / 60, s % 60);
    return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
}

double gb_per_s(std::uint64_t bytes, double seconds) noexcept {
    return seconds > 0 ? static_cast<double>(bytes) / 1e9 / seconds : 0;
}

std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural) {
    if (number == 1) return fmt::format("1 {}", singular);
    return plural.empty() ? fmt::format("{} {}s", with_commas(number), singular)
                          : fmt::format("{} {}", with_commas(number), plural);
}

void Table::add(std::vector<std::string> cells) {
    WEIR_ASSERT(cells.size() == columns_.size());
    for (auto& cell : cells) cell = printable(cell);
    rows_.push_back(std::move(cells));
}

std::string Table::text() const {
    std::vector<std::size_t> widths;
    for (const auto& column : columns_) widths.push_back(screen_width(column.title));
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], screen_width(row[i]));
    }
    std::string text;
    const auto line = [&](const auto& cell_of) {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::string& cell = cell_of(i);
            const std::string fill(widths[i] - screen_width(cell), ' ');
            if (i > 0) text += "  ";
            text += columns_[i].align == Align::right ? fill + cell : cell + fill;
        }
        text.erase(text.find_last_not_of(' ') + 1);
        text += '\n';
    };
    line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
    for (const auto& row : rows_) line([&](std::size_t i) -> const std::string& { return row[i]; });
    return text;
}

}  // namespace weir::app
