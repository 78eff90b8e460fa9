// SPDX-License-Identifier: Apache-2.0
// Scheme (iv): the parts go to the slots of a pool of workers (task_slots.hpp), which other callers may share.
#include <algorithm>
#include <chrono>
#include <vector>

#include "parallel/handover.hpp"
#include "parallel/task_slots.hpp"
#include "weir/checksum/adler32.hpp"

namespace weir::checksum {
namespace {

/// Bytes that the kernel sums while a worker is woken.
std::size_t size_worth_waking(SumFunction* kernel) {
    using SteadyClock = std::chrono::steady_clock;
    const std::vector<std::byte> sample(16 << 10);
    auto fastest = SteadyClock::duration::max();
    std::uint32_t value = 1;
    for (int trial = 0; trial < 3; ++trial) {
        const auto begin = SteadyClock::now();
        value = kernel(sample, value);
        fastest = std::min(fastest, SteadyClock::now() - begin);
    }
    const auto steps = Workers::worth_waking / std::max<SteadyClock::duration>(fastest, std::chrono::nanoseconds(1));
    return value == 0 ? 0 : sample.size() * static_cast<std::size_t>(steps + 1);  // the sum is never 0
}

/// A part as it stands in a worker's slot.
struct PartTask {
    SumFunction* kernel;
    ConstData data;
    std::uint32_t sum;

    void run() noexcept { sum = kernel(data, adler32_start); }
};

class SpinHandover final : public Handover {
public:
    SpinHandover(std::shared_ptr<Workers> workers, SumFunction* kernel)
        : kernel_(kernel), size_worth_waking_(size_worth_waking(kernel)), workers_(std::move(workers)) {}

    std::uint32_t sum(ConstData data, std::uint32_t value) noexcept override {
        auto* const slots = workers_->slots();
        if (slots == nullptr) return kernel_(data, value);
        // First the free workers are counted, so that the event is cut into as many parts as will be summed side by
        // side.
        Helpers helpers(*slots, ParallelOptions::threads_max, data.size() >= size_worth_waking_);
        const auto count = helpers.count();
        if (count == 0) return kernel_(data, value);

        PartList list(count + 1);
        const auto parts = list.parts();
        split_evenly(data, value, parts);
        for (std::size_t i = 0; i < count; ++i) helpers.offer(i, PartTask{kernel_, parts[i + 1].data, 0});
        parts[0].sum = kernel_(parts[0].data, parts[0].start);
        // From the back: the last offered is the least likely to be begun.
        std::array<bool, ParallelOptions::threads_max> at_work;
        for (std::size_t i = count; i > 0; --i) {
            at_work[i - 1] = !helpers.withdraw(i - 1);
            if (!at_work[i - 1]) parts[i].sum = kernel_(parts[i].data, parts[i].start);
        }
        for (std::size_t i = 0; i < count; ++i)
            if (at_work[i]) parts[i + 1].sum = helpers.finished<PartTask>(i).sum;
        return join_sums(parts);
    }

    unsigned threads() const noexcept override { return workers_->threads(); }
    unsigned pins_refused() const noexcept override { return workers_->pins_refused(); }

private:
    SumFunction* const kernel_;
    const std::size_t size_worth_waking_;
    const std::shared_ptr<Workers> workers_;  // shared with all users of the pool
};

}  // namespace

std::unique_ptr<Handover> make_spin_handover(std::shared_ptr<Workers> workers, SumFunction* kernel) {
    return std::make_unique<SpinHandover>(std::move(workers), kernel);
}

}  // namespace weir::checksum
