// SPDX-License-Identifier: Apache-2.0
// An object in ROOT's bytes, for people: field by field when its class is one of weir's own, else its class, its size
// and its first bytes. Nothing in it is trusted: what cannot be read is shown as bytes, with the error.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "weir/base/data.hpp"

namespace weir::app {

struct ObjectView {
    std::string class_name{};            // empty: the bytes are no object
    ConstData bytes{};                   // all of it
    std::optional<json::value> value{};  // its members; nothing: the class is not known here, or `trouble`
    std::string trouble{};               // why it could not be read, though its class is known
};

/// Of bytes that should be one object. They live as long as the view is used.
[[nodiscard]] ObjectView view_object(ConstData bytes);

/// class, size, members{} or hex (all bytes), and error: for documents.
[[nodiscard]] json::object json_of(const ObjectView& view);
/// "weir::selection::Findings, 132 bytes", then a line for each member, each line after `indent` spaces.
[[nodiscard]] std::string text_of(const ObjectView& view, std::size_t indent);

}  // namespace weir::app
