// SPDX-License-Identifier: Apache-2.0
// adler32 by several threads.
#include <algorithm>
#include <cstring>
#include <memory>

#include "values.hpp"
#include "weir/checksum/parallel_adler32.hpp"

using namespace weir;

struct weir_parallel_adler32 {
    explicit weir_parallel_adler32(const checksum::ParallelOptions& options) : sum(options) {}

    checksum::ParallelAdler32 sum;
};

namespace {

bool parse(const weir_parallel_options& from, checksum::ParallelOptions& to) {
    using checksum::Scheme;
    if (from.threads > checksum::ParallelOptions::threads_max || from.zlib_kernel > 1 || from.pin > 1) return false;
    switch (from.scheme) {
        case WEIR_SCHEME_DEFAULT:
        case WEIR_SCHEME_SPIN_THEN_SLEEP: to.scheme = Scheme::spin_then_sleep; break;
        case WEIR_SCHEME_THREAD_PER_CHUNK: to.scheme = Scheme::thread_per_chunk; break;
        case WEIR_SCHEME_CONDITION_BOTH_WAYS: to.scheme = Scheme::condition_both_ways; break;
        case WEIR_SCHEME_CONDITION_THEN_SPIN: to.scheme = Scheme::condition_then_spin; break;
        default: return false;
    }
    to.threads = from.threads;
    to.cutoff = from.cutoff;
    if (from.zlib_kernel == 1) to.kernel = checksum::AdlerKernel::zlib;
    to.pin = from.pin == 1;
    constexpr std::uint64_t spin_ns_max = 1'000'000'000;  // a second of spinning is more than any caller can want
    if (from.spin_ns != 0) to.spin = std::chrono::nanoseconds(std::min(from.spin_ns, spin_ns_max));
    return true;
}

}  // namespace

weir_parallel_adler32* weir_parallel_adler32_new(const weir_parallel_options* given, int* error) {
    std::unique_ptr<weir_parallel_adler32> object;
    const int code = c::guarded([&]() -> int {
        // A caller that was built with an older header has a shorter struct; what it lacks is zero.
        weir_parallel_options options = WEIR_PARALLEL_OPTIONS_INIT;
        if (given != nullptr) {
            if (given->struct_size < sizeof given->struct_size) return WEIR_INVALID;
            std::memcpy(&options, given, std::min(given->struct_size, sizeof options));
        }
        checksum::ParallelOptions parsed;
        if (!parse(options, parsed)) return WEIR_INVALID;
        object = std::make_unique<weir_parallel_adler32>(parsed);
        return WEIR_OK;
    });
    if (error != nullptr) *error = code;
    return object.release();
}

uint32_t weir_parallel_adler32_sum(weir_parallel_adler32* object, const void* data, size_t size, uint32_t value) {
    return object->sum(c::data_of(data, size), value);
}

size_t weir_parallel_adler32_cutoff(const weir_parallel_adler32* object) {
    static_assert(checksum::ParallelOptions::never == WEIR_CUTOFF_NEVER);
    return object->sum.cutoff();
}

uint32_t weir_parallel_adler32_threads(const weir_parallel_adler32* object) { return object->sum.threads(); }

void weir_parallel_adler32_free(weir_parallel_adler32* object) { delete object; }
