// SPDX-License-Identifier: Apache-2.0
// The command line: commands, options with units, and what the user reads when something is wrong
// there. Everything wrong is one line on stderr, "weir record: what: why; what to do", and exit code 2.
//
//     void add_ls(CLI::App& parent, Command& chosen) {
//         auto options = std::make_shared<LsOptions>();  // shared by the parser's callbacks and the command
//         auto& command = add_command(parent, "look and prove", "ls", "lists recorded files", "weir ls data --run 7");
//         add_value(command, "--run", options->run, "N", "only files of this run");
//         add_json_flag(command, options->json);
//         command.callback([options, &chosen] { chosen = [options] { return run_ls(*options); }; });
//     }
#pragma once

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <CLI/Option.hpp>

#include <charconv>
#include <chrono>
#include <concepts>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/base/suggest.hpp"

namespace weir::transport {
struct HostPort;  // address_value.cpp has its values: not every program that has commands has addresses
}

namespace weir::app {

/// What main runs; its result is the exit code.
using Command = std::function<int()>;

// Every command ends with one of these; its page defines what they mean there.
inline constexpr int exit_good = 0;
inline constexpr int exit_bad = 1;      // done, and the answer is bad; or it could not be done
inline constexpr int exit_usage = 2;    // the command line has to change
inline constexpr int exit_missing = 3;  // a file, directory or event that was named is not there

// The groups of `weir --help`, in its order.
inline constexpr const char* group_try = "try it";
inline constexpr const char* group_record = "record and send";
inline constexpr const char* group_stations = "stations of a partition";
inline constexpr const char* group_look = "look and prove";
inline constexpr const char* group_measure = "measure";

/// A command of `parent`. `example` ends its help: one line that runs. An option or command in the group
/// `more_options` is shown by --help-all only; --help lists its name.
CLI::App& add_command(CLI::App& parent, const std::string& group, const std::string& name,
                      const std::string& description, const std::string& example);
inline constexpr const char* more_options = "more";

/// What the user typed to get here: "weir bench record".
[[nodiscard]] std::string full_name(const CLI::App& command);

/// The exit code when there is nothing more to do (help, version, a wrong command line).
[[nodiscard]] std::optional<int> parse(CLI::App& root, int argc, char** argv);

/// Prints "weir ls: <error>" as one line on stderr and gives the exit code that fits.
[[nodiscard]] int fail_with(std::string_view command, const Error& error);
/// The same for a combination of options that makes no sense; exit_usage.
[[nodiscard]] int fail_usage(std::string_view command, std::string_view text);
/// The same for a thing that is not there; exit_missing.
[[nodiscard]] int fail_missing(std::string_view command, std::string_view text);
/// What was printed has arrived. If not, that is reported, by the first call.
[[nodiscard]] bool output_arrived_or_reported(std::string_view command);
/// One line on stderr, "weir ls: <text>", control characters made visible.
void complain(std::string_view command, std::string_view text);

// Values -------------------------------------------------------------------------------------------

template <class T>
concept IntegerValue = std::integral<T> && !std::same_as<T, bool>;

/// Decimal digits only; the error gives the numbers that are possible.
template <IntegerValue T>
[[nodiscard]] Result<> read_value(std::string_view text, T& to) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size()) return to = value, Result<>{};
    return fail(Errc::usage, fmt::format("\"{}\" is not a whole number from {} to {}", text,
                                         std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

template <class Id>
    requires std::is_enum_v<Id>
[[nodiscard]] Result<> read_value(std::string_view text, Id& to) {
    std::underlying_type_t<Id> value{};
    WEIR_TRY(read_value(text, value));
    return to = Id{value}, Result<>{};
}

[[nodiscard]] Result<> read_value(std::string_view text, double& to);
[[nodiscard]] Result<> read_value(std::string_view text, Bytes& to);
[[nodiscard]] Result<> read_value(std::string_view text, transport::HostPort& to);
[[nodiscard]] inline Result<> read_value(std::string_view text, std::string& to) { return to = text, Result<>{}; }
[[nodiscard]] inline Result<> read_value(std::string_view text, std::filesystem::path& to) {
    if (text.empty()) return fail(Errc::usage, "the path is empty; name a file or directory");
    return to = text, Result<>{};
}

template <class Rep, class Period>
[[nodiscard]] Result<> read_value(std::string_view text, std::chrono::duration<Rep, Period>& to) {
    using Duration = std::chrono::duration<Rep, Period>;
    const auto parsed = WEIR_TRY(parse_duration(text));
    const auto value = std::chrono::duration_cast<Duration>(parsed);
    if (value != parsed)
        return fail(Errc::usage,
                    fmt::format("\"{}\" is finer than {}", text,
                                to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(Duration{1}))));
    return to = value, Result<>{};
}

template <class T>
[[nodiscard]] Result<> read_value(std::string_view text, std::optional<T>& to) {
    T value{};
    WEIR_TRY(read_value(text, value));
    return to = std::move(value), Result<>{};
}

/// Appends: an option or position that may be given several times.
template <class T>
[[nodiscard]] Result<> read_value(std::string_view text, std::vector<T>& to) {
    T value{};
    WEIR_TRY(read_value(text, value));
    return to.push_back(std::move(value)), Result<>{};
}

// How a default is shown in the help; an empty text is not shown.
[[nodiscard]] inline std::string shown_value(IntegerValue auto value) { return fmt::to_string(value); }
[[nodiscard]] inline std::string shown_value(double value) { return fmt::to_string(value); }
[[nodiscard]] inline std::string shown_value(Bytes value) { return to_string(value); }
[[nodiscard]] inline std::string shown_value(const std::string& value) { return value; }
[[nodiscard]] inline std::string shown_value(const std::filesystem::path& value) { return value.native(); }
[[nodiscard]] std::string shown_value(const transport::HostPort& value);
template <class Id>
    requires std::is_enum_v<Id>
[[nodiscard]] std::string shown_value(Id value) {
    return fmt::to_string(number(value));
}
template <class Rep, class Period>
[[nodiscard]] std::string shown_value(std::chrono::duration<Rep, Period> value) {
    return to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(value));
}
template <class T>
[[nodiscard]] std::string shown_value(const std::optional<T>& value) {
    return value ? shown_value(*value) : std::string{};
}
template <class T>
[[nodiscard]] std::string shown_value(const std::vector<T>& values) {
    std::string text;
    for (const auto& value : values) text += (text.empty() ? "" : " ") + shown_value(value);
    return text;
}

