// SPDX-License-Identifier: Apache-2.0
// The kernel of a list that this process runs, chosen at the first call. Every later call is one load and one jump: the
// pointer begins at a function that chooses, so that nothing asks whether the choice was made. (A static variable of a
// function is asked for at each call, and the code that makes it takes six registers: as much as the sum of 16 bytes.)
#pragma once

#include <atomic>
#include <span>
#include <type_traits>

#include "weir/checksum/kernels.hpp"

namespace weir::checksum {

template <class Function>
struct ChosenFrom;

template <class Value, class... Arguments>
struct ChosenFrom<Value(Arguments...) noexcept> {
    using Function = Value(Arguments...) noexcept;

    /// `kernels` returns a list of kernels.hpp.
    template <std::span<const Kernel<Function>> (*kernels)() noexcept>
    struct [[gnu::visibility("hidden")]] List {
        [[nodiscard, gnu::always_inline]] static Value run(Arguments... arguments) noexcept {
            return function_.load(std::memory_order_relaxed)(arguments...);
        }

        [[nodiscard]] static const Kernel<Function>& kernel() noexcept {
            return best(kernels(), CpuFeatures::detect());
        }

        /// The function that run() calls from the second time on, for callers that keep it.
        [[nodiscard]] static Function* function() noexcept {
            auto* const kept = function_.load(std::memory_order_relaxed);
            return kept == choose_and_run ? choose() : kept;
        }

    private:
        [[gnu::noinline, gnu::cold]] static Function* choose() noexcept {
            Function* const chosen = kernel().run;
            // Relaxed: every thread that chooses stores the same address of code, and nothing else goes with it.
            function_.store(chosen, std::memory_order_relaxed);
            return chosen;
        }

        [[gnu::cold]] static Value choose_and_run(Arguments... arguments) noexcept { return choose()(arguments...); }

        static constinit inline std::atomic<Function*> function_{choose_and_run};
    };
};

template <auto* kernels>
using ChosenKernel =
    typename ChosenFrom<std::remove_pointer_t<decltype(kernels().front().run)>>::template List<kernels>;

}  // namespace weir::checksum
