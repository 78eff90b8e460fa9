// SPDX-License-Identifier: Apache-2.0
#include "weir/handoff/directory_destination.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "weir/base/stoppable_sleep.hpp"
#include "weir/digest/summer.hpp"
#include "weir/fixity/pieces.hpp"

namespace weir::handoff {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t copied_size = 1 << 20;

Error as_error(const fixity::Failure& failure, std::string what) {
    return {Errc::io, failure.os_errno,
            failure.os_errno != 0 ? std::move(what) : fmt::format("{}: {}", what, failure.text)};
}

class DirectoryUpload final : public Upload {
public:
    DirectoryUpload(File file, std::stop_token stop)
        : file_(std::move(file)), stop_(std::move(stop)), buffer_(copied_size) {}

    Result<MutableData> space() override {
        if (stop_.stop_requested())
            return fail(Errc::refused, fmt::format("copy to {} was stopped", file_.path().native()));
        return buffer_.data();
    }
    Result<> put(std::size_t size) override {
        auto written = file_.write_at(at_, buffer_.data().first(size));
        at_ += size;
        return written;
    }
    Result<> finish() override {
        WEIR_TRY(file_.sync_data());
        return file_.close();
    }

private:
    File file_;
    const std::stop_token stop_;
    fixity::AlignedBuffer buffer_;
    std::uint64_t at_ = 0;
};

class DirectoryDestination final : public Destination {
public:
    DirectoryDestination(std::string name, fs::path root, FileSystem& system)
        : name_(std::move(name)), root_(std::move(root)), system_(system) {}

    const std::string& name() const noexcept override { return name_; }
    std::string url(const std::string& place) const override { return (root_ / place).native(); }

    Result<std::unique_ptr<Upload>> begin(const std::string& place, std::uint64_t, const Patience& patience) override {
        WEIR_TRY(check_root());
        const auto path = root_ / place;
        WEIR_TRY(make_directories(path.parent_path()));
        WEIR_TRY(remove(place, patience));
        auto file = WEIR_TRY(File::open(path, File::Mode::create_new, system_));
        return std::make_unique<DirectoryUpload>(std::move(file), patience.stop);
    }

    Result<std::optional<std::uint64_t>> size_of(const std::string& place, const Patience&) override {
        WEIR_TRY(check_root());
        // Asked each time: what is mounted here may change.
        WEIR_TRY(refuse_recorder_directory((root_ / place).parent_path()));
        struct stat status{};
        if (::lstat((root_ / place).c_str(), &status) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
            return fail_errno(errno, fmt::format("cannot look at {}", url(place)));
        }
        if (!S_ISREG(status.st_mode))
            return fail(Errc::refused, fmt::format("{} is not a regular file; move it away", url(place)));
        return static_cast<std::uint64_t>(status.st_size);
    }

    Result<std::optional<digest::Digest>> stored_sum(const std::string& place, digest::Algorithm algorithm,
                                                     const Patience& patience) override {
        auto sum = WEIR_TRY(read_back(place, algorithm, patience));
        return sum;
    }

    Result<digest::Digest> read_back(const std::string& place, digest::Algorithm algorithm,
                                     const Patience& patience) override {
        fixity::Reading how;
        how.cache = fixity::Cache::direct;
        how.overlap = fixity::Overlap::never;
        how.piece = Bytes{copied_size};
        how.stop = [&](std::chrono::nanoseconds at_most) { return !stoppable_sleep(at_most, patience.stop); };
        how.system = &system_;
        const auto what = fmt::format("cannot read back {}", url(place));
        const auto file = fixity::InputFile::open((root_ / place).native(), fixity::Origin::listed, how);
        if (!file) return std::unexpected(as_error(file.error(), what));
        digest::Summer summer(algorithm);
        fixity::PieceReader reader(how);
        const auto size = file->stamp().size;
        const auto read = reader.read(*file, 0, size, [&](ConstData piece) { summer.add(piece); });
        if (!read) return std::unexpected(as_error(read.error(), what));
        if (*read != size)
            return fail(Errc::truncated, fmt::format("{}: it ends at {} of {} bytes", what, *read, size));
        return summer.value();
    }

    Result<> rename_new(const std::string& from, const std::string& to, const Patience&) override {
        if (auto renamed = weir::rename_new(root_ / from, root_ / to, system_); !renamed) {
            if (renamed.error().os_errno == EEXIST) renamed.error().code = Errc::refused;
            return renamed;
        }
        return sync_directory((root_ / to).parent_path(), system_);
    }

    Result<> remove(const std::string& place, const Patience&) override {
        if (system_.unlink((root_ / place).c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
        return fail_errno(errno, fmt::format("cannot remove {}", url(place)));
    }

private:
    Result<> check_root() const {
        struct stat status{};
        if (::stat(root_.c_str(), &status) != 0)
            return fail_errno(errno, fmt::format("destination {} is not there; mount it or create it", root_.native()));
        if (!S_ISDIR(status.st_mode))
            return fail(Errc::usage, fmt::format("destination {} is not a directory", root_.native()));
        return refuse_recorder_directory(root_);
    }

    /// Each new one is synced into the one above it.
    Result<> make_directories(const fs::path& directory) {
        std::error_code error;
        if (fs::is_directory(directory, error)) return {};
        WEIR_TRY(make_directories(directory.parent_path()));
        if (!fs::create_directory(directory, error) && error)
            return fail_errno(error.value(), fmt::format("cannot create directory {}", directory.native()));
        return sync_directory(directory.parent_path(), system_);
    }

    const std::string name_;
    const fs::path root_;
    FileSystem& system_;
};

}  // namespace

Result<> refuse_recorder_directory(const fs::path& directory) {
    std::error_code error;
    if (!fs::exists(directory / "weir.lock", error)) return {};
    return fail(Errc::usage, fmt::format("{} is a directory that a recorder writes into (it holds weir.lock); hand "
                                         "over to another one",
                                         directory.native()));
}

std::unique_ptr<Destination> directory_destination(std::string name, fs::path root, FileSystem& system) {
    return std::make_unique<DirectoryDestination>(std::move(name), std::move(root), system);
}

}  // namespace weir::handoff
