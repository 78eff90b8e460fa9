// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.hpp"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <utility>

#include "cli/help_formatter.hpp"
#include "cli/output.hpp"

namespace weir::app {
namespace {

const CLI::App& deepest_command(const CLI::App& root) {
    const auto* command = &root;
    while (true) {
        const auto below = command->get_subcommands();
        if (below.empty()) return *command;
        command = below.front();
    }
}

std::vector<std::string> option_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const auto* option : command.get_options()) {
        for (const auto& name : option->get_lnames()) names.push_back("--" + name);
        for (const auto& name : option->get_snames()) names.push_back("-" + name);
    }
    return names;
}

std::vector<std::string> command_names(const CLI::App& command) {
    std::vector<std::string> names;
    for (const auto* below : command.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(below->get_name());
    return names;
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
    const auto nearest = nearest_word(word, known);
    return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string{};
}

struct Unknown {
    std::string command;
    std::string text;
};

/// What the parser could not place, from the outermost command inwards. The parser's own error is what is
/// missing, which is often only the same mistake seen from the other side: --lisetn for --listen.
std::optional<Unknown> unknown_word(const CLI::App& root) {
    for (const auto* command = &root;; command = command->get_subcommands().front()) {
        const auto me = full_name(*command);
        for (const auto& word : command->remaining()) {
            if (word == "--") continue;
            const auto commands = command_names(*command);
            const bool is_option = word.starts_with('-') && word.size() > 1;
            if (!is_option && commands.empty())
                return Unknown{me,
                               fmt::format("\"{}\" is one argument too many; {} --help shows what it takes", word, me)};
            const auto name = is_option ? word.substr(0, word.find('=')) : word;
            auto hint = suggestion(name, is_option ? option_names(*command) : commands);
            if (hint.empty()) hint = fmt::format("; {} --help lists them", me);
            return Unknown{"weir", is_option ? fmt::format("unknown option {} of {}{}", name, me, hint)
                                             : fmt::format("unknown command {} {}{}", me, name, hint)};
        }
        if (command->get_subcommands().empty()) return std::nullopt;
    }
}

/// The parser's error in words of ours.
std::string reason_of(const CLI::ParseError& error, const CLI::App& command) {
    const std::string text = error.what();
    const auto name = text.substr(0, text.find_first_of(": "));
    const auto help = fmt::format("{} --help shows an example", full_name(command));
    if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return text;
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
        if (!command_names(command).empty())
            return fmt::format("no command was given; {} --help lists them", full_name(command));
        for (const auto* option : command.get_options()) {
            if (option->get_positional() && option->get_name() == name)
                return fmt::format("{} is missing; {}", option->get_type_name(), help);
        }
        return fmt::format("option {} is missing; {}", name, help);
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        if (text.ends_with("missing") || text.ends_with("received 0"))
            return fmt::format("option {} needs a value; {}", name, help);
        return fmt::format("option {} was given more than once; give it once", name);
    }
    if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
        return fmt::format("{} and {} cannot be used together", name, text.substr(text.rfind(' ') + 1));
    return fmt::format("{}; {}", text, help);
}

}  // namespace

CLI::App& add_command(CLI::App& parent, const std::string& group, const std::string& name,
                      const std::string& description, const std::string& example) {
    auto* command = parent.add_subcommand(name, description);
    command->group(group);
    command->footer(example);
    return *command;
}

std::string full_name(const CLI::App& command) {
    const auto* parent = command.get_parent();
    return parent == nullptr ? "weir" : full_name(*parent) + " " + command.get_name();
}

std::optional<int> parse(CLI::App& root, int argc, char** argv) {
    try {
        root.parse(argc, argv);
        return std::nullopt;
    } catch (const CLI::CallForVersion& version) {
        print("{}\n", version.what());
    } catch (const CLI::CallForHelp&) {
        print(HelpFormatter::help_of(deepest_command(root), CLI::AppFormatMode::Normal));
    } catch (const CLI::CallForAllHelp&) {
        print(HelpFormatter::help_of(deepest_command(root), CLI::AppFormatMode::All));
    } catch (const CLI::ParseError& error) {
        const auto& command = deepest_command(root);
        if (const auto unknown = unknown_word(root)) return fail_usage(unknown->command, unknown->text);
        return fail_usage(full_name(command), reason_of(error, command));
    }
    return exit_good;
}

void complain(std::string_view command, std::string_view text) {
    flush_output();  // what was printed before stands before
    const auto line = fmt::format("{}: {}\n", command, printable(text));
    std::fwrite(line.data(), 1, line.size(), stderr);  // where that fails there is no other place for it
}

bool output_arrived_or_reported(std::string_view command) {
    if (output_arrived()) return true;
    static bool reported = false;
    if (!std::exchange(reported, true)) complain(command, Error{Errc::io, errno, "cannot write to stdout"}.message());
    return false;
}

int fail_with(std::string_view command, const Error& error) {
    complain(command, error.message());
    if (error.code == Errc::usage) return exit_usage;
    return error.os_errno == ENOENT || error.os_errno == ENOTDIR ? exit_missing : exit_bad;
}

int fail_usage(std::string_view command, std::string_view text) { return complain(command, text), exit_usage; }

int fail_missing(std::string_view command, std::string_view text) { return complain(command, text), exit_missing; }

Result<> read_value(std::string_view text, double& to) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
        return fail(Errc::usage, fmt::format("\"{}\" is not a number", text));
    return to = value, Result<>{};
}

Result<> read_value(std::string_view text, Bytes& to) {
    const auto value = WEIR_TRY(parse_bytes(text));
    return to = value, Result<>{};
}

bool same_word(std::string_view a, std::string_view b) noexcept {
    const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, small, small);
}

CLI::Option& add_flag(CLI::App& command, const std::string& names, bool& target, const std::string& help) {
    return *command.add_flag(names, target, help);
}

CLI::Option& add_json_flag(CLI::App& command, bool& target) {
    return add_flag(command, "--json", target, "one JSON document on stdout, nothing else there");
}

}  // namespace weir::app
