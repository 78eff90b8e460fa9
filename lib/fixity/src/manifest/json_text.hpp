// SPDX-License-Identifier: Apache-2.0
// Text in a JSON document. A name that is not UTF-8 cannot stand there as it is: its bytes are shown as \xff
// for people, and the name itself goes into a field of its own in hexadecimal.
#pragma once

#include <string>
#include <string_view>

namespace weir::fixity {

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
/// With its quotation marks; bytes that are not UTF-8 as \xff written out.
void append_json_string(std::string& to, std::string_view text);

}  // namespace weir::fixity
