// SPDX-License-Identifier: Apache-2.0
#include "sums/sum/sum_range.hpp"

#include "cli/output.hpp"
#include "sums/sum_verdict.hpp"
#include "weir/base/hex.hpp"

namespace weir::app {
namespace {

std::string place(const fixity::ByteRange& range, const fixity::FileSum& file) {
    return fmt::format("[{}:{}]", range.offset, file.size);
}

void print_lines(const fixity::ByteRange& range, const fixity::FileSum& file) {
    for (const auto& sum : file.sums)
        print("{} ({}){} = {}\n", digest::name(sum.algorithm()), printable(file.path), place(range, file), sum.hex());
}

json::object fields_of(const fixity::ByteRange& range, const fixity::FileSum& file) {
    json::object sums;
    for (const auto& sum : file.sums) sums[digest::name(sum.algorithm())] = sum.hex();
    const auto path = json_text(file.path);
    json::object fields{{"path", path}};
    if (path != file.path) fields["path_hex"] = hex_of(as_data(file.path));  // it is not UTF-8
    fields["offset"] = range.offset;
    fields["length"] = nullptr;
    if (file.status == fixity::Status::ok) fields["length"] = file.size;
    fields["sums"] = std::move(sums);
    fields["status"] = fixity::name(file.status);
    fields["error"] = json_error(file);
    return fields;
}

}  // namespace

Result<> read_value(std::string_view text, RangeOption& to) {
    const auto colon = text.find(':');
    Bytes offset, length;
    if (colon == std::string_view::npos || !read_value(text.substr(0, colon), offset))
        return fail(
            Errc::usage,
            fmt::format("\"{}\" is not a range; write OFF:LEN, as in 1MiB:4KiB, or OFF: for all behind it", text));
    to.bytes = {.offset = offset.count(), .length = std::nullopt};
    if (colon + 1 == text.size()) return {};
    WEIR_TRY(read_value(text.substr(colon + 1), length));
    to.bytes.length = length.count();
    return {};
}

std::string shown_value(const RangeOption& range) {
    const auto& [offset, length] = range.bytes;
    return fmt::format("{}:{}", offset, length ? fmt::to_string(*length) : "");
}

int sum_ranges(std::string_view command, const RangeSettings& settings) {
    const Interruptible interruptible;
    const SystemClock clock;
    ReadPlan plan(settings.reading, clock);
    SumVerdict verdict;
    json::array ranges;
    for (const auto& path : settings.paths) {
        const auto file = fixity::sum_range(path, settings.range, settings.algorithms, plan.reading());
        verdict.count(file);
        if (file.status == fixity::Status::stopped) break;
        if (const auto text = complaint(file); !text.empty()) complain(command, text);
        if (settings.json) ranges.push_back(fields_of(settings.range, file));
        else print_lines(settings.range, file);
    }
    plan.warn_of_threads(command);
    verdict.interrupted = stop_is_pending();
    // Not "files": a check of this document must not take a part for the whole.
    if (settings.json) print_json(json::object{{"ranges", std::move(ranges)}, {"interrupted", verdict.interrupted}});
    return end_with(command, verdict.exit_code());
}

}  // namespace weir::app
