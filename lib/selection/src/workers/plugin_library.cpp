// SPDX-License-Identifier: Apache-2.0
#include "workers/plugin_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <system_error>

#include "weir/selection/selector.hpp"

namespace weir::selection {

Result<SelectFunction*> load_library(const std::filesystem::path& path) {
    std::error_code ignored;
    // With a slash in it the loader takes this very file, and no other of the same name.
    const auto whole = std::filesystem::absolute(path, ignored);
    void* library = ::dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = ::dlerror();
        return fail(Errc::usage, fmt::format("cannot load the selection {}: {}", path.string(),
                                             why != nullptr ? why : "no reason given"));
    }
    const auto* face = static_cast<const LibraryFace*>(::dlsym(library, "weir_selection"));
    if (face == nullptr)
        return fail(Errc::usage,
                    fmt::format("{} is a library, but no selection: it has no WEIR_SELECTION", path.string()));
    const LibraryFace ours{};
    if (face->version != ours.version || face->event_size != ours.event_size ||
        face->decision_size != ours.decision_size || face->select == nullptr)
        return fail(Errc::unsupported,
                    fmt::format("the selection {} was built against another weir; build it again", path.string()));
    return face->select;
}

Result<Decision> call_selection(const std::function<SelectFunction>& function, const Event& event) {
    // A plug-in is foreign code: its exceptions end here.
    try {
        Decision decision;
        function(event, decision);
        WEIR_TRY(check_decision(decision));
        return decision;
    } catch (const std::exception& error) {
        return fail(Errc::refused, error.what());
    } catch (...) {
        return fail(Errc::refused, "it threw something that is no std::exception");
    }
}

}  // namespace weir::selection
