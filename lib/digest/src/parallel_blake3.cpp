// SPDX-License-Identifier: Apache-2.0
#include "parallel_blake3.hpp"

#include "blake3_hasher.hpp"
#include "weir/base/assert.hpp"

namespace weir::digest {

struct ParallelBlake3::State {
    std::shared_ptr<checksum::Workers> workers;
    blake3::Hasher hasher;
};

ParallelBlake3::ParallelBlake3(std::shared_ptr<checksum::Workers> workers)
    : state_(std::make_unique<State>(State{std::move(workers), blake3::Hasher()})) {
    WEIR_ASSERT(state_->workers != nullptr);
}

ParallelBlake3::ParallelBlake3(unsigned workers)
    : ParallelBlake3(std::make_shared<checksum::Workers>(checksum::WorkerOptions{.threads = workers})) {}

ParallelBlake3::ParallelBlake3(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}

ParallelBlake3::~ParallelBlake3() = default;

void ParallelBlake3::add(ConstData data) { state_->hasher.add(data, state_->workers.get()); }
Digest ParallelBlake3::value() const { return Digest::of_bytes(Algorithm::blake3, state_->hasher.value()); }
void ParallelBlake3::reset() { state_->hasher.reset(); }
unsigned ParallelBlake3::workers() const noexcept { return state_->workers->threads(); }

std::unique_ptr<Engine> ParallelBlake3::clone() const {
    return std::unique_ptr<Engine>(new ParallelBlake3(std::make_unique<State>(*state_)));
}

}  // namespace weir::digest
