// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/verification.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <map>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "verify/stored_once.hpp"
#include "weir/base/file.hpp"
#include "weir/base/start_thread.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/datafile/checksum_attribute.hpp"
#include "weir/datafile/file_sums.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::recovery {
namespace {

/// One file under proof; collects what is wrong with it.
class Examination {
public:
    Examination(FileVerification& result, const VerificationOptions& options) : result_(result), options_(options) {}

    void damage(std::optional<std::uint64_t> event, std::uint64_t offset, std::string reason,
                bool as_received = false) {
        // Counted apart: badly made events, however many, do not displace what happened to the file here.
        auto& count = as_received ? as_received_ : damaged_;
        if (count == options_.damages_max) return;
        ++count;
        result_.damages.push_back({result_.path, event, offset, std::move(reason), as_received});
    }

    void read(std::uint64_t bytes) {
        result_.bytes += bytes;
        if (options_.progress) options_.progress(bytes);
    }

    /// Compares what should be there byte by byte; names the first that is not.
    void same(ConstData found, ConstData expected, std::optional<std::uint64_t> event, std::uint64_t offset,
              std::string_view what) {
        const auto size = std::min(found.size(), expected.size());
        const auto differs =
            std::mismatch(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(size), expected.begin());
        if (differs.first == found.begin() + static_cast<std::ptrdiff_t>(size) && found.size() == expected.size())
            return;
        damage(event, offset + static_cast<std::uint64_t>(differs.first - found.begin()),
               fmt::format("{} is not what was recorded", what));
    }

