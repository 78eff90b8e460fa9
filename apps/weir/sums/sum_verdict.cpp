// SPDX-License-Identifier: Apache-2.0
#include "sums/sum_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <new>

#include "cli/command_line.hpp"
#include "cli/output.hpp"

namespace weir::app {
namespace {

using fixity::FileSum;
using fixity::Status;

const digest::Digest* sum_of(const FileSum& file, digest::Algorithm algorithm) {
    const auto found = std::ranges::find(file.sums, algorithm, &digest::Digest::algorithm);
    return found == file.sums.end() ? nullptr : &*found;
}

std::string wrong_sums(const FileSum& file) {
    std::string text;
    const auto& expected = *file.expected;
    const auto add = [&text](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
    if (expected.size && *expected.size != file.size)
        add(fmt::format("it has {} bytes, expected {}", file.size, *expected.size));
    for (const auto& claimed : expected.sums) {
        const auto* made = sum_of(file, claimed.algorithm());
        if (made != nullptr && *made != claimed)
            add(fmt::format("{} is {}, expected {}", digest::name(claimed.algorithm()), made->hex(), claimed.hex()));
    }
    const auto is_made = [&](const digest::Digest& claimed) {
        return std::ranges::find(file.sums, claimed) != file.sums.end();
    };
    if (!expected.one_of.empty() && std::ranges::none_of(expected.one_of, is_made)) {
        std::string names;
        for (const auto& claimed : expected.one_of)
            names += (names.empty() ? "" : ", ") + std::string(digest::name(claimed.algorithm()));
        add(fmt::format("none of {} is {}", names, expected.one_of.front().hex()));
    }
    if (!expected.blocks.empty()) {
        if (const auto first = fixity::first_difference(expected.blocks, file.blocks)) {
            const auto count = fixity::differences(expected.blocks, file.blocks);
            add(fmt::format("{} of {}, the first at offset {}, {}",
                            count == 1 ? "1 block differs" : fmt::format("{} blocks differ", count),
                            std::max(expected.blocks.sums.size(), file.blocks.sums.size()),
                            *first * expected.blocks.block, to_string(Bytes{expected.blocks.block}) + " each"));
        }
    }
    return text;
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

json::object json_sums(const std::vector<digest::Digest>& sums) {
    json::object object;
    for (const auto& sum : sums) object[digest::name(sum.algorithm())] = sum.hex();
    return object;
}

}  // namespace

void SumVerdict::count(const FileSum& file) {
    switch (file.status) {
        case Status::ok: ++ok; break;
        case Status::mismatch: ++mismatch; break;
        case Status::missing: ++missing; break;
        case Status::error: ++error; break;
        case Status::changed: ++changed; break;
        case Status::unverified: ++unverified; break;
        case Status::stale: ++stale; break;
        case Status::unchanged: ++unchanged; return;
        case Status::extra: ++extra, bytes += file.size; return;
        case Status::moved: ++moved, bytes += file.size; return;
        case Status::duplicate: ++duplicate, bytes += file.size; return;
        case Status::skipped: ++special; return;
        case Status::stopped: ++stopped; return;
    }
    if (file.attributes.not_stored) ++not_stored;
    if (file.attributes.taken) ++taken;
    else bytes += file.size;
}

int SumVerdict::exit_code() const noexcept {
    if (interrupted) return exit_interrupted;
    if (mismatch > 0) return exit_mismatch;
    if (error > 0 || not_stored > 0) return exit_read_error;
    if (changed > 0) return exit_changed;
    if (malformed > 0) return exit_malformed;
    return missing > 0 || extra + moved + duplicate > 0 || stale > 0 || unverified > taken ? exit_missing : exit_good;
}

int fail_work(std::string_view command, const Error& error) {
    const int code = fail_with(command, error);
    return code == exit_bad ? exit_read_error : code;
}

int run_or_fail(std::string_view command, const std::function<int()>& run) {
    try {
        return run();
    } catch (const std::bad_alloc&) {
        complain(command, "there is not enough memory for the work; give it more, or take fewer threads with -j");
    } catch (const std::exception& error) {
        complain(command, error.what());
    }
    return exit_read_error;
}

int end_with(std::string_view command, int code) {
    if (output_arrived_or_reported(command) || code == exit_interrupted || code == exit_mismatch) return code;
    return exit_read_error;
}

std::string summary(const SumVerdict& verdict, double seconds) {
    auto text = fmt::format("{} of {} good", with_commas(verdict.ok), counted(verdict.files(), "file"));
    const auto add = [&text](std::uint64_t number, std::string_view what) {
        if (number > 0) text += fmt::format(", {} {}", with_commas(number), what);
    };
    add(verdict.mismatch, "with another content");
    add(verdict.missing, "missing");
    add(verdict.error, "not readable");
    add(verdict.changed, "changed while being read");
    add(verdict.stale, "with sums of an older state");
    add(verdict.unverified - verdict.taken, "with nothing valid to hold against");
    add(verdict.taken, "not read, sums from attributes");
    add(verdict.unchanged, "unchanged and not read");
    add(verdict.moved, "moved");
    add(verdict.duplicate, "more that are duplicates");
    add(verdict.extra, "more that no manifest names");
    add(verdict.special, "skipped");
    add(verdict.links, "links not followed");
    add(verdict.malformed, "malformed");
    if (verdict.interrupted) text += ", then interrupted";
    return text + fmt::format("; {} in {:.2f} s ({:.2f} GB/s)", human(Bytes{verdict.bytes}), seconds,
                              gb_per_s(verdict.bytes, seconds));
}

std::string complaint(const FileSum& file) {
    const auto why = file.failure ? file.failure->text : std::string();
    switch (file.status) {
        case Status::missing: return fmt::format("{} is not there: {}", file.path, why);
        case Status::skipped: return fmt::format("{} is {}; it was skipped", file.path, why);
        case Status::changed:
            return fmt::format(
                "{} changed while it was read: {}; no sum was made, try again when no program writes to it", file.path,
                why);
        case Status::error:
            if (file.failure && file.failure->offset)
                return fmt::format("cannot read {} at offset {}: {} (errno {}); no sum was made, try a copy of it",
                                   file.path, *file.failure->offset, why, file.failure->os_errno);
            if (file.failure && file.failure->os_errno == EISDIR && file.expected)
                return fmt::format("{} is a directory, and the manifest has the sum of a file; nothing was checked",
                                   file.path);
            if (file.failure && file.failure->os_errno == EISDIR)
                return fmt::format("{} is a directory; -r sums what is in it", file.path);
            if (file.failure && file.failure->os_errno == 0)
                return fmt::format("no sum of {} was made: {}", file.path, why);
            return fmt::format("cannot open {}: {} (errno {}); no sum was made", file.path, why,
                               file.failure ? file.failure->os_errno : 0);
        default: return {};
    }
}

std::string finding(const FileSum& file) {
    switch (file.status) {
        case Status::ok: return "OK";
        case Status::mismatch: {
            auto text = file.expected ? wrong_sums(file) : std::string();
            if (!file.attributes.mismatches.empty())
                text += (text.empty() ? "" : ", ") +
                        fmt::format("{} is not of these bytes", joined(file.attributes.mismatches));
            return fmt::format("MISMATCH ({})", text);
        }
        case Status::missing: return "MISSING";
        case Status::error:
            return file.failure && file.failure->offset
                       ? fmt::format("ERROR (at offset {}: {})", *file.failure->offset, file.failure->text)
                       : fmt::format("ERROR ({})", file.failure ? file.failure->text : "");
        case Status::changed: return fmt::format("CHANGED ({})", file.failure ? file.failure->text : "");
        case Status::stale:
            return fmt::format("STALE ({}: made of an older state of the file)", joined(file.attributes.stale));
        case Status::unverified:
            return fmt::format("UNVERIFIED ({})",
                               file.failure ? file.failure->text : "there is no sum to hold it against");
        case Status::unchanged: return "UNCHANGED (not read: its attribute is current, and as expected)";
        case Status::extra: return "EXTRA (no manifest names it)";
        case Status::moved:
            return fmt::format("MOVED (its bytes are those of {}, which is not at its place)", printable(file.same_as));
        case Status::duplicate: return fmt::format("DUPLICATE (its bytes are those of {})", printable(file.same_as));
        case Status::skipped: return "SKIPPED";
        case Status::stopped: return "STOPPED";
    }
    return "?";
}

json::value json_error(const FileSum& file) {
    if (!file.failure) return nullptr;
    json::object error{{"offset", nullptr}, {"errno", file.failure->os_errno}, {"text", json_text(file.failure->text)}};
    if (file.failure->offset) error["offset"] = *file.failure->offset;
    return error;
}

std::string json_fields(const FileSum& file) {
    json::object more{{"status", fixity::name(file.status)}, {"error", json_error(file)}};
    if (!file.same_as.empty()) more["same_as"] = json_text(file.same_as);
    if (file.attributes.not_stored) more["not_stored"] = true;
    more["read"] = file.attributes.taken ? "attribute" : fixity::name(file.read_through);
    if (file.expected) {
        const auto& expected = *file.expected;
        more["expected"] = json_sums(expected.sums.empty() ? expected.one_of : expected.sums);
        more["line"] = expected.line;
        if (!expected.blocks.empty() && !file.blocks.empty()) {
            const auto first = fixity::first_difference(expected.blocks, file.blocks);
            json::object blocks{{"size", expected.blocks.block},
                                {"number", expected.blocks.sums.size()},
                                {"different", fixity::differences(expected.blocks, file.blocks)},
                                {"first_offset", nullptr}};
            if (first) blocks["first_offset"] = *first * expected.blocks.block;
            more["damage"] = std::move(blocks);
        }
    }
    if (!file.attributes.stored.empty()) {
        json::array stored;
        for (const auto& one : file.attributes.stored) {
            const bool wrong =
                std::ranges::find(file.attributes.mismatches, one.attribute) != file.attributes.mismatches.end();
            stored.push_back(json::object{{"name", one.attribute},
                                          {"algorithm", digest::name(one.sum.algorithm())},
                                          {"sum", one.sum.hex()},
                                          {"status", !one.current            ? "stale"
                                                     : wrong                 ? "mismatch"
                                                     : file.attributes.taken ? "taken"
                                                                             : "ok"}});
        }
        more["attributes"] = std::move(stored);
    }
    const auto text = json::serialize(more);
    return "," + text.substr(1, text.size() - 2);
}

std::string json_fields(const SumVerdict& verdict, double seconds) {
    const json::object more{{"ok", verdict.ok},
                            {"mismatch", verdict.mismatch},
                            {"missing", verdict.missing},
                            {"errors", verdict.error},
                            {"changed", verdict.changed},
                            {"unverified", verdict.unverified},
                            {"stale", verdict.stale},
                            {"unchanged", verdict.unchanged},
                            {"extra", verdict.extra},
                            {"moved", verdict.moved},
                            {"duplicate", verdict.duplicate},
                            {"malformed", verdict.malformed},
                            {"not_stored", verdict.not_stored},
                            {"skipped", json::object{{"special", verdict.special}, {"links", verdict.links}}},
                            {"interrupted", verdict.interrupted},
                            {"bytes", verdict.bytes},
                            {"seconds", seconds},
                            {"gb_per_s", gb_per_s(verdict.bytes, seconds)}};
    const auto text = json::serialize(more);
    return "," + text.substr(1, text.size() - 2);
}

}  // namespace weir::app
