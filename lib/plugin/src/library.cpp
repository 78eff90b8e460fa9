// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <system_error>

namespace weir::plugin {

Result<const void*> load_library(const std::filesystem::path& path, const LibraryKind& kind) {
    std::error_code ignored;
    // With a slash in it the loader takes this very file, and no other of the same name.
    const auto whole = std::filesystem::absolute(path, ignored);
    void* library = ::dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = ::dlerror();
        return fail(Errc::usage, fmt::format("cannot load the {} {}: {}", kind.name, path.string(),
                                             why != nullptr ? why : "no reason given"));
    }
    const void* face = ::dlsym(library, kind.symbol);
    if (face == nullptr)
        return fail(Errc::usage,
                    fmt::format("{} is a library, but no {}: it has no {}", path.string(), kind.name, kind.macro));
    return face;
}

std::unexpected<Error> built_against_another_weir(const std::filesystem::path& path, const LibraryKind& kind) {
    return fail(Errc::unsupported,
                fmt::format("the {} {} was built against another weir; build it again", kind.name, path.string()));
}

}  // namespace weir::plugin
