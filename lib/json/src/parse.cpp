// SPDX-License-Identifier: Apache-2.0
#include "weir/json/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/error.hpp>
#include <boost/json/parser.hpp>
#include <cmath>
#include <utility>

#include "weir/base/suggest.hpp"
#include "weir/base/utf8.hpp"

namespace weir::json {
namespace {

bool fit(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; });
}

/// A name from outside in a message of ours.
std::string shown(std::string_view text) {
    std::string out;
    for (const char c : text.substr(0, 60)) out += static_cast<unsigned char>(c) >= 0x20 && c != 0x7f ? c : '?';
    return out;
}

}  // namespace

Result<json::value> parse(std::string_view text, const Limits& limits, json::storage_ptr memory) {
    if (text.size() > limits.size.count())
        return fail(Errc::usage, fmt::format("more than {} of JSON", to_string(limits.size)));
    json::parse_options options;
    options.max_depth = limits.depth;
    json::parser parser({}, options);
    parser.reset(std::move(memory));
    boost::system::error_code ec;
    const auto taken = parser.write_some(text.data(), text.size(), ec);
    const auto rest = text.substr(std::min(taken, text.size()));
    const bool more = std::ranges::any_of(rest, [](char c) { return c != ' ' && c != '\t' && c != '\r' && c != '\n'; });
    if (!ec && more)
        return fail(Errc::usage, fmt::format("not one JSON document: something follows at byte {}", taken));
    if (ec == json::error::incomplete) return fail(Errc::usage, "not a JSON document: it ends too early");
    if (ec) return fail(Errc::usage, fmt::format("not a JSON document: {} at byte {}", ec.message(), taken));
    return parser.release();
}

Fields::Fields(const json::value& value, std::string what) : object_(value.if_object()), what_(std::move(what)) {
    if (object_ == nullptr) fail_with(fmt::format("{} is not an object", what_));
}

void Fields::fail_with(std::string text) {
    if (!error_) error_ = Error{Errc::usage, 0, std::move(text)};
}

void Fields::wrong(std::string_view name, std::string_view should_be) {
    fail_with(fmt::format("\"{}\" of {} is not {}", name, what_, should_be));
}

bool Fields::has(std::string_view name) {
    asked_.emplace_back(name);
    return object_ != nullptr && object_->contains(name);
}

const json::value* Fields::find(std::string_view name, bool optional) {
    asked_.emplace_back(name);
    if (object_ == nullptr) return nullptr;
    const auto* value = object_->if_contains(name);
    if (value != nullptr && !(optional && value->is_null())) return value;
    if (!optional) fail_with(fmt::format("{} has no \"{}\"", what_, name));
    return nullptr;
}

std::string Fields::text(std::string_view name, std::optional<std::string> absent, std::size_t size_max) {
    const auto* value = find(name, absent.has_value());
    if (value == nullptr) return absent.value_or("");
    const auto* text = value->if_string();
    if (text == nullptr || text->size() > size_max || !fit(*text)) {
        wrong(name, fmt::format("a text of at most {} bytes on one line", size_max));
        return "";
    }
    return std::string(*text);
}

std::uint64_t Fields::number(std::string_view name, std::optional<std::uint64_t> absent, std::uint64_t most) {
    const auto* value = find(name, absent.has_value());
    if (value == nullptr) return absent.value_or(0);
    if (const auto* i = value->if_int64(); i != nullptr && *i >= 0 && std::cmp_less_equal(*i, most))
        return static_cast<std::uint64_t>(*i);
    if (const auto* u = value->if_uint64(); u != nullptr && *u <= most) return *u;
    wrong(name, fmt::format("a whole number from 0 to {}", most));
    return 0;
}

double Fields::real(std::string_view name, std::optional<double> absent) {
    const auto* value = find(name, absent.has_value());
    if (value == nullptr) return absent.value_or(0);
    if (const auto* i = value->if_int64()) return static_cast<double>(*i);
    if (const auto* u = value->if_uint64()) return static_cast<double>(*u);
    if (const auto* d = value->if_double(); d != nullptr && std::isfinite(*d)) return *d;
    wrong(name, "a number");
    return 0;
}

bool Fields::flag(std::string_view name, std::optional<bool> absent) {
    const auto* value = find(name, absent.has_value());
    if (value == nullptr) return absent.value_or(false);
    if (const auto* flag = value->if_bool()) return *flag;
    wrong(name, "true or false");
    return false;
}

const json::array* Fields::array(std::string_view name, std::size_t items_max) {
    const auto* value = find(name, true);
    if (value == nullptr) return nullptr;
    const auto* array = value->if_array();
    if (array != nullptr && array->size() <= items_max) return array;
    wrong(name, fmt::format("a list of at most {}", items_max));
    return nullptr;
}

const json::object* Fields::object(std::string_view name) {
    const auto* value = find(name, true);
    if (value == nullptr) return nullptr;
    const auto* object = value->if_object();
    if (object == nullptr) wrong(name, "an object");
    return object;
}

void Fields::no_others() {
    if (object_ == nullptr) return;
    for (const auto& [key, value] : *object_) {
        const std::string name(key);
        if (std::ranges::find(asked_, name) == asked_.end())
            return fail_with(fmt::format("{} has a field \"{}\" that is not known{}", what_, shown(name),
                                         did_you_mean(name, asked_)));
    }
}

Result<> Fields::result() const {
    if (error_) return std::unexpected(*error_);
    return {};
}

json::string safe(std::string_view text) {
    // Boost.JSON checks UTF-8 when it parses, not when it writes.
    return json::string(valid_utf8(text));
}

}  // namespace weir::json
