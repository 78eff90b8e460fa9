// SPDX-License-Identifier: Apache-2.0
// Threads that may be missing: a limit of processes or of memory is no reason to end, where the work can be done with
// fewer of them.
#pragma once

#include <new>
#include <system_error>
#include <utility>

namespace weir {

/// Makes `thread` (a std::thread or std::jthread without one) run `work`. False: the system has no thread or no memory
/// for one; `thread` is as before.
template <class Thread, class Work>
[[nodiscard]] bool start_thread(Thread& thread, Work&& work) {
    try {
        thread = Thread(std::forward<Work>(work));
        return true;
    } catch (const std::system_error&) {
        return false;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace weir
