// SPDX-License-Identifier: Apache-2.0
// How the parts of an event reach other threads and how the sums come back: one class per scheme, chosen
// at run time. And their common parts: a part of an event, the splitting, the joining.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "parallel/spin.hpp"
#include "parallel/worker_threads.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/data.hpp"
#include "weir/checksum/parallel_adler32.hpp"

namespace weir::checksum {

/// Sums one event. sum() may be called from several threads at once.
class Handover {
public:
    virtual ~Handover() = default;
    [[nodiscard]] virtual std::uint32_t sum(ConstData data, std::uint32_t value) noexcept = 0;
    [[nodiscard]] virtual unsigned threads() const noexcept = 0;
    [[nodiscard]] virtual unsigned pins_refused() const noexcept = 0;
};

[[nodiscard]] std::unique_ptr<Handover> make_thread_handover(const ParallelOptions& options, SumFunction* kernel);
[[nodiscard]] std::unique_ptr<Handover> make_condition_handover(const ParallelOptions& options, SumFunction* kernel);
[[nodiscard]] std::unique_ptr<Handover> make_spin_handover(std::shared_ptr<Workers> workers, SumFunction* kernel);

/// A part of an event on the caller's stack. Where the caller waits for it busy (scheme iii), the thread that sums it
/// writes `sum`, then sets `done` (release) and does not touch it again: the caller, who reads `done` (acquire), may
/// return at once.
struct alignas(64) Part {
    void wait() const noexcept {
        spin_until([this] { return done.load(std::memory_order_acquire); });
    }

    ConstData data;
    std::uint32_t start = 1;  // the caller's value for the first part, else 1
    std::uint32_t sum = 0;
    std::atomic<bool> done{false};
};

/// The parts of one call, on the stack. Only as many as are used are ever written.
class PartList {
public:
    explicit PartList(std::size_t count) noexcept : parts_(reinterpret_cast<Part*>(storage_.data()), count) {
        WEIR_ASSERT(count <= parts_max);
        for (auto& part : parts_) std::construct_at(&part);
    }
    PartList(const PartList&) = delete;
    PartList& operator=(const PartList&) = delete;

    [[nodiscard]] std::span<Part> parts() noexcept { return parts_; }

private:
    static constexpr std::size_t parts_max = ParallelOptions::threads_max + 1;
    static_assert(std::is_trivially_destructible_v<Part> && sizeof(Part) == 64);
    alignas(Part) std::array<std::byte, parts_max * sizeof(Part)> storage_;
    std::span<Part> parts_;
};

/// Cuts `data` into parts of about equal size that end on cache lines counted from the start.
void split_evenly(ConstData data, std::uint32_t value, std::span<Part> parts) noexcept;

/// Joins the sums of all parts, in order.
[[nodiscard]] std::uint32_t join_sums(std::span<const Part> parts) noexcept;

/// The logical processor of each worker; empty when workers are not pinned.
[[nodiscard]] inline std::vector<int> pinned_cpus(const ParallelOptions& options) {
    return options.pin ? worker_cpus(options.threads, options.cpus) : std::vector<int>();
}

}  // namespace weir::checksum
