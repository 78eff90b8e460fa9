// SPDX-License-Identifier: Apache-2.0
#include "sums/sum_output.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>

#include "cli/output.hpp"
#include "weir/base/file.hpp"

namespace weir::app {
namespace {

constexpr int name_tries = 100;

std::optional<fixity::FileStamp> regular(int got, const struct stat& status) {
    return got == 0 && S_ISREG(status.st_mode) ? std::optional(fixity::stamp_of(status)) : std::nullopt;
}

bool same_file(const std::optional<fixity::FileStamp>& a, const fixity::FileStamp& b) noexcept {
    return a && a->device == b.device && a->inode == b.inode;
}

/// A new file beside `path`; its name is in `name`. The process id alone is not enough: other machines and
/// containers write here too, and a file of a crash must not be in the way.
std::FILE* open_temporary(const std::filesystem::path& path, std::filesystem::path& name) {
    static std::random_device random;  // one thread opens files
    for (int i = 0; i < name_tries; ++i) {
        name = fmt::format("{}.weir-{:08x}", path.native(), random());
        auto* file = std::fopen(name.c_str(), "wxe");
        if (file != nullptr || errno != EEXIST) return file;
    }
    return nullptr;
}

/// The new file is for the same people as the one that it replaces.
void take_over_rights(int fd, const std::filesystem::path& replaced) noexcept {
    struct stat status{};
    if (::lstat(replaced.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    auto mode = status.st_mode & 07777U;
    if (::fchown(fd, status.st_uid, status.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), status.st_gid) != 0)
        mode &= ~070U;  // of another group
    static_cast<void>(::fchmod(fd, mode));
}

}  // namespace

SumOutput::SumOutput(std::FILE* file, std::filesystem::path path, std::filesystem::path temporary)
    : file_(file), path_(std::move(path)), temporary_(std::move(temporary)) {
    struct stat status{};
    written_ = regular(::fstat(::fileno(file), &status), status);
    if (!temporary_.empty())
        replaced_ = regular(::lstat(path_.c_str(), &status), status);  // of a link only the link goes
}

bool SumOutput::is_own(const fixity::FileStamp& stamp) const noexcept {
    return same_file(written_, stamp) || same_file(replaced_, stamp);
}

bool SumOutput::has_own_name(const fixity::FileStamp& stamp) const noexcept {
    return same_file(temporary_.empty() ? written_ : replaced_, stamp);
}

bool SumOutput::failed() const noexcept { return path_.empty() ? output_errno() != 0 : error_ != 0; }

Result<SumOutput> SumOutput::open(const std::filesystem::path& path) {
    if (path.empty() || path == "-") return SumOutput(stdout, {}, {});
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    const bool direct = std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
    std::filesystem::path temporary;
    auto* file = direct ? std::fopen(path.c_str(), "we") : open_temporary(path, temporary);
    if (file == nullptr)
        return fail_errno(errno, fmt::format("cannot write {}; choose another place with -o", path.native()));
    if (!temporary.empty()) take_over_rights(::fileno(file), path);
    return SumOutput(file, path, std::move(temporary));
}

SumOutput::~SumOutput() {
    std::error_code ignored;
    if (file_ && !temporary_.empty()) std::filesystem::remove(temporary_, ignored);  // not finished
}

void SumOutput::write(std::string_view text) {
    if (path_.empty()) return print(text);
    if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size()) error_ = errno;
}

Result<> SumOutput::finish(bool complete) {
    if (path_.empty()) return {};  // the end of the program checks what was printed
    if (error_ == 0 && std::fflush(file_.get()) != 0) error_ = errno;
    if (error_ == 0 && !temporary_.empty() && ::fsync(::fileno(file_.get())) != 0) error_ = errno;
    auto* file = file_.release();
    if (std::fclose(file) != 0 && error_ == 0) error_ = errno;
    std::error_code ignored;
    if (error_ != 0) {
        if (!temporary_.empty()) std::filesystem::remove(temporary_, ignored);
        return fail_errno(error_, fmt::format("cannot write {}; what was there before is untouched", path_.native()));
    }
    if (temporary_.empty()) return {};
    auto target = path_;
    if (!complete) target += ".partial";
    if (std::rename(temporary_.c_str(), target.c_str()) == 0) {
        auto synced = sync_directory(path_.has_parent_path() ? path_.parent_path() : ".");
        const bool has_none = !synced && (synced.error().os_errno == EINVAL || synced.error().os_errno == ENOSYS);
        return has_none ? Result<>{} : synced;  // some network file systems cannot sync a directory
    }
    const int why = errno;
    std::filesystem::remove(temporary_, ignored);
    return fail_errno(why, fmt::format("cannot rename the new manifest to {}", target.native()));
}

Result<> write_whole(const std::filesystem::path& path, std::string_view text) {
    auto output = WEIR_TRY(SumOutput::open(path));
    output.write(text);
    return output.finish(true);
}

}  // namespace weir::app
