// SPDX-License-Identifier: Apache-2.0
#include "weir/base/named_thread.hpp"

#include <pthread.h>

namespace weir {

void name_this_thread(const std::string& thread_name) noexcept {
    static_cast<void>(::pthread_setname_np(::pthread_self(), thread_name.substr(0, 15).c_str()));
}

}  // namespace weir
