// SPDX-License-Identifier: Apache-2.0
// A field of JSON that holds PEM: text of several lines, where json::Fields takes one.
#pragma once

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include "weir/json/parse.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::service {

/// `fields` reads `document`, and has the error.
inline std::string pem_field(json::Fields& fields, const json::value& document, std::string_view name) {
    const auto* object = document.if_object();
    const auto* value = fields.has(name) && object != nullptr ? object->if_contains(name) : nullptr;
    if (value != nullptr && value->is_string() && value->get_string().size() <= transport::pem_size_max)
        return std::string(std::string_view(value->get_string()));
    fields.fail_with("\"" + std::string(name) + "\" should be a text in PEM");
    return {};
}

}  // namespace weir::service
