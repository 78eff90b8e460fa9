// SPDX-License-Identifier: Apache-2.0
// Any algorithm, at once or piece by piece; and any set of them in one pass over the data.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/digest/digest.hpp"

namespace weir::digest {

/// The sum of the data.
[[nodiscard]] Digest sum(Algorithm algorithm, ConstData data);

/// The state of one sum. One thread at a time.
class Engine {
public:
    virtual ~Engine() = default;
    virtual void add(ConstData data) = 0;
    /// Of everything added so far; more may follow.
    [[nodiscard]] virtual Digest value() const = 0;
    /// As if new.
    virtual void reset() = 0;
    /// Another one with everything added so far; each goes on alone.
    [[nodiscard]] virtual std::unique_ptr<Engine> clone() const = 0;
};

/// A sum made piece by piece. A copy has everything added so far and goes on alone.
class Summer {
public:
    explicit Summer(Algorithm algorithm);
    /// With an engine that is new.
    explicit Summer(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
    Summer(const Summer& other);
    Summer& operator=(const Summer& other);
    Summer(Summer&&) noexcept = default;
    Summer& operator=(Summer&&) noexcept = default;
    ~Summer() = default;

    void add(ConstData data) { engine_->add(data); }
    [[nodiscard]] Digest value() const { return engine_->value(); }
    void reset() { engine_->reset(); }

private:
    std::unique_ptr<Engine> engine_;
};

/// Several sums in one pass: the data goes through the cache once, block by block.
class SumSet {
public:
    static constexpr std::size_t block = 16384;  // of each sum in turn; stays in the first-level cache

    explicit SumSet(std::span<const Algorithm> wanted);
    explicit SumSet(std::vector<std::unique_ptr<Engine>> engines) noexcept : engines_(std::move(engines)) {}

    void add(ConstData data);
    /// In the order of the constructor.
    [[nodiscard]] std::vector<Digest> values() const;
    void reset();

private:
    std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace weir::digest
