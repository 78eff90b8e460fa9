// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/tree_walk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>

namespace weir::fixity {
namespace {

WalkItem failed(std::string path, int why) {
    return {WalkItem::Kind::failure, std::move(path), 0, Failure{std::nullopt, why, std::strerror(why)}};
}

WalkItem other(WalkItem::Kind kind, std::string path, const char* what) {
    return {kind, std::move(path), 0, Failure{std::nullopt, 0, what}};
}

unsigned char type_of(mode_t mode) { return static_cast<unsigned char>(IFTODT(mode)); }

}  // namespace

TreeWalk::TreeWalk(std::string root, bool follow) : follow_(follow), root_(std::move(root)) {}

std::optional<WalkItem> TreeWalk::next() {
    if (!begun_) {
        begun_ = true;
        if (auto problem = enter(root_)) return problem;
    }
    while (!stack_.empty()) {
        auto& directory = stack_.back();
        if (directory.at == directory.order.size()) {
            stack_.pop_back();
            continue;
        }
        const char* entry = directory.names.data() + directory.order[directory.at++];
        auto path = directory.path;
        if (!path.ends_with('/')) path += '/';
        path += entry + 1;
        if (auto item = classify(static_cast<unsigned char>(*entry), std::move(path), directory.device)) return item;
    }
    return std::nullopt;
}

/// Nothing when it is a directory that was entered.
std::optional<WalkItem> TreeWalk::classify(unsigned char type, std::string path, std::uint64_t device) {
    if (type == DT_UNKNOWN || (type == DT_LNK && follow_)) {
        struct stat status{};
        const int got = follow_ ? ::stat(path.c_str(), &status) : ::lstat(path.c_str(), &status);
        if (got != 0) {
            const int why = errno;
            return failed(std::move(path), why);  // ELOOP for a loop of links, ENOENT for a dangling one
        }
        type = type_of(status.st_mode);
        device = status.st_dev;
    }
    switch (type) {
        case DT_REG: return WalkItem{WalkItem::Kind::file, std::move(path), device, {}};
        case DT_DIR: return enter(std::move(path));
        case DT_LNK: return other(WalkItem::Kind::link, std::move(path), "a symbolic link");
        case DT_FIFO: return other(WalkItem::Kind::special, std::move(path), "a FIFO");
        case DT_SOCK: return other(WalkItem::Kind::special, std::move(path), "a socket");
        case DT_CHR: return other(WalkItem::Kind::special, std::move(path), "a character device");
        case DT_BLK: return other(WalkItem::Kind::special, std::move(path), "a block device");
        default: return other(WalkItem::Kind::special, std::move(path), "of an unknown kind");
    }
}

std::optional<WalkItem> TreeWalk::enter(std::string path) {
    // The root may be a link: the user named it. Others only when links are followed.
    const bool through_links = follow_ || stack_.empty();
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (through_links ? 0 : O_NOFOLLOW));
    if (fd < 0) {
        const int why = errno;
        return failed(std::move(path), why);
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> handle(::fdopendir(fd), &::closedir);
    struct stat status{};
    if (!handle || ::fstat(fd, &status) != 0) {
        const int why = errno;
        if (!handle) ::close(fd);
        return failed(std::move(path), why);
    }
    if (follow_ && std::ranges::any_of(stack_, [&](const Directory& d) {
            return d.device == status.st_dev && d.inode == status.st_ino;
        }))
        return other(WalkItem::Kind::link, std::move(path), "a symbolic link to a directory above itself");
    Directory directory{
        .path = std::move(path), .device = status.st_dev, .inode = status.st_ino, .names = {}, .order = {}, .at = 0};
    int problem = 0;
    while (true) {
        errno = 0;
        const auto* entry = ::readdir(handle.get());
        if (entry == nullptr) {
            problem = errno;
            break;
        }
        if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
        if (directory.names.size() > std::numeric_limits<std::uint32_t>::max() - 1024) {
            problem = EOVERFLOW;
            break;
        }
        directory.order.push_back(static_cast<std::uint32_t>(directory.names.size()));
        directory.names += static_cast<char>(entry->d_type);
        directory.names.append(entry->d_name, std::strlen(entry->d_name) + 1);
    }
    const char* names = directory.names.data();
    std::ranges::sort(directory.order, [names](std::uint32_t a, std::uint32_t b) {
        return std::strcmp(names + a + 1, names + b + 1) < 0;
    });
    auto error = problem == 0 ? std::nullopt : std::optional(failed(directory.path, problem));
    stack_.push_back(std::move(directory));
    return error;
}

}  // namespace weir::fixity
