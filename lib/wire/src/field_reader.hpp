// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a message one after the other. After the first one that is not there, all are zero and ok() is
// false, so that a decoder reads everything and asks once.
#pragma once

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"

namespace weir::wire {

class FieldReader {
public:
    explicit FieldReader(ConstData data) noexcept : data_(data) {}

    template <std::unsigned_integral T>
    T take() noexcept {
        const auto field = take_bytes(sizeof(T));
        return field.empty() ? T{0} : load_little<T>(field);
    }
    ConstData take_bytes(std::size_t size) noexcept {
        if (!ok_ || data_.size() < size) {
            ok_ = false;
            return {};
        }
        const auto field = data_.first(size);
        data_ = data_.subspan(size);
        return field;
    }
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] ConstData rest() const noexcept { return data_; }

private:
    ConstData data_;
    bool ok_ = true;
};

}  // namespace weir::wire
