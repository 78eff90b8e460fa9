// SPDX-License-Identifier: Apache-2.0
// How long a thread was ready to run and did not get a processor, because others had them all. What was measured
// while that was long is a figure of the others.
#pragma once

#include <chrono>

namespace weir::app {

class ProcessorWait {
public:
    /// Of the calling thread; any thread may ask for it while that one lives.
    ProcessorWait();
    ~ProcessorWait();
    ProcessorWait(const ProcessorWait&) = delete;
    ProcessorWait& operator=(const ProcessorWait&) = delete;

    /// So far, without a wait that has not ended; 0 when the kernel does not count it.
    [[nodiscard]] std::chrono::nanoseconds now() const noexcept;

private:
    int schedstat_;
};

}  // namespace weir::app
