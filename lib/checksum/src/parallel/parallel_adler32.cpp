// SPDX-License-Identifier: Apache-2.0
// Choice of scheme, kernel and cutoff.
#include "weir/checksum/parallel_adler32.hpp"

#include <array>
#include <utility>

#include "adler32/adler32_zlib.hpp"
#include "parallel/fork_generation.hpp"
#include "parallel/handover.hpp"
#include "parallel/parallel_cutoff.hpp"
#include "weir/base/assert.hpp"

namespace weir::checksum {
namespace {

constexpr std::array<std::pair<Scheme, std::string_view>, 4> scheme_names{{
    {Scheme::thread_per_chunk, "thread-per-chunk"},
    {Scheme::condition_both_ways, "condition-both-ways"},
    {Scheme::condition_then_spin, "condition-then-spin"},
    {Scheme::spin_then_sleep, "spin-then-sleep"},
}};

constexpr std::array<std::pair<AdlerKernel, std::string_view>, 2> kernel_names{{
    {AdlerKernel::ours, "ours"},
    {AdlerKernel::zlib, "zlib"},
}};

template <class Names, class Value>
std::string_view name_in(const Names& names, Value value) noexcept {
    for (const auto& [known, text] : names)
        if (known == value) return text;
    return "unknown";
}

std::unique_ptr<Handover> make_handover(const ParallelOptions& options, SumFunction* kernel) {
    switch (options.scheme) {
        case Scheme::thread_per_chunk: return make_thread_handover(options, kernel);
        case Scheme::condition_both_ways:
        case Scheme::condition_then_spin: return make_condition_handover(options, kernel);
        case Scheme::spin_then_sleep: break;
    }
    return make_spin_handover(
        std::make_shared<Workers>(
            WorkerOptions{.threads = options.threads, .pin = options.pin, .cpus = options.cpus, .spin = options.spin}),
        kernel);
}

SumFunction* function_of(AdlerKernel kernel) {
    return kernel == AdlerKernel::zlib ? adler32_zlib : best(adler32_kernels(), CpuFeatures::detect()).run;
}

}  // namespace

std::string_view name(Scheme scheme) noexcept { return name_in(scheme_names, scheme); }
std::string_view name(AdlerKernel kernel) noexcept { return name_in(kernel_names, kernel); }

ParallelAdler32::ParallelAdler32(const ParallelOptions& options)
    : kernel_(function_of(options.kernel)), born_(fork_generation()) {
    WEIR_ASSERT(options.threads <= ParallelOptions::threads_max);
    if (options.threads != 0) split_by(make_handover(options, kernel_), options.cutoff);
}

ParallelAdler32::ParallelAdler32(std::shared_ptr<Workers> workers, std::size_t cutoff, AdlerKernel kernel)
    : kernel_(function_of(kernel)), born_(fork_generation()) {
    WEIR_ASSERT(workers != nullptr);
    if (workers->threads() != 0) split_by(make_spin_handover(std::move(workers), kernel_), cutoff);
}

void ParallelAdler32::split_by(std::unique_ptr<Handover> handover, std::size_t cutoff) {
    handover_ = std::move(handover);
    cutoff_ = cutoff != 0 ? cutoff : measure_cutoff(*handover_, kernel_);
}

ParallelAdler32::~ParallelAdler32() {
    // In a fork's child there are no threads to stop and join, and a mutex may be held for ever.
    if (born_ != fork_generation()) static_cast<void>(handover_.release());
}

std::uint32_t ParallelAdler32::split(ConstData data, std::uint32_t value) noexcept {
    // Off, and the event is as large as `never`; or the workers stayed behind in the process that forked.
    if (handover_ == nullptr || born_ != fork_generation()) return kernel_(data, value);
    return handover_->sum(data, value);
}

unsigned ParallelAdler32::threads() const noexcept {
    return handover_ == nullptr || born_ != fork_generation() ? 0 : handover_->threads();
}

unsigned ParallelAdler32::pins_refused() const noexcept { return handover_ == nullptr ? 0 : handover_->pins_refused(); }

}  // namespace weir::checksum
