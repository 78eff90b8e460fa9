// SPDX-License-Identifier: Apache-2.0
#include "sums/scrub/scrub_cursor.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "weir/base/hex.hpp"

namespace weir::app {
namespace {

constexpr std::string_view first_line = "weir-scrub v2";

struct Counter {
    const char* key;
    std::uint64_t SumVerdict::* value;
};
constexpr std::array counters{
    Counter{"ok", &SumVerdict::ok},
    Counter{"mismatch", &SumVerdict::mismatch},
    Counter{"missing", &SumVerdict::missing},
    Counter{"error", &SumVerdict::error},
    Counter{"changed", &SumVerdict::changed},
    Counter{"unverified", &SumVerdict::unverified},
    Counter{"stale", &SumVerdict::stale},
    Counter{"special", &SumVerdict::special},
    Counter{"malformed", &SumVerdict::malformed},
    Counter{"bytes", &SumVerdict::bytes},
};

template <class T>
bool read_number(std::string_view text, T& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc{} && end == text.data() + text.size();
}

/// For a label: backslash, quotation mark and line break are escaped.
std::string label(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\n') out += "\\n";
        else if (c == '\\' || c == '"') out += {'\\', c};
        else out += c;
    }
    return out;
}

}  // namespace

std::string encode(const ScrubCursor& cursor) {
    auto text =
        fmt::format("{}\nroot {}\ndevice {}\ninode {}\nafter {}\nbegun {}\n", first_line, hex_of(as_data(cursor.root)),
                    cursor.device, cursor.inode, hex_of(as_data(cursor.after)), cursor.begun_s);
    for (const auto& counter : counters) text += fmt::format("{} {}\n", counter.key, cursor.verdict.*counter.value);
    return text + "end\n";
}

Result<ScrubCursor> decode_cursor(std::string_view text) {
    const auto line = [&text] {
        const auto found = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), found.size() + 1));
        return found;
    };
    const auto corrupt = [] { return fail(Errc::corrupt, "it is not the state of a scrub of this weir"); };
    if (line() != first_line) return corrupt();
    ScrubCursor cursor;
    while (!text.empty()) {
        const auto one = line();
        if (one == "end") return cursor;
        const auto key = one.substr(0, one.find(' '));
        const auto value = one.substr(std::min(one.size(), key.size() + 1));
        if (key == "root" || key == "after") {
            const auto path = bytes_of_hex(value);
            if (!path) return corrupt();
            (key == "root" ? cursor.root : cursor.after) = *path;
        } else if (key == "begun") {
            if (!read_number(value, cursor.begun_s)) return corrupt();
        } else if (key == "device" || key == "inode") {
            if (!read_number(value, key == "device" ? cursor.device : cursor.inode)) return corrupt();
        }
        for (const auto& counter : counters) {
            if (key == counter.key && !read_number(value, cursor.verdict.*counter.value)) return corrupt();
        }
    }
    return corrupt();  // cut off
}

std::string metrics(const ScrubCursor& cursor, bool complete, WallTime now) {
    const auto root = label(cursor.root);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    std::string text =
        "# HELP weir_scrub_files Files of this pass by what came of them.\n# TYPE weir_scrub_files gauge\n";
    for (const auto& counter : counters) {
        if (std::string_view(counter.key) != "bytes")
            text += fmt::format("weir_scrub_files{{directory=\"{}\",status=\"{}\"}} {}\n", root, counter.key,
                                cursor.verdict.*counter.value);
    }
    const auto gauge = [&](const char* name, const char* help, std::int64_t value) {
        text +=
            fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{0}{{directory=\"{2}\"}} {3}\n", name, help, root, value);
    };
    gauge("weir_scrub_bytes", "Bytes that this pass has read.", static_cast<std::int64_t>(cursor.verdict.bytes));
    gauge("weir_scrub_complete", "1: this pass came to its end.", complete ? 1 : 0);
    gauge("weir_scrub_begun_timestamp_seconds", "When this pass began.", cursor.begun_s);
    gauge("weir_scrub_updated_timestamp_seconds", "When this was written.", seconds);
    return text;
}

}  // namespace weir::app