/// Equal but for capitals (ASCII).
[[nodiscard]] bool same_word(std::string_view a, std::string_view b) noexcept;

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;

/// An option ("-j,--jobs") or a position ("dir") bound to `target`, which outlives the parser; its value
/// now is the default. `value_name` stands for the value in the help and names its unit: "N", "SIZE",
/// "H:P". A value that does not fit is a usage error in the words of read_value.
template <class T>
CLI::Option& add_value(CLI::App& command, const std::string& names, T& target, const std::string& value_name,
                       const std::string& help) {
    auto* option = command.add_option(
        names,
        [&target, name = names.substr(names.find(',') + 1)](const std::vector<std::string>& texts) {
            if constexpr (is_list<T>) target.clear();  // the values of the user replace the default
            for (const auto& text : texts) {
                if (auto read = read_value(text, target); !read) throw CLI::ValidationError(name, read.error().context);
            }
            return true;
        },
        help);
    option->type_name(value_name)->default_str(shown_value(target));
    if constexpr (is_list<T>) {
        option->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
    } else {
        option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    }
    return *option;
}

template <class T>
struct ChoiceOfTarget {
    using type = T;
};
template <class T>
struct ChoiceOfTarget<std::optional<T>> {
    using type = T;
};
template <class T>
using ChoiceOf = typename ChoiceOfTarget<T>::type;

/// An option with one of a few words as its value, in capitals or not.
template <class T>
CLI::Option& add_choice(CLI::App& command, const std::string& names, T& target,
                        std::vector<std::pair<std::string, ChoiceOf<T>>> choices, const std::string& help) {
    std::string shown_default;
    std::string value_name;
    std::vector<std::string> words;
    for (const auto& [word, value] : choices) {
        if (value == target) shown_default = word;
        value_name += (value_name.empty() ? "" : "|") + word;
        words.push_back(word);
    }
    auto* option = command.add_option(
        names,
        [&target, words, choices = std::move(choices),
         name = names.substr(names.find(',') + 1)](const std::vector<std::string>& texts) {
            for (const auto& [word, value] : choices) {
                if (same_word(word, texts.back())) return target = value, true;
            }
            throw CLI::ValidationError(name, fmt::format("\"{}\" is not one of {}{}", texts.back(),
                                                         fmt::join(words, ", "), did_you_mean(texts.back(), words)));
        },
        help);
    option->type_name(value_name)->default_str(shown_default)->expected(1);
    return *option;
}

CLI::Option& add_flag(CLI::App& command, const std::string& names, bool& target, const std::string& help);

/// --json: one JSON document on stdout and nothing else there.
CLI::Option& add_json_flag(CLI::App& command, bool& target);

}  // namespace weir::app