    void event(ConstData bytes, event::Format format, std::uint64_t number, std::uint64_t offset, bool as_received) {
        if (const auto good = event::check_event(bytes, format, options_.depth, options_.rules); !good)
            damage(number, offset, good.error().context, as_received);
    }

private:
    FileVerification& result_;
    const VerificationOptions& options_;
    std::size_t damaged_ = 0, as_received_ = 0;
};

void check_file_sum(Examination& examination, std::string_view who, std::optional<std::uint32_t> expected,
                    std::uint32_t found) {
    if (expected && *expected != found)
        examination.damage(std::nullopt, 0,
                           fmt::format("adler32 of the file is {:08x}, that of {} is {:08x}", found, who, *expected));
}

std::optional<std::uint32_t> sum_of_row(const catalogue::FileRow* row) {
    if (row == nullptr) return std::nullopt;
    for (const auto& sum : row->sums) {
        if (sum.algorithm != "adler32") continue;
        std::uint32_t value = 0;
        std::from_chars(sum.value.data(), sum.value.data() + sum.value.size(), value, 16);
        return value;
    }
    return std::nullopt;
}

void check_end(Examination& examination, const event::FileEnd& end, std::uint64_t offset, std::uint64_t events,
               std::uint64_t bytes, const datafile::FileOpened* opened) {
    const auto check = [&](std::string_view what, std::uint64_t found, std::uint64_t expected) {
        if (found != expected)
            examination.damage(std::nullopt, offset,
                               fmt::format("the end record has {} {}, it is {}", what, found, expected));
    };
    check("events in the file:", end.events_in_file, events);
    check("MiB in the file:", end.mib_in_file, event::rounded_mib(Bytes{bytes}));
    if (opened == nullptr) return;
    check("events in the sequence:", end.events_in_sequence, opened->events_before + events);
    check("MiB in the sequence:", end.mib_in_sequence, event::rounded_mib(Bytes{opened->bytes_before + bytes}));
}

/// Reads the range, or reports what could not be read; a hole in what can be read does not end the proof.
bool read_range(Examination& examination, const File& file, std::uint64_t offset, MutableData to,
                std::optional<std::uint64_t> event) {
    if (const auto got = file.read_at(offset, to); !got) {
        examination.damage(event, offset, got.error().message());
        return false;
    }
    examination.read(to.size());
    return true;
}

void verify_with_index(const File& file, const datafile::StoredIndex& index, Examination& examination,
                       FileVerification& result) {
    const auto& opened = index.opened;
    const auto& closed = index.closed;
    if (const auto size = file.size(); size && *size != closed.size)
        examination.damage(std::nullopt, std::min(*size, closed.size),
                           fmt::format("the file has {} bytes, {} were recorded", *size, closed.size));
    bool all_read = true;
    std::vector<std::byte> buffer(opened.start.size());
    std::uint32_t adler32 = checksum::adler32_start;
    std::uint32_t crc32c = 0;
    if (read_range(examination, file, 0, buffer, std::nullopt)) {
        examination.same(buffer, opened.start, std::nullopt, 0, "the file start");
        if (const auto head = event::parse_file_head(buffer); !head)
            examination.damage(std::nullopt, 0, head.error().context);
        adler32 = checksum::adler32(buffer, adler32);
        crc32c = checksum::crc32c(buffer, crc32c);
    } else {
        all_read = false;
    }
    if (opened.counts_alone && (opened.blocks_before != 0 || opened.events_before != 0 || opened.bytes_before != 0))
        examination.damage(
            std::nullopt, opened.start.size(),
            fmt::format("data block numbers begin after {} where they count within the file", opened.blocks_before));
    std::uint64_t number = 0;
    std::uint64_t end = opened.start.size();
    for (const auto& copy : index.copies) {
        ++number;
        if (copy.offset != end || copy.guid != opened.guid)
            examination.damage(number, copy.offset,
                               fmt::format("the index places the event at {}, it should be at {}", copy.offset, end));
        if (copy.block_number != opened.blocks_before + number)
            examination.damage(number, copy.offset,
                               fmt::format("data block number {} does not follow {}", copy.block_number,
                                           opened.blocks_before + number - 1));
        end = copy.offset + event::separator_size_bytes + copy.length;
        if (copy.length > datafile::RawFileReader::event_size_max.count() || end > closed.size) {
            examination.damage(number, copy.offset, fmt::format("the index claims an event of {} bytes", copy.length));
            all_read = false;
            break;
        }
        buffer.resize(event::separator_size_bytes + copy.length);
        if (!read_range(examination, file, copy.offset, buffer, number)) {
            all_read = false;
            continue;
        }
        ++result.events;
        std::array<std::byte, event::separator_size_bytes> separator;
        event::encode_separator(separator, {copy.block_number, static_cast<std::uint32_t>(copy.length)});
        const auto head = ConstData(buffer).first(separator.size());
        const auto bytes = ConstData(buffer).subspan(separator.size());
        examination.same(head, separator, number, copy.offset, "the data separator");
        const auto event_adler32 = checksum::adler32(bytes);
        adler32 = checksum::adler32_combine(checksum::adler32(head, adler32), event_adler32, bytes.size());
        const auto event_offset = copy.offset + separator.size();
        if (opened.has_adler32 && event_adler32 != copy.adler32)
            examination.damage(number, event_offset,
                               fmt::format("adler32 of the event (id {}) is {:08x}, recorded was {:08x}",
                                           weir::number(copy.event), event_adler32, copy.adler32));
        const auto event_crc32c = checksum::crc32c(bytes);
        crc32c = checksum::crc32c_combine(checksum::crc32c(head, crc32c), event_crc32c, bytes.size());
        if (event_crc32c != copy.crc32c ||
            datafile::placed_crc32c(copy.guid, copy.offset, event_crc32c, copy.length) != copy.placed_crc32c)
            examination.damage(number, event_offset,
                               fmt::format("crc32c of the event (id {}) is {:08x}, recorded was {:08x}",
                                           weir::number(copy.event), event_crc32c, copy.crc32c));
        const bool as_received = event_crc32c == copy.crc32c && (!opened.has_adler32 || event_adler32 == copy.adler32);
        examination.event(bytes, opened.format, number, event_offset, as_received);
    }
    buffer.resize(closed.end.size());
    if (read_range(examination, file, end, buffer, std::nullopt)) {
        examination.same(buffer, closed.end, std::nullopt, end, "the end record");
        if (const auto record = event::parse_file_end(buffer, end)) {
            check_end(examination, *record, end, closed.events, closed.bytes, &opened);
        } else {
            examination.damage(std::nullopt, end, record.error().context);
        }
        adler32 = checksum::adler32(buffer, adler32);
        crc32c = checksum::crc32c(buffer, crc32c);
    } else {
        all_read = false;
    }
    if (!all_read) return;
    result.adler32 = adler32;
    if (opened.has_adler32) check_file_sum(examination, "the index", closed.adler32, adler32);
    if (closed.crc32c != crc32c)
        examination.damage(
            std::nullopt, 0,
            fmt::format("crc32c of the file is {:08x}, that of the index is {:08x}", crc32c, closed.crc32c));
}

void verify_by_walking(datafile::RawFileReader& reader, Examination& examination, FileVerification& result) {
    std::vector<std::byte> bytes;
    std::uint32_t adler32 = checksum::adler32(reader.head_bytes());
    examination.read(reader.head_bytes().size());
    std::uint64_t event_bytes = 0;
    std::optional<std::uint32_t> last_block;
    while (true) {
        const auto offset = reader.position();
        const auto block = reader.next(bytes);
        if (!block) return examination.damage(result.events + 1, offset, block.error().message());
        if (!*block) break;
        ++result.events;
        event_bytes += bytes.size();
        examination.read(event::separator_size_bytes + bytes.size());
        std::array<std::byte, event::separator_size_bytes> separator;
        event::encode_separator(separator, (*block)->separator);
        adler32 = checksum::adler32(bytes, checksum::adler32(separator, adler32));
        const auto number = (*block)->separator.block_number;
        // Files of BES III do not count their blocks from 1, and skip some.
        if (reader.head().version != event::file_version_bes3 && last_block && number != *last_block + 1)
            examination.damage(result.events, offset,
                               fmt::format("data block number {} does not follow {}", number, *last_block));
        last_block = number;
        examination.event(bytes, reader.head().format(), result.events, offset + event::separator_size_bytes, false);
    }
    if (!reader.end())
        return examination.damage(std::nullopt, reader.size(), "the file has no end record: it was not closed");
    const auto end = reader.size() - event::file_end_size_bytes;
    check_end(examination, *reader.end(), end, result.events, event_bytes, nullptr);
    std::array<std::byte, event::file_end_size_bytes> record;
    if (!read_range(examination, reader.file(), end, record, std::nullopt)) return;
    result.adler32 = checksum::adler32(record, adler32);
}

/// Block numbers from each file of a sequence to the next, where that one is here: others may be deleted by now. What a
/// crash cut off had numbers too: with a file that was cut, or after it, there may be a gap. A file whose numbers count
/// within it proves itself, and nothing of the next.
void check_sequences(std::span<const FileToVerify> files, VerificationReport& report) {
    using Key = std::tuple<RunNumber, std::string, std::string, std::string, LumiBlock>;
    std::map<Key, std::map<std::uint32_t, const FileToVerify*>> sequences;
    for (const auto& file : files) {
        if (!file.row) continue;
        const auto& row = *file.row;
        sequences[{row.run, row.recorder, row.stream_type, row.stream_name, row.lumi_block}][row.sequence] = &file;
    }
    for (const auto& [key, sequence] : sequences) {
        std::optional<std::uint64_t> before = 0;
        std::uint32_t last = 0;
        bool cut = false;
        for (const auto& [number, file] : sequence) {
            const auto index = datafile::StoredIndex::read(datafile::index_path_of(file->path));
            if (!index) break;  // reported already
            cut = cut || index->closed.cut || file->row->file_health != catalogue::FileHealth::sane;
            const auto begins_after = index->opened.blocks_before;
            const bool alone = index->opened.counts_alone;
            if (!alone && before && number == last + 1 && begins_after != *before && !(cut && begins_after > *before))
                report.damages.push_back({file->path, 1, index->opened.start.size(),
                                          fmt::format("data block numbers begin after {}, the sequence stood at {}",
                                                      begins_after, *before)});
            before = alone ? std::nullopt : std::optional(begins_after + index->closed.events);
            last = number;
        }
    }
}

/// Promise 2: each copy once. A file that was not recorded by weir, or has lost its index, cannot be checked.
void check_stored_once(std::span<const FileToVerify> files, VerificationReport& report) {
    StoredOnce once;
    for (const auto& file : files) {
        const auto index = datafile::StoredIndex::read(datafile::index_path_of(file.path));
        if (!index) continue;  // reported already
        const auto name = event::parse_raw_file_name(file.path.filename().native());
        const auto recorder = file.row ? file.row->recorder : name ? name->name.application : std::string();
        if (const auto twice = once.add(recorder, *index))
            report.damages.push_back(
                {file.path, twice->event, twice->offset,
                 fmt::format("event {} of session {} is stored a second time; so are {} of this file in all",
                             number(twice->sequence), twice->session, twice->copies)});
    }
}

}  // namespace

