// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/sum_many.hpp"

#include "files/sum_pool.hpp"

namespace weir::fixity {

void sum_many(const JobSource& source, const FileSink& sink, const Reading& how, const Parallel& parallel,
              const Clock& clock, const std::function<void()>& idle) {
    SumPool pool(how, parallel, clock);
    bool more = true;
    while (true) {
        while (more && pool.size() < parallel.window) {
            auto job = how.stop && how.stop({}) ? std::nullopt : source();
            if (!job) {
                more = false;
                break;
            }
            pool.add(std::move(*job));
            while (auto result = pool.next({})) sink(std::move(*result));
        }
        if (pool.size() == 0 && !more) return;
        if (auto result = pool.next(std::chrono::milliseconds{100})) sink(std::move(*result));
        if (idle) idle();
    }
}

}  // namespace weir::fixity
