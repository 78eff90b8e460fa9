// SPDX-License-Identifier: Apache-2.0
#include "cli/help_formatter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"

namespace weir::app {
namespace {

constexpr std::size_t screen_columns = 80;
constexpr std::size_t left_column_max = 26;

/// `text` in lines of at most `width`; all but the first begin with `indent` spaces.
std::string wrapped(std::string_view text, std::size_t indent) {
    const auto width = screen_columns - indent;
    std::string lines;
    std::size_t used = 0;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(' '));
        if (used > 0 && used + 1 + word.size() > width) {
            lines += "\n" + std::string(indent, ' ');
            used = 0;
        }
        if (used > 0) lines += ' ', ++used;
        lines += word;
        used += word.size();
        text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return lines;
}

struct Entry {
    std::string left;
    std::string right;
};

std::string columns(const std::vector<Entry>& entries) {
    std::size_t width = 0;
    for (const auto& entry : entries) {
        if (entry.left.size() <= left_column_max) width = std::max(width, entry.left.size());
    }
    std::string text;
    for (const auto& entry : entries) {
        const auto indent = 2 + width + 2;
        text += entry.left.size() <= width ? fmt::format("  {:<{}}  ", entry.left, width)
                                           : fmt::format("  {}\n{:{}}", entry.left, "", indent);
        text += wrapped(entry.right, indent) + "\n";
    }
    return text;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }
bool takes_many(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

std::string name_of(const CLI::Option& option) {
    if (option.get_positional()) return option.get_type_name() + (takes_many(option) ? "..." : "");
    std::string names;
    for (const auto& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
    for (const auto& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
    return takes_value(option) ? names + " " + option.get_type_name() : names;
}

std::string description_of(const CLI::Option& option) {
    auto text = option.get_description();
    if (const auto value = option.get_default_str(); takes_value(option) && !value.empty())
        text += fmt::format(" (default {})", value);
    return text;
}

std::string usage_of(const CLI::App& command) {
    auto usage = fmt::format("usage: {} [options]", full_name(command));
    for (const auto* option : command.get_options([](const CLI::Option* o) { return o->get_positional(); }))
        usage += option->get_required() ? " " + name_of(*option) : fmt::format(" [{}]", name_of(*option));
    return wrapped(usage, 7);
}

std::string options_of(const CLI::App& app, CLI::AppFormatMode mode) {
    std::vector<Entry> entries;
    std::string more;
    for (const bool positions : {true, false}) {
        for (const auto* option : app.get_options()) {
            if (option->get_positional() != positions || option->get_group().empty() || option == app.get_help_ptr() ||
                option == app.get_help_all_ptr())
                continue;
            if (mode != CLI::AppFormatMode::All && option->get_group() == more_options) {
                more += (more.empty() ? "--" : " --") + option->get_lnames().front();
            } else {
                entries.push_back({name_of(*option), description_of(*option)});
            }
        }
    }
    auto text = columns(entries);
    if (!more.empty()) text += "  " + wrapped(fmt::format("and {} (--help-all explains them)", more), 2) + "\n";
    return text;
}

std::string commands_of(const CLI::App& parent, CLI::AppFormatMode mode) {
    std::string text, more;
    std::vector<std::string> groups;
    std::size_t width = 0;
    const auto all = parent.get_subcommands([](const CLI::App*) { return true; });
    for (const auto* command : all) {
        if (mode != CLI::AppFormatMode::All && command->get_group() == more_options) {
            more += (more.empty() ? "" : " ") + command->get_name();
            continue;
        }
        width = std::max(width, command->get_name().size());
        if (std::ranges::find(groups, command->get_group()) == groups.end()) groups.push_back(command->get_group());
    }
    for (const auto& group : groups) {
        text += group + "\n";
        for (const auto* command : all) {
            if (command->get_group() == group)
                text += fmt::format("  {:<{}}  {}\n", command->get_name(), width,
                                    wrapped(command->get_description(), width + 4));
        }
    }
    if (!more.empty()) text += "  " + wrapped(fmt::format("and {} (--help-all explains them)", more), 2) + "\n";
    return text;
}

}  // namespace

std::string HelpFormatter::make_help(const CLI::App* app, std::string /*name*/, CLI::AppFormatMode mode) const {
    return help_of(*app, mode);
}

std::string HelpFormatter::help_of(const CLI::App& app, CLI::AppFormatMode mode) {
    auto text = wrapped(fmt::format("{}: {}", full_name(app), app.get_description()), 0) + "\n\n";
    const bool commands = !app.get_subcommands([](const CLI::App*) { return true; }).empty();
    const bool by_itself = !commands || app.get_require_subcommand_min() == 0;
    if (by_itself) {
        text += usage_of(app) + "\n";
        if (commands)
            text += fmt::format("       {0} COMMAND [options]   ({0} COMMAND --help shows more)\n", full_name(app));
        text += "\n" + options_of(app, mode);
    } else {
        text += fmt::format("usage: {0} COMMAND [options]   ({0} COMMAND --help shows more)\n\n", full_name(app));
    }
    if (commands) text += commands_of(app, mode);
    if (!app.get_footer().empty()) text += fmt::format("\nexample: {}\n", app.get_footer());
    return text;
}

}  // namespace weir::app
