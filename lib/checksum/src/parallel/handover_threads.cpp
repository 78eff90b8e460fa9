// SPDX-License-Identifier: Apache-2.0
// Scheme (i): a new thread for every part but the caller's. The baseline of the paper: it shows what a
// hand-over costs when nothing is prepared.
#include <vector>

#include "parallel/handover.hpp"

namespace weir::checksum {
namespace {

class ThreadHandover final : public Handover {
public:
    ThreadHandover(const ParallelOptions& options, SumFunction* kernel)
        : kernel_(kernel), threads_(options.threads), cpus_(pinned_cpus(options)) {}

    std::uint32_t sum(ConstData data, std::uint32_t value) noexcept override {
        PartList list(threads_ + 1);
        const auto parts = list.parts();
        split_evenly(data, value, parts);
        std::array<std::thread, ParallelOptions::threads_max> threads;
        for (std::size_t i = 1; i < parts.size(); ++i) {
            Part& part = parts[i];
            const auto sum_part = [this, &part] { part.sum = kernel_(part.data, part.start); };
            if (!start_thread(threads[i - 1], sum_part)) {
                sum_part();
            } else if (!cpus_.empty() && !pin_thread(threads[i - 1].native_handle(), cpus_[i - 1])) {
                pins_refused_.fetch_add(1, std::memory_order_relaxed);
            }
        }
        parts[0].sum = kernel_(parts[0].data, parts[0].start);
        for (auto& thread : threads)
            if (thread.joinable()) thread.join();
        return join_sums(parts);
    }

    unsigned threads() const noexcept override { return static_cast<unsigned>(threads_); }
    unsigned pins_refused() const noexcept override { return pins_refused_.load(std::memory_order_relaxed); }

private:
    SumFunction* const kernel_;
    const std::size_t threads_;
    const std::vector<int> cpus_;
    std::atomic<unsigned> pins_refused_{0};
};

}  // namespace

std::unique_ptr<Handover> make_thread_handover(const ParallelOptions& options, SumFunction* kernel) {
    return std::make_unique<ThreadHandover>(options, kernel);
}

}  // namespace weir::checksum
