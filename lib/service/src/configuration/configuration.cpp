// SPDX-License-Identifier: Apache-2.0
// The table of keys: what one value may be, and how the table prints itself.
#include "weir/service/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weir/base/assert.hpp"
#include "weir/base/report.hpp"

namespace weir::service {
namespace {

/// A basic string of TOML, with its quotes.
std::string toml_quoted(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            quoted += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
        } else {
            quoted += c;
        }
    }
    return quoted += '"';
}

constexpr std::size_t text_size_max = 4096;  // of one text
constexpr std::size_t list_size_max = 1024;  // texts in a list

struct KindWords {
    std::string_view name;
    std::string_view form;  // what to write
};

constexpr std::array<KindWords, 6> kinds{{{"text", "a text in quotes"},
                                          {"size", "a size with its unit, for example \"64MiB\""},
                                          {"duration", "a duration with its unit, for example \"250ms\""},
                                          {"integer", "a whole number without quotes"},
                                          {"boolean", "true or false without quotes"},
                                          {"list", "a list of texts, for example [\"a\", \"b\"]"}}};

const KindWords& words_of(SettingKind kind) { return kinds.at(static_cast<std::size_t>(kind)); }

Result<> check_text(const std::string& text) {
    if (text.size() > text_size_max) return fail(Errc::usage, fmt::format("is longer than {} bytes", text_size_max));
    if (text.contains('\0')) return fail(Errc::usage, "holds a zero byte");
    return {};
}

std::string joined(const std::vector<std::string>& texts) {
    std::string all;
    for (const auto& text : texts) all.append(all.empty() ? "" : ", ").append(toml_quoted(text));
    return all;
}

/// A cell of a Markdown table: a bar would end it.
std::string cell(std::string_view text) {
    std::string escaped;
    for (const char c : on_one_line(text)) escaped.append(c == '|' ? "\\|" : std::string(1, c));
    return escaped;
}

}  // namespace

Settings::Key& Settings::Key::one_of(std::vector<std::string> words) {
    WEIR_ASSERT(kind_ == SettingKind::text);
    words_ = std::move(words);
    return *this;
}

Settings::Key& Settings::Key::at_least(std::int64_t least) {
    WEIR_ASSERT(kind_ == SettingKind::integer);
    least_ = std::max(least_, least);
    return *this;
}

Settings::Key& Settings::Key::at_most(std::int64_t most) {
    WEIR_ASSERT(kind_ == SettingKind::integer);
    most_ = std::min(most_, most);
    return *this;
}

Settings::Key& Settings::Key::at_least(Bytes least) {
    WEIR_ASSERT(kind_ == SettingKind::size);
    least_ = static_cast<std::int64_t>(least.count());
    return *this;
}

Settings::Key& Settings::Key::at_most(Bytes most) {
    WEIR_ASSERT(kind_ == SettingKind::size);
    most_ = static_cast<std::int64_t>(most.count());
    return *this;
}

Settings::Key& Settings::Key::at_least(std::chrono::nanoseconds least) {
    WEIR_ASSERT(kind_ == SettingKind::duration);
    least_ = least.count();
    return *this;
}

Settings::Key& Settings::Key::at_most(std::chrono::nanoseconds most) {
    WEIR_ASSERT(kind_ == SettingKind::duration);
    most_ = most.count();
    return *this;
}

Settings::Key& Settings::Key::or_number() {
    WEIR_ASSERT(kind_ == SettingKind::text);
    or_number_ = true;
    return *this;
}

Settings::Key& Settings::Key::each(std::function<Result<>(const std::string&)> check) {
    WEIR_ASSERT(kind_ == SettingKind::text || kind_ == SettingKind::list);
    each_ = std::move(check);
    return *this;
}

Result<SettingValue> Settings::Key::in_bounds(std::int64_t value) const {
    if (value < least_) return fail(Errc::usage, fmt::format("is too small; the least is {}", shown(least_)));
    if (value > most_) return fail(Errc::usage, fmt::format("is too large; the most is {}", shown(most_)));
    if (value % unit_ != 0)
        return fail(Errc::usage, fmt::format("is finer than this key can be; its unit is {}", shown(unit_)));
    return value;
}

Result<SettingValue> Settings::Key::checked(const SettingValue& value) const {
    const auto* text = std::get_if<std::string>(&value);
    if (kind_ == SettingKind::text && text != nullptr) {
        WEIR_TRY(check_text(*text));
        if (!words_.empty() && std::ranges::find(words_, *text) == words_.end())
            return fail(Errc::usage, fmt::format("is none of {}", joined(words_)));
        return value;
    }
    if (or_number_ && std::holds_alternative<std::int64_t>(value))
        return SettingValue{fmt::to_string(std::get<std::int64_t>(value))};
    if (kind_ == SettingKind::size && text != nullptr) {
        const auto amount = parse_bytes(*text);
        if (!amount) return fail(Errc::usage, fmt::format("is no size; write {}", words_of(kind_).form));
        return in_bounds(static_cast<std::int64_t>(amount->count()));
    }
    if (kind_ == SettingKind::duration && text != nullptr) {
        const auto duration = parse_duration(*text);
        if (!duration) return fail(Errc::usage, fmt::format("is no duration; write {}", words_of(kind_).form));
        return in_bounds(duration->count());
    }
    if (kind_ == SettingKind::integer && std::holds_alternative<std::int64_t>(value))
        return in_bounds(std::get<std::int64_t>(value));
    if (kind_ == SettingKind::boolean && std::holds_alternative<bool>(value)) return value;
    if (const auto* list = std::get_if<std::vector<std::string>>(&value);
        kind_ == SettingKind::list && list != nullptr) {
        if (list->size() > list_size_max)
            return fail(Errc::usage, fmt::format("has more than {} texts", list_size_max));
        for (const auto& item : *list) {
            WEIR_TRY(check_text(item));
        }
        return value;
    }
    return fail(Errc::usage, fmt::format("has the wrong type; write {}", words_of(kind_).form));
}

