// SPDX-License-Identifier: Apache-2.0
// A library of others, opened for a measurement when it is installed and not otherwise: weir needs none of
// them to be built. Each keeps its symbols to itself, so several that define the same names stand side by side.
#pragma once

#include <string>

namespace weir::app {

class PeerLibrary {
public:
    /// By the name that the dynamic linker knows: "libdeflate.so.0".
    explicit PeerLibrary(const char* file) noexcept;

    [[nodiscard]] explicit operator bool() const noexcept { return handle_ != nullptr; }

    /// A function of it; null when the library or the function is not there.
    template <class Function>
    [[nodiscard]] Function* find(const char* symbol) const noexcept {
        return reinterpret_cast<Function*>(address(symbol));
    }

private:
    [[nodiscard]] void* address(const char* symbol) const noexcept;

    void* handle_;  // stays open: what was found is called until the process ends
};

}  // namespace weir::app
