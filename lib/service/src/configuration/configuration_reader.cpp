// SPDX-License-Identifier: Apache-2.0
// Reads TOML beside the table of keys. Everything is checked first and applied last. Text is limited
// before it is parsed: toml++ builds and destroys tables recursively, so that a key of a million dotted
// parts would use up the stack.
#include <fmt/format.h>

#include <algorithm>

#include "configuration/toml.hpp"
#include "weir/base/file.hpp"
#include "weir/base/report.hpp"
#include "weir/base/suggest.hpp"
#include "weir/base/utf8.hpp"
#include "weir/service/configuration.hpp"
#include "weir/service/configuration_sections.hpp"

namespace weir::service {
namespace {

constexpr Bytes configuration_size_max = 1_MiB;
constexpr int dots_max = 256;  // in one line

std::string path_of(const std::string& section, std::string_view name) {
    return section.empty() ? std::string(name) : fmt::format("{}.{}", section, name);
}

constexpr std::string_view any_name = ".*";

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", on_one_line(text, 100)); }

/// The value in our terms; nothing when no key can have such a value.
std::optional<SettingValue> value_of(const toml::node& node) {
    if (const auto* text = node.as_string()) return SettingValue{text->get()};
    if (const auto* number = node.as_integer()) return SettingValue{number->get()};
    if (const auto* flag = node.as_boolean()) return SettingValue{flag->get()};
    const auto* array = node.as_array();
    if (array == nullptr) return std::nullopt;
    std::vector<std::string> list;
    for (const auto& item : *array) {
        const auto* text = item.as_string();
        if (text == nullptr) return std::nullopt;
        list.push_back(text->get());
    }
    return SettingValue{std::move(list)};
}

/// What must not reach the parser, with its line; nothing when the text is fit.
std::optional<std::string> unfit(std::string_view text) {
    std::size_t line = 1;
    int dots = 0;
    while (!text.empty()) {
        const auto size = utf8_length(text);
        if (size == 0) return fmt::format("{}: bytes that are not UTF-8", line);
        if (text.front() == '\n') {
            ++line;
            dots = 0;
        } else if (text.front() == '.' && ++dots > dots_max) {
            return fmt::format("{}: more than {} dots in one line; write it on several lines", line, dots_max);
        }
        text.remove_prefix(size);
    }
    return std::nullopt;
}

}  // namespace

class SettingsReader {
public:
    SettingsReader(const Settings& settings, std::string_view file_name)
        : settings_(settings), file_name_(on_one_line(file_name)) {
        for (const auto& key : settings.keys_) sections_.push_back(key->section_);
        for (const auto& other : settings.others_) {
            sections_.push_back(other.ends_with(any_name) ? other.substr(0, other.size() - any_name.size()) : other);
        }
    }

    void walk(const toml::table& table, const std::string& section) {
        for (const auto& [key, node] : table) {
            const auto path = path_of(section, key.str());
            const auto line = key.source().begin.line;
            if (of_others(section, path, node.is_table())) continue;
            if (const auto* inner = node.as_table(); inner != nullptr && leads_to_a_section(path)) {
                walk(*inner, path);
            } else if (const auto* declared = find(section, key.str())) {
                take(*declared, node, path, line);
            } else {
                unknown(section, key.str(), node.is_table(), line);
            }
        }
    }

    /// Stores every value, or nothing when there was an error: the first in the file.
    [[nodiscard]] Result<> apply() {
        if (errors_.empty()) {
            for (const auto& [key, value] : taken_) key->store_(value);
            return {};
        }
        const auto first = std::ranges::min_element(errors_, {}, &Problem::line);
        const auto more = errors_.size() - 1;
        return fail(Errc::usage, fmt::format("{}:{}: {}{}", file_name_, first->line, first->what,
                                             more > 0 ? fmt::format(" (and {} more)", more) : ""));
    }

private:
    /// Ignored by its whole path, or as one of a kind; a section that has keys in this table is not.
    [[nodiscard]] bool of_others(const std::string& section, const std::string& path, bool is_section) const {
        const bool own = std::ranges::any_of(settings_.keys_, [&](const auto& key) {
            return key->section_ == path || key->section_.starts_with(path + ".");
        });
        if (own) return false;
        if (std::ranges::find(settings_.others_, path) != settings_.others_.end()) return true;
        return is_section &&
               std::ranges::find(settings_.others_, section + std::string(any_name)) != settings_.others_.end();
    }

    struct Problem {
        std::size_t line;
        std::string what;
    };

    [[nodiscard]] bool leads_to_a_section(const std::string& path) const {
        return std::ranges::any_of(
            sections_, [&](const std::string& known) { return known == path || known.starts_with(path + "."); });
    }

    [[nodiscard]] const Settings::Key* find(const std::string& section, std::string_view name) const {
        const auto found = std::ranges::find_if(
            settings_.keys_, [&](const auto& key) { return key->section_ == section && key->name_ == name; });
        return found == settings_.keys_.end() ? nullptr : found->get();
    }

    void take(const Settings::Key& key, const toml::node& node, const std::string& path, std::size_t line) {
        const auto value = value_of(node);
        // A list stands for "no such type" here: it is wrong for every key but a list, and the error names the right
        // form.
        auto checked = key.checked(value.value_or(
            key.kind_ == SettingKind::list ? SettingValue{false} : SettingValue{std::vector<std::string>{}}));
        if (checked) {
            check_texts(key, node, path, line);
            taken_.emplace_back(&key, std::move(*checked));
            return;
        }
        const auto* text = value ? std::get_if<std::string>(&*value) : nullptr;
        errors_.push_back({line, fmt::format("{}{} {}", on_one_line(path),
                                             text != nullptr ? fmt::format(" = {}", in_quotes(*text)) : "",
                                             checked.error().context)});
    }

