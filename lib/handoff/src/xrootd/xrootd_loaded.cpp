// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <mutex>
#include <string_view>

#include "xrootd/xrootd_module.hpp"

namespace weir::handoff {
namespace {

namespace fs = std::filesystem;

struct Module {
    MakeXrootdDestination* make = nullptr;
    std::string why_not;
};

/// Where it lies seen from the program, installed and in a build folder; else its name, for the system's own search.
std::string place_of_module() {
    std::error_code error;
    const auto program = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const auto* folder : {WEIR_MODULE_FOLDERS, "."}) {
        auto path = (program / folder / xrootd_module).lexically_normal();
        if (fs::exists(path, error)) return path.native();
    }
    return xrootd_module;
}

Module load() {
    const auto place = place_of_module();
    // For good: the client's threads outlast every destination.
    void* const handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* reason = ::dlerror();
        return {nullptr,
                fmt::format("{}; install {} with weir (built with -D WEIR_HANDOFF_XROOTD=ON) and the package libxrdcl3",
                            reason != nullptr ? reason : place, xrootd_module)};
    }
    const auto* build = static_cast<const char*>(::dlsym(handle, "weir_handoff_xrootd_build"));
    auto* make = reinterpret_cast<MakeXrootdDestination*>(::dlsym(handle, "weir_handoff_xrootd_make"));
    if (build == nullptr || make == nullptr || std::string_view(build) != WEIR_VERSION)
        return {nullptr, fmt::format("{} is of another weir than this one, {}; install both from one build", place,
                                     WEIR_VERSION)};
    return {make, {}};
}

}  // namespace

Result<std::unique_ptr<Destination>> xrootd_destination(std::string name, const std::string& url,
                                                        const XrootdOptions& options) {
    static std::once_flag once;
    static Module module;
    std::call_once(once, [] { module = load(); });
    if (module.make == nullptr)
        return fail(Errc::unsupported, fmt::format("cannot hand over to {}: {}", url, module.why_not));
    Result<std::unique_ptr<Destination>> made;
    module.make(std::move(name), url, options, made);
    return made;
}

}  // namespace weir::handoff
