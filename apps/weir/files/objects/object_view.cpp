// SPDX-License-Identifier: Apache-2.0
#include "files/objects/object_view.hpp"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <concepts>
#include <iterator>
#include <type_traits>

#include "weir/base/hex.hpp"
#include "weir/selection/result.hpp"
#include "weir/serial/object_head.hpp"
#include "weir/serial/reader.hpp"
#include "weir/service/monitoring_objects.hpp"

namespace weir::app {
namespace {

constexpr std::size_t shown_bytes = 16, shown_numbers = 8, shown_elements = 50;

// Any described class by its members' names, of types that weir's own classes have.

/// JSON has no infinities: those and NaN are texts.
json::value json_of_double(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

template <class T>
json::value json_of_member(const T& value) {
    if constexpr (std::same_as<T, bool>) {
        return value;
    } else if constexpr (std::floating_point<T>) {
        return json_of_double(value);
    } else if constexpr (std::integral<T>) {
        return value;
    } else if constexpr (std::same_as<T, std::string>) {
        return json::value(json_text(value));
    } else if constexpr (serial::Vector<T>) {
        json::array all;
        all.reserve(value.size());
        for (const auto& each : value) all.push_back(json_of_member(each));
        return all;
    } else {
        static_assert(serial::Object<T>);
        json::object members;
        serial::for_each_part<T>([&](auto index) {
            members[serial::Parts<T>::template name<index>()] = json_of_member(serial::part_of<T, index>(value));
            return true;
        });
        return members;
    }
}

/// True: the object is of class T; it was read, or the view has the error.
template <class T>
bool read_as(ObjectView& view) {
    if (view.class_name != serial::class_name<T>) return false;
    serial::Reader reader(view.bytes);
    const auto object = reader.read_any<T>();
    if (!object) view.trouble = object.error().message();
    else if (*object != nullptr) view.value = json_of_member(**object);
    return true;
}

template <class... Known>
void read_as_one_of(ObjectView& view) {
    static_cast<void>((read_as<Known>(view) || ...));
}

// Text, from the document.

/// Sources, level-1 ids and words are hexadecimal everywhere else, too.
bool in_hex(std::string_view name) { return name == "source" || name == "level1_id" || name.ends_with("words"); }

std::string scalar_text(const json::value& value, bool hex) {
    if (const auto* text = value.if_string()) return printable({text->data(), text->size()});
    if (const auto* number = value.if_double()) return fmt::format("{}", *number);
    if (const auto* number = value.if_uint64(); number != nullptr && hex) return fmt::format("{:#010x}", *number);
    return json::serialize(value);
}

/// On one line; long lists by their beginning.
std::string short_text(const json::value& value, bool hex) {
    std::string text;
    if (const auto* array = value.if_array()) {
        for (std::size_t i = 0; i < std::min(array->size(), shown_numbers); ++i)
            text += (i > 0 ? ", " : "") + short_text((*array)[i], hex);
        if (array->size() > shown_numbers) text += fmt::format(", ... {} in all", array->size());
        return "[" + text + "]";
    }
    if (const auto* object = value.if_object()) {
        for (const auto& [name, member] : *object)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", std::string_view(name),
                                short_text(member, in_hex(name)));
        return "{" + text + "}";
    }
    return scalar_text(value, hex);
}

/// "chamber_words", when the element is {name, value} and nothing else.
std::optional<std::string> name_of(const json::value& element) {
    const auto* object = element.if_object();
    if (object == nullptr || object->size() != 2 || !object->contains("name") || !object->contains("value")) return {};
    return scalar_text(object->at("name"), false);
}

/// A line each.
std::string elements_text(const json::array& elements, std::size_t indent) {
    const auto shown = std::min(elements.size(), shown_elements);
    std::size_t width = 0;
    for (std::size_t i = 0; i < shown; ++i) width = std::max(width, name_of(elements[i]).value_or("").size());
    std::string text;
    for (std::size_t i = 0; i < shown; ++i) {
        const auto name = name_of(elements[i]);
        text += fmt::format("{:{}}", "", indent);
        text += name ? fmt::format("{:{}}  {}\n", *name, width, short_text(elements[i].at("value"), false))
                     : short_text(elements[i], false) + "\n";
    }
    if (elements.size() > shown) text += fmt::format("{:{}}...\n", "", indent);
    return text;
}

std::string members_text(const json::object& members, std::size_t indent) {
    std::size_t width = 0;
    for (const auto& [name, value] : members) width = std::max(width, name.size());
    std::string text;
    for (const auto& [name, value] : members) {
        const auto* list = value.if_array();
        const bool of_objects = list != nullptr && !list->empty() && list->front().is_object();
        text += fmt::format("{:{}}{:{}}  ", "", indent, std::string_view(name), width);
        if (!of_objects) {
            text += short_text(value, in_hex(name)) + "\n";
            continue;
        }
        text += fmt::format("{} in all\n", list->size()) + elements_text(*list, indent + 2);
    }
    return text;
}

}  // namespace

ObjectView view_object(ConstData bytes) {
    ObjectView view{.bytes = bytes};
    if (!serial::holds_one_object(bytes)) return view;
    view.class_name = serial::object_head(bytes).value().class_name;
    read_as_one_of<selection::Findings, service::SampledEvent, service::StationSnapshot>(view);
    return view;
}

json::object json_of(const ObjectView& view) {
    json::object object{{"class", json_text(view.class_name)}, {"bytes", view.bytes.size()}};
    if (view.class_name.empty()) object["class"] = nullptr;
    if (view.value) {
        object["members"] = *view.value;
    } else {
        object["hex"] = hex_of(view.bytes);
    }
    if (!view.trouble.empty()) object["error"] = json_text(view.trouble);
    return object;
}

std::string text_of(const ObjectView& view, std::size_t indent) {
    auto text =
        fmt::format("{:{}}{}, {}\n", "", indent, view.class_name.empty() ? "no object" : printable(view.class_name),
                    counted(view.bytes.size(), "byte"));
    if (view.value) return text + members_text(view.value->as_object(), indent + 2);
    if (!view.trouble.empty()) text += fmt::format("{:{}}! {}\n", "", indent + 2, printable(view.trouble));
    const auto first = view.bytes.first(std::min(view.bytes.size(), shown_bytes));
    return text +
           fmt::format("{:{}}{}{}\n", "", indent + 2, hex_of(first), first.size() < view.bytes.size() ? " ..." : "");
}

}  // namespace weir::app
