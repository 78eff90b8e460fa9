// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/drain.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "found_files.hpp"
#include "weir/base/file.hpp"
#include "weir/catalogue/file_sums.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/datafile/checksum_attribute.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::recovery {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t block = 4U << 20;
constexpr std::string_view unfinished = ".draining";

/// Of all bytes that were read, made while reading.
struct ReadSums {
    std::uint64_t size = 0;
    std::uint32_t adler32 = 1;
    std::uint32_t crc32c = 0;

    bool operator==(const ReadSums&) const = default;
    void add(ConstData data) {
        size += data.size();
        adler32 = checksum::adler32(data, adler32);
        crc32c = checksum::crc32c(data, crc32c);
    }
};

Result<ReadSums> read_all(const File& file, const std::function<Result<>(std::uint64_t, ConstData)>& each) {
    ReadSums sums;
    std::vector<std::byte> buffer(block);
    while (true) {
        const auto got = WEIR_TRY(file.read_some_at(sums.size, buffer));
        if (got == 0) return sums;
        const auto data = ConstData(buffer).first(got);
        if (each) {
            WEIR_TRY(each(sums.size, data));
        }
        sums.add(data);
    }
}

/// As they lie on the disk: what the kernel keeps in memory is released first.
Result<ReadSums> stored_sums(const fs::path& path) {
    const auto file = WEIR_TRY(File::open(path, File::Mode::read));
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_DONTNEED);
    return read_all(file, {});
}

/// Whether the catalogue's sums are of these bytes; a file without sums there has none to disagree.
bool agrees(const catalogue::FileRow& row, const ReadSums& sums) {
    return sums.size == row.bytes && std::ranges::all_of(row.sums, [&](const catalogue::FileSum& sum) {
               if (sum.algorithm == "adler32")
                   return catalogue::same_sum(sum.value, fmt::format("{:08x}", sums.adler32));
               if (sum.algorithm == "crc32c") return catalogue::same_sum(sum.value, fmt::format("{:08x}", sums.crc32c));
               return true;
           });
}

std::uint64_t free_space(const fs::path& directory) {
    std::error_code error;
    const auto space = fs::space(directory, error);
    return error ? 0 : space.available;
}

class Drain {
public:
    Drain(const DrainOptions& options, catalogue::Catalogue& catalogue) : options_(options), catalogue_(catalogue) {}

    Result<> move(const catalogue::FileRow& row) {
        const auto from = fs::path(row.volume) / row.name;
        const auto target = std::ranges::max(options_.targets, {}, free_space);
        auto to = target / row.name;
        std::error_code error;
        // Copied completely by an earlier call that was interrupted before the catalogue had it?
        for (const auto& earlier : options_.targets) {
            if (fs::exists(earlier / row.name, error)) to = earlier / row.name;
        }
        if (!fs::exists(to, error)) {
            const auto free = free_space(target);
            if (free < row.bytes + row.bytes / 64)
                return fail_errno(ENOSPC,
                                  fmt::format("{} has {} bytes free, {} needs {}; name another volume with --to",
                                              target.native(), free, from.native(), row.bytes));
            WEIR_TRY(copy(row, from, to));
        } else if (const auto there = stored_sums(to); !there || !agrees(row, *there)) {
            return fail(Errc::refused,
                        fmt::format("{} is there already and is another file; move it away", to.native()));
        } else {  // a power cut may have kept the name of the data and not that of the index
            WEIR_TRY(copy_index(from, to));
            WEIR_TRY(sync_directory(to.parent_path()));
        }
        auto known = catalogue_.file_moved(row.guid, to.parent_path().native(), row.name);
        if (known) return remove_source(from);
        // Handed over and deleted meanwhile? Then the copy is removed too: the catalogue does not have it.
        const auto now = WEIR_TRY(catalogue_.file(row.guid));
        if (now && now->file_state == catalogue::FileState::closed) return known;
        static_cast<void>(remove_file(datafile::index_path_of(to)));
        return remove_file(to);
    }

    /// What lies here and is elsewhere in the catalogue: nothing, when what is there is the file as it was recorded,
    /// with its index; or when it was deleted there, being safe with others.
    Result<> prove_moved(const catalogue::FileRow& row, const fs::path& from) {
        if (row.file_state == catalogue::FileState::deleted) return {};
        const auto to = fs::path(row.volume) / row.name;
        const auto there = stored_sums(to);
        std::error_code error;
        if (there && agrees(row, *there) &&
            (!fs::exists(datafile::index_path_of(from), error) || fs::exists(datafile::index_path_of(to), error)))
            return {};
        return fail(Errc::refused,
                    fmt::format("{} stays: it is {} now in the catalogue, and that is not there with its "
                                "index, as it was recorded; is its disk mounted?",
                                from.native(), to.native()));
    }

    /// What was moved, and is still here because an earlier call was cut short.
    Result<> remove_source(const fs::path& from) {
        std::error_code error;
        if (fs::exists(from, error)) {
            WEIR_TRY(remove_file(from));
        }
        if (fs::exists(datafile::index_path_of(from), error)) {
            WEIR_TRY(remove_file(datafile::index_path_of(from)));
        }
        return sync_directory(from.parent_path());
    }

private:
    /// File and index under other names, proved, then renamed: a name without the ending is complete.
    Result<> copy(const catalogue::FileRow& row, const fs::path& from, const fs::path& to) {
        WEIR_TRY(copy_one(from, to, &row));
        WEIR_TRY(copy_index(from, to));
        // On the disk before the data has its name: what has one is complete.
        WEIR_TRY(sync_directory(to.parent_path()));
        WEIR_TRY(rename_new(to.native() + std::string(unfinished), to));
        return sync_directory(to.parent_path());
    }