std::string Settings::Key::shown(const SettingValue& value) const {
    if (const auto* text = std::get_if<std::string>(&value)) return toml_quoted(*text);
    if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return fmt::format("[{}]", joined(*list));
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    const auto number = std::get<std::int64_t>(value);
    if (kind_ == SettingKind::size) return toml_quoted(to_string(Bytes{static_cast<std::uint64_t>(number)}));
    if (kind_ == SettingKind::duration) return toml_quoted(to_string(std::chrono::nanoseconds{number}));
    return fmt::format("{}", number);
}

Settings::Key& Settings::declare(std::string section, std::string name, std::string description, SettingKind kind,
                                 std::function<SettingValue()> load, std::function<void(const SettingValue&)> store) {
    for (const auto& other : keys_) WEIR_ASSERT(other->section_ != section || other->name_ != name);
    auto& key = *keys_.emplace_back(std::make_unique<Key>());
    key.section_ = std::move(section);
    key.name_ = std::move(name);
    key.description_ = std::move(description);
    key.kind_ = kind;
    key.default_ = load();
    key.load_ = std::move(load);
    key.store_ = std::move(store);
    return key;
}

Settings::Key& Settings::add(std::string section, std::string name, std::string& field, std::string description) {
    return declare(
        std::move(section), std::move(name), std::move(description), SettingKind::text,
        [&field] { return SettingValue{field}; },
        [&field](const SettingValue& value) { field = std::get<std::string>(value); });
}

Settings::Key& Settings::add(std::string section, std::string name, std::vector<std::string>& field,
                             std::string description) {
    return declare(
        std::move(section), std::move(name), std::move(description), SettingKind::list,
        [&field] { return SettingValue{field}; },
        [&field](const SettingValue& value) { field = std::get<std::vector<std::string>>(value); });
}

Settings::Key& Settings::add(std::string section, std::string name, bool& field, std::string description) {
    return declare(
        std::move(section), std::move(name), std::move(description), SettingKind::boolean,
        [&field] { return SettingValue{field}; },
        [&field](const SettingValue& value) { field = std::get<bool>(value); });
}

Settings::Key& Settings::add(std::string section, std::string name, Bytes& field, std::string description) {
    return declare(
        std::move(section), std::move(name), std::move(description), SettingKind::size,
        [&field] { return SettingValue{static_cast<std::int64_t>(field.count())}; },
        [&field](const SettingValue& value) {
            field = Bytes{static_cast<std::uint64_t>(std::get<std::int64_t>(value))};
        });
}

Settings::Key& Settings::add_duration(std::string section, std::string name, std::string description,
                                      std::function<std::chrono::nanoseconds()> load,
                                      std::function<void(std::chrono::nanoseconds)> store,
                                      std::chrono::nanoseconds unit) {
    auto& key = declare(
        std::move(section), std::move(name), std::move(description), SettingKind::duration,
        [load = std::move(load)] { return SettingValue{load().count()}; },
        [store = std::move(store)](const SettingValue& value) {
            store(std::chrono::nanoseconds{std::get<std::int64_t>(value)});
        });
    key.unit_ = unit.count();
    return key;
}

Settings::Key& Settings::add_integer(std::string section, std::string name, std::string description,
                                     std::function<std::int64_t()> load, std::function<void(std::int64_t)> store,
                                     std::int64_t least, std::int64_t most) {
    auto& key = declare(
        std::move(section), std::move(name), std::move(description), SettingKind::integer,
        [load = std::move(load)] { return SettingValue{load()}; },
        [store = std::move(store)](const SettingValue& value) { store(std::get<std::int64_t>(value)); });
    key.least_ = least;
    key.most_ = most;
    return key;
}

void Settings::ignore_section(std::string section) { others_.push_back(std::move(section)); }

std::string Settings::documentation() const {
    std::string text;
    std::string_view section;
    for (const auto& key : keys_) {
        if (text.empty() || key->section_ != section) {
            section = key->section_;
            text.append(fmt::format("{}### {}\n\n| key | kind | default | what it sets |\n| --- | --- | --- | --- |\n",
                                    text.empty() ? "" : "\n",
                                    section.empty() ? "before the first section" : fmt::format("[{}]", section)));
        }
        auto description = key->description_;
        if (!key->words_.empty()) description.append("; one of ").append(joined(key->words_));
        text.append(fmt::format("| `{}` | {} | `{}` | {} |\n", key->name_, words_of(key->kind_).name,
                                cell(key->shown(key->default_)), cell(description)));
    }
    return text;
}

std::string Settings::effective() const {
    // Keys of one section stand together even when they were declared apart: TOML allows a section once,
    // and keys that are in none must come first.
    std::vector<std::string_view> sections{""};
    for (const auto& key : keys_) {
        if (std::ranges::find(sections, std::string_view(key->section_)) == sections.end())
            sections.push_back(key->section_);
    }
    std::string text;
    for (const auto section : sections) {
        if (!section.empty()) text.append(fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section));
        for (const auto& key : keys_) {
            if (key->section_ != section) continue;
            const auto value = key->load_();
            const bool changed = value != key->default_;
            text.append(fmt::format("{} = {}{}\n", key->name_, key->shown(value),
                                    changed ? fmt::format("  # default: {}", key->shown(key->default_)) : ""));
        }
    }
    return text;
}

}  // namespace weir::service