    /// The key's own check of a text, or of each text in a list; each has a line of its own.
    void check_texts(const Settings::Key& key, const toml::node& node, const std::string& path, std::size_t line) {
        if (!key.each_) return;
        const auto check = [&](const toml::node& item, std::size_t item_line) {
            const auto* text = item.as_string();
            if (text == nullptr) return;
            if (auto good = key.each_(text->get()); !good)
                errors_.push_back(
                    {item_line, fmt::format("{}: {}", on_one_line(path), on_one_line(good.error().message()))});
        };
        if (const auto* list = node.as_array(); list != nullptr) {
            for (const auto& item : *list) check(item, item.source().begin.line);
        } else {
            check(node, line);
        }
    }

    void unknown(const std::string& section, std::string_view name, bool is_section, std::size_t line) {
        if (is_section) {
            const auto path = path_of(section, name);
            errors_.push_back(
                {line, fmt::format("unknown section [{}]{}", on_one_line(path, 100), did_you_mean(path, sections_))});
            return;
        }
        std::vector<std::string> names;
        std::string home;  // a section that has this very key
        for (const auto& key : settings_.keys_) {
            if (key->section_ == section) names.push_back(key->name_);
            if (key->name_ == name) home = key->section_;
        }
        auto hint = did_you_mean(name, names);
        if (hint.empty() && !home.empty()) hint = fmt::format("; it belongs into [{}]", home);
        const auto where = section.empty() ? std::string("before the first section") : fmt::format("in [{}]", section);
        errors_.push_back({line, fmt::format("unknown key {} {}{}", in_quotes(name), where, hint)});
    }

    const Settings& settings_;
    const std::string file_name_;
    std::vector<std::string> sections_;
    std::vector<std::pair<const Settings::Key*, SettingValue>> taken_;
    std::vector<Problem> errors_;
};

namespace {

/// The text as a table, limited and with the place of what is wrong.
Result<toml::table> parse_limited(std::string_view text, std::string_view file_name) {
    const auto shown_name = on_one_line(file_name);
    if (text.size() > configuration_size_max.count())
        return fail(Errc::limit, fmt::format("{}: a configuration of more than {}; is this the right file?", shown_name,
                                             to_string(configuration_size_max)));
    if (const auto why = unfit(text)) return fail(Errc::usage, fmt::format("{}:{}", shown_name, *why));
    auto parsed = toml::parse(text);
    if (!parsed) {
        const auto& error = parsed.error();
        return fail(Errc::usage,
                    fmt::format("{}:{}: {}", shown_name, error.source().begin.line, on_one_line(error.description())));
    }
    return std::move(parsed).table();
}

void list_tables(const toml::table& table, const std::string& path, std::vector<ConfigurationSection>& to) {
    ConfigurationSection section{path, {}, table.source().begin.line, false};
    bool has_tables = false;
    for (const auto& [key, node] : table) {
        if (const auto* inner = node.as_table(); inner != nullptr) {
            has_tables = true;
            list_tables(*inner, path_of(path, key.str()), to);
            continue;
        }
        section.has_values = true;
        const auto value = value_of(node);
        const auto line = key.source().begin.line;
        if (!value) continue;
        if (const auto* one = std::get_if<std::string>(&*value))
            section.texts.push_back({std::string(key.str()), *one, line});
        if (const auto* list = node.as_array(); list != nullptr) {
            for (const auto& item : *list) {
                if (const auto* text = item.as_string())
                    section.texts.push_back({std::string(key.str()), text->get(), item.source().begin.line});
            }
        }
    }
    // [a.b] makes a table a, which is not written there.
    const bool written = section.has_values || !has_tables || path.find('.') != path.npos;
    if (!path.empty() && written) to.push_back(std::move(section));
}

void list_values_of(const toml::table& table, const std::string& path, std::vector<ConfigurationValue>& to) {
    for (const auto& [key, node] : table) {
        if (const auto* inner = node.as_table(); inner != nullptr) {
            list_values_of(*inner, path_of(path, key.str()), to);
        } else if (auto value = value_of(node)) {
            to.push_back({path, std::string(key.str()), *std::move(value)});
        }
    }
}

}  // namespace

Result<std::vector<ConfigurationSection>> list_sections(std::string_view text, std::string_view file_name) {
    const auto table = WEIR_TRY(parse_limited(text, file_name));
    std::vector<ConfigurationSection> sections;
    list_tables(table, "", sections);
    std::ranges::sort(sections, {}, &ConfigurationSection::line);  // no two begin in the same line
    return sections;
}

Result<std::vector<ConfigurationValue>> list_values(std::string_view text, std::string_view file_name) {
    const auto table = WEIR_TRY(parse_limited(text, file_name));
    std::vector<ConfigurationValue> values;
    list_values_of(table, "", values);
    std::ranges::sort(values, {}, [](const ConfigurationValue& v) { return std::pair(v.section, v.key); });
    return values;
}

Result<> Settings::read_text(std::string_view text, std::string_view file_name) {
    const auto table = WEIR_TRY(parse_limited(text, file_name));
    SettingsReader reader(*this, file_name);
    reader.walk(table, "");
    return reader.apply();
}

Result<> Settings::read_file(const std::filesystem::path& path) {
    const auto text = WEIR_TRY(weir::read_text(path, configuration_size_max));
    return read_text(text, path.native());
}

}  // namespace weir::service
