// SPDX-License-Identifier: Apache-2.0
// The header of an object that WriteObjectAny wrote: its size and its class. For programs that need the class to choose
// how to read the object, or that pass the object on unread.
#pragma once

#include <cstddef>
#include <string_view>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"

namespace weir::serial {

struct ObjectHead {
    std::string_view class_name{};  // lies in the buffer; any bytes but zero
    std::size_t size = 0;           // with the byte count before it
};

/// Of the object that begins at `position` of the buffer. Error: none does there, or its bytes are not all here.
[[nodiscard]] Result<ObjectHead> object_head(ConstData buffer, std::size_t position = 0);

/// The buffer is exactly one object that names its class itself. Looks at no more than the head.
[[nodiscard]] bool holds_one_object(ConstData buffer) noexcept;

}  // namespace weir::serial
