// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/testing/journal_damage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "weir/datafile/journal.hpp"
#include "weir/datafile/stored_index.hpp"

namespace weir::testing {
namespace {

/// Where the rounds of a journal begin; its end when it has none.
std::vector<std::size_t> rounds_of(ConstData journal) {
    std::vector<std::size_t> begins;
    datafile::for_each_record(journal, [&](const datafile::JournalRecord& record) {
        if (const auto* commit = std::get_if<datafile::JournalCommit>(&record)) begins.push_back(commit->offset);
        return true;
    });
    if (begins.empty()) begins.push_back(journal.size());
    return begins;
}

void check(const Result<>& done) {
    if (!done) throw std::runtime_error(done.error().message());
}

void write(const std::filesystem::path& path, ConstData bytes, FileSystem& system) {
    auto file = File::open(path, File::Mode::read_write, system).value();
    check(file.truncate(0));
    check(file.write_at(0, bytes));
    check(file.sync_data());
}

}  // namespace

std::string damage_journal(const std::filesystem::path& path, ConstData older, std::mt19937_64& random,
                           FileSystem& system) {
    const auto below = [&](std::uint64_t bound) { return bound == 0 ? 0 : random() % bound; };
    auto bytes = datafile::read_records(path).value();
    const auto begins = rounds_of(bytes);
    const auto at = below(bytes.size());
    const auto size = std::min<std::size_t>(1 + below(300), bytes.size() - at);
    const auto where = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto there = fmt::format(" {} bytes at {} of {}", size, at, bytes.size());
    const auto last = std::min(begins.back(), bytes.size());
    std::string what;
    switch (below(12)) {
        case 0: std::ranges::fill(bytes, std::byte{0}), what = "all zeros"; break;
        case 1: std::fill_n(where, size, std::byte{0}), what = "zeroed" + there; break;
        case 2: bytes.resize(at), what = fmt::format("cut at {}", at); break;
        case 3:
            bytes.resize(begins[below(begins.size())]), what = fmt::format("cut to {} between rounds", bytes.size());
            break;
        case 4: bytes.insert(where, size, std::byte{0x5a}), what = "inserted" + there; break;
        case 5: bytes.erase(where, where + static_cast<std::ptrdiff_t>(size)), what = "removed" + there; break;
        case 6:
            if (last < bytes.size()) bytes[last + below(bytes.size() - last)] ^= std::byte{1};
            what = "the last round flipped";
            break;
        case 7:
            std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(last), bytes.end(), std::byte{0});
            what = "the last round zeroed";
            break;
        case 8:
            check(remove_file(path, system));
            check(sync_directory(path.parent_path(), system));
            return "absent";
        case 9: bytes.clear(), what = "empty"; break;
        case 10:
            if (!older.empty()) bytes.assign(older.begin(), older.end());
            what = "an older copy";
            break;
        default:
            if (!bytes.empty()) bytes[at] ^= static_cast<std::byte>(1U << below(8));
            what = fmt::format("flipped at {}", at);
    }
    write(path, bytes, system);
    return what;
}

}  // namespace weir::testing
