// SPDX-License-Identifier: Apache-2.0
#include "checksum/peer_library.hpp"

#include <dlfcn.h>

namespace weir::app {

PeerLibrary::PeerLibrary(const char* file) noexcept : handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {}

void* PeerLibrary::address(const char* symbol) const noexcept {
    return handle_ == nullptr ? nullptr : ::dlsym(handle_, symbol);
}

}  // namespace weir::app