FileVerification verify_file(const std::filesystem::path& path, const catalogue::FileRow* row,
                             const VerificationOptions& options) {
    FileVerification result;
    result.path = path;
    Examination examination(result, options);
    auto file = File::open(path, File::Mode::read);
    if (!file) {
        examination.damage(std::nullopt, 0, file.error().message());
        return result;
    }
    if (options.from_disk)
        ::posix_fadvise(file->fd(), 0, 0, POSIX_FADV_DONTNEED);  // pages that are synced can be released
    ::posix_fadvise(file->fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
    const auto index_path = datafile::index_path_of(path);
    std::error_code error;
    if (std::filesystem::exists(index_path, error)) {
        const auto index = datafile::StoredIndex::read(index_path);
        if (index) {
            result.has_index = true;
            verify_with_index(*file, *index, examination, result);
        } else {
            examination.damage(std::nullopt, 0, index.error().message());
        }
    } else if (row != nullptr) {
        examination.damage(std::nullopt, 0, "its index is missing");
    }
    if (!result.has_index) {
        auto reader = datafile::RawFileReader::open(path);
        if (reader) {
            verify_by_walking(*reader, examination, result);
        } else {
            examination.damage(std::nullopt, 0, reader.error().message());
        }
    }
    if (!result.adler32) return result;
    check_file_sum(examination, "the catalogue", sum_of_row(row), *result.adler32);
    if (row != nullptr && row->events != result.events)
        examination.damage(
            std::nullopt, 0,
            fmt::format("the file holds {} events, {} according to the catalogue", result.events, row->events));
    const auto attribute = datafile::read_adler32_attribute(*file);
    if (!attribute) {
        examination.damage(std::nullopt, 0, attribute.error().message());
    } else if (*attribute) {
        check_file_sum(
            examination,
            (*attribute)->current ? "its attribute" : "its attribute, made before the file was last modified,",
            (*attribute)->adler32, *result.adler32);
    }
    return result;
}

std::uint64_t VerificationReport::files_good() const noexcept {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(files, [](const FileVerification& f) { return f.damages.empty(); }));
}

VerificationReport verify_files(std::span<const FileToVerify> files, const VerificationOptions& options) {
    VerificationReport report;
    report.files.resize(files.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < files.size();)
            report.files[i] = verify_file(files[i].path, files[i].row ? &*files[i].row : nullptr, options);
    };
    {
        const auto count = std::min<std::size_t>(options.threads, files.size());
        std::vector<std::jthread> threads;
        threads.reserve(count);
        for (std::size_t i = 1; i < count; ++i) {
            std::jthread thread;
            if (!start_thread(thread, work)) break;  // those that there are do all of it
            threads.push_back(std::move(thread));
        }
        work();
    }
    for (const auto& file : report.files) std::ranges::copy(file.damages, std::back_inserter(report.damages));
    check_sequences(files, report);
    check_stored_once(files, report);
    return report;
}

}  // namespace weir::recovery