    /// That of `from` beside `to`, unless it is there already.
    Result<> copy_index(const fs::path& from, const fs::path& to) {
        const auto index = datafile::index_path_of(from);
        const auto index_to = datafile::index_path_of(to);
        std::error_code error;
        if (!fs::exists(index, error)) return {};
        if (fs::exists(index_to, error)) {
            const auto here = WEIR_TRY(stored_sums(index));
            if (const auto there = stored_sums(index_to); there && *there == here) return {};
            WEIR_TRY(remove_file(index_to));
        }
        WEIR_TRY(copy_one(index, index_to, nullptr));
        return rename_new(index_to.native() + std::string(unfinished), index_to);
    }

    Result<> copy_one(const fs::path& from, const fs::path& to, const catalogue::FileRow* row) {
        const fs::path aside = to.native() + std::string(unfinished);
        std::error_code error;
        if (fs::exists(aside, error)) {  // of a call that was cut short
            WEIR_TRY(remove_file(aside));
        }
        auto source = WEIR_TRY(File::open(from, File::Mode::read));
        auto target = WEIR_TRY(File::open(aside, File::Mode::create_new));
        const auto undo = [&](Error why) -> Result<> {
            static_cast<void>(remove_file(aside));
            return std::unexpected(std::move(why));
        };
        const auto sums = read_all(source, [&](std::uint64_t offset, ConstData data) {
            if (options_.progress && row != nullptr) options_.progress(data.size());
            return target.write_at(offset, data);
        });
        if (!sums) return undo(sums.error());
        const bool trusted = row != nullptr && row->file_health != catalogue::FileHealth::quarantined;
        if (trusted && !agrees(*row, *sums)) {
            return undo({Errc::corrupt, 0,
                         fmt::format("{} is not as it was recorded and stays where it is; weir verify "
                                     "names the damage",
                                     from.native())});
        }
        if (trusted) {
            const auto adler = std::ranges::find(row->sums, "adler32", &catalogue::FileSum::algorithm);
            if (adler != row->sums.end()) {
                const auto set =
                    datafile::write_adler32_attribute(target, sums->adler32, row->closed.value_or(row->opened));
                if (!set && set.error().code != Errc::unsupported) return undo(set.error());
            }
        }
        if (auto synced = target.sync_data(); !synced) return undo(synced.error());
        if (auto closed = target.close(); !closed) return undo(closed.error());
        const auto stored = stored_sums(aside);
        if (!stored) return undo(stored.error());
        if (*stored == *sums) return {};
        return undo({Errc::corrupt, 0,
                     fmt::format("the copy of {} in {} does not hold what was written there; look after "
                                 "that disk",
                                 from.native(), to.parent_path().native())});
    }

    const DrainOptions& options_;
    catalogue::Catalogue& catalogue_;
};

}  // namespace

Result<Bytes> drain_size(const fs::path& volume, catalogue::Catalogue& catalogue) {
    const auto place = WEIR_TRY(one_spelling(volume));
    const auto rows = WEIR_TRY(catalogue.files({.volume = place.native(), .file_state = catalogue::FileState::closed}));
    Bytes size;
    for (const auto& row : rows) size += Bytes{row.bytes};
    return size;
}

Result<DrainResult> drain_volume(const DrainOptions& given, catalogue::Catalogue& catalogue) {
    auto options = given;
    options.volume = WEIR_TRY(one_spelling(options.volume));
    for (auto& target : options.targets) {
        target = WEIR_TRY(one_spelling(target));
        if (target == options.volume)
            return fail(Errc::usage, fmt::format("{} cannot be emptied into itself; name another volume with --to",
                                                 target.native()));
    }
    if (options.targets.empty()) return fail(Errc::usage, "no volume to move the files to; name one with --to");
    const auto rows =
        WEIR_TRY(catalogue.files({.volume = options.volume.native(), .file_state = catalogue::FileState::closed}));
    DrainResult result;
    Drain drain(options, catalogue);
    for (const auto& row : rows) {
        if (options.stop && options.stop()) {
            result.stopped = true;
            break;
        }
        if (const auto moved = drain.move(row); !moved) {
            result.failed.push_back(moved.error());
            continue;
        }
        ++result.files;
        result.bytes += row.bytes;
    }
    std::error_code error;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(options.volume, error), end; !error && it != end; it.increment(error))
        found.push_back(it->path());
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", options.volume.native()));
    std::set<fs::path> moved;
    for (const auto& path : found) {
        const auto name = event::parse_raw_file_name(path.filename().native());
        if (!name) continue;
        result.open += name->rest == ".writing" ? 1U : 0U;
        if (name->rest != ".data" && name->rest != ".index") continue;
        auto data = path;
        data.replace_extension(".data");
        const auto index = datafile::StoredIndex::read(datafile::index_path_of(path));
        const auto row = WEIR_TRY(index ? catalogue.file(index->closed.guid)
                                        : Result<std::optional<catalogue::FileRow>>(std::nullopt));
        if (row && row->volume != options.volume.native()) {  // moved, and not yet removed here
            if (!moved.insert(data).second) continue;
            auto removed = drain.prove_moved(*row, data);
            if (removed) removed = drain.remove_source(data);
            if (!removed) result.failed.push_back(removed.error());
        } else if (!row && path == data) {
            ++result.unknown;
        }
    }
    return result;
}

}  // namespace weir::recovery
