// SPDX-License-Identifier: Apache-2.0
#include "allocate/allocate_candidates.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>

#include "cli/process/child_process.hpp"

namespace weir::app {

const std::vector<AllocateCandidate>& allocate_candidates() {
    static const std::vector<AllocateCandidate> all{
        {.name = "locked", .what = "one pool behind one lock", .color = "black"},
        {.name = "synchronized", .what = "std::pmr::synchronized_pool_resource", .color = "#7f7f7f"},
        {.name = "naive",
         .what = "a pool for each thread; memory goes to the pool of the thread that frees it",
         .color = "#9467bd"},
        {.name = "migrating", .what = "MigratingPool, by its allocator", .color = "#d62728", .ours = true},
        {.name = "migrating-pmr",
         .what = "MigratingPool, as a std::pmr::memory_resource",
         .color = "#ff9896",
         .ours = true},
        {.name = "arena", .what = "an arena for each event", .color = "#2ca02c", .ours = true},
        {.name = "glibc", .what = "operator new as it is", .color = "#1f77b4", .general = true},
        {.name = "mimalloc",
         .what = "operator new of mimalloc",
         .color = "#17becf",
         .general = true,
         .files = {"libmimalloc.so.2", "libmimalloc.so.3"},
         .package = "libmimalloc2.0"},
        {.name = "jemalloc",
         .what = "operator new of jemalloc",
         .color = "#e0a000",
         .general = true,
         .files = {"libjemalloc.so.2"},
         .package = "libjemalloc2"},
        {.name = "tcmalloc",
         .what = "operator new of gperftools",
         .color = "#8c564b",
         .general = true,
         .files = {"libtcmalloc_minimal.so.4", "libtcmalloc.so.4"},
         .package = "libtcmalloc-minimal4"},
    };
    return all;
}

const AllocateCandidate* allocate_candidate(std::string_view name) {
    const auto& all = allocate_candidates();
    const auto found = std::ranges::find(all, name, &AllocateCandidate::name);
    return found == all.end() ? nullptr : &*found;
}

std::optional<std::string> installed_of(const std::vector<std::string>& files) {
    for (const auto& file : files) {
        // Opening an allocator in this process could change it; loading it into another one does not.
        auto tried = ChildProcess::start({"sh", "-c", R"(LD_PRELOAD=$0 exec env true 2>&1 >/dev/null)", file}, true);
        if (!tried) return std::nullopt;
        if (const auto status = tried->wait(); status.exit_code == 0 && status.output.empty()) return file;
    }
    return std::nullopt;
}

std::string library_of_new() {
    Dl_info where{};
    void* const found = ::dlsym(RTLD_DEFAULT, "_Znwm");  // operator new(std::size_t)
    if (found == nullptr || ::dladdr(found, &where) == 0 || where.dli_fname == nullptr) return {};
    return std::filesystem::path(where.dli_fname).filename().native();
}

}  // namespace weir::app
