// SPDX-License-Identifier: Apache-2.0
// JSON that came from outside: parsed within limits of size and depth, and read field by field with an error that names
// the wrong field and what it should be. Boost.JSON does the work, and is compiled in this
// library; its values are json::value, json::object and so on here too.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"

namespace weir::json {

using namespace boost::json;  // its values; our parse() hides its own

struct Limits {
    Bytes size{1U << 20};
    std::size_t depth = 16;
};

/// One document and nothing behind it. Error: usage, one line with the fault and its place. `memory` holds its values.
/// For documents that are parsed often and dropped at once, give a monotonic_resource: it outlives the value and all
/// its copies, and serves one thread.
[[nodiscard]] Result<boost::json::value> parse(std::string_view text, const Limits& limits = {},
                                               boost::json::storage_ptr memory = {});

/// Reads the fields of one object. The first error is kept and everything read after it is a default; so all fields can
/// be read in a row and asked for the error once.
class Fields {
public:
    /// `what` stands in errors: "the request", "peers[3]".
    Fields(const boost::json::value& value, std::string what);

    /// Absent fields give `absent`; without it, they are an error. Text is UTF-8 of at most `size_max` bytes without
    /// control characters.
    std::string text(std::string_view name, std::optional<std::string> absent = std::nullopt,
                     std::size_t size_max = 256);
    std::uint64_t number(std::string_view name, std::optional<std::uint64_t> absent = std::nullopt,
                         std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
    double real(std::string_view name, std::optional<double> absent = std::nullopt);
    bool flag(std::string_view name, std::optional<bool> absent = std::nullopt);
    /// nullptr when it is not there or null; another kind of value is an error.
    const boost::json::array* array(std::string_view name, std::size_t items_max);
    const boost::json::object* object(std::string_view name);
    [[nodiscard]] bool has(std::string_view name);

    /// An error unless every field of the object has been asked for.
    void no_others();
    void fail_with(std::string text);
    [[nodiscard]] Result<> result() const;

private:
    const boost::json::value* find(std::string_view name, bool optional);
    void wrong(std::string_view name, std::string_view should_be);
    const boost::json::object* object_ = nullptr;
    std::string what_;
    std::vector<std::string> asked_;
    std::optional<Error> error_;
};

/// Serialised, with bytes that are not UTF-8 in a text made U+FFFD, so that every document of ours can be read.
[[nodiscard]] boost::json::string safe(std::string_view text);

}  // namespace weir::json
