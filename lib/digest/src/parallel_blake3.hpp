// SPDX-License-Identifier: Apache-2.0
// BLAKE3 of one large piece of data by several threads. The other algorithms are sums of a sequence; BLAKE3 is
// one of a tree, so its parts can be made side by side. Below 256 KiB a piece is summed by its caller
// alone, sooner than anybody else could begin. Spend further threads on other files first.
#pragma once

#include <memory>

#include "weir/checksum/workers.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {

/// Like the engine of Algorithm::blake3, one thread at a time; any number of them may share a pool. Add large
/// pieces: each call of add() is spread over the threads on its own, and returns when all of it is summed.
class ParallelBlake3 final : public Engine {
public:
    /// The pool lives as long as the last who has it.
    explicit ParallelBlake3(std::shared_ptr<checksum::Workers> workers);
    /// With a pool of its own: `workers` threads beside the caller.
    explicit ParallelBlake3(unsigned workers);
    ~ParallelBlake3() override;
    ParallelBlake3(const ParallelBlake3&) = delete;
    ParallelBlake3& operator=(const ParallelBlake3&) = delete;

    void add(ConstData data) override;
    [[nodiscard]] Digest value() const override;
    void reset() override;
    /// With the same pool.
    [[nodiscard]] std::unique_ptr<Engine> clone() const override;

    /// checksum::Workers::threads() of the pool.
    [[nodiscard]] unsigned workers() const noexcept;

private:
    struct State;

    explicit ParallelBlake3(std::unique_ptr<State> state) noexcept;

    std::unique_ptr<State> state_;
};

}  // namespace weir::digest
