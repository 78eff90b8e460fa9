// SPDX-License-Identifier: Apache-2.0
// An object of hashlib's shape over one sum.
#pragma once

#include <mutex>
#include <utility>

#include "weir/digest/summer.hpp"

namespace weir::python {

class Hash {
public:
    explicit Hash(digest::Algorithm algorithm) : algorithm_(algorithm), summer_(algorithm) {}
    Hash(Hash&& other) noexcept : algorithm_(other.algorithm_), summer_(std::move(other.summer_)) {}

    [[nodiscard]] digest::Algorithm algorithm() const noexcept { return algorithm_; }

    /// From any thread, without the GIL: updates of one object follow each other.
    void add(ConstData data) {
        const std::scoped_lock lock(mutex_);
        summer_.add(data);
    }

    [[nodiscard]] digest::Digest value() const {
        const std::scoped_lock lock(mutex_);
        return summer_.value();
    }

    /// Of what was added so far; each goes on alone.
    [[nodiscard]] Hash copy() const {
        const std::scoped_lock lock(mutex_);
        return {algorithm_, summer_};
    }

private:
    Hash(digest::Algorithm algorithm, const digest::Summer& summer) : algorithm_(algorithm), summer_(summer) {}

    mutable std::mutex mutex_;
    digest::Algorithm algorithm_;
    digest::Summer summer_;
};

}  // namespace weir::python
