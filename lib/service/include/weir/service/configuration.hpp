// SPDX-License-Identifier: Apache-2.0
// Configuration: a table of declared keys, each bound to a field of an options struct. The same table
// reads a TOML file into the fields, prints itself as documentation and prints what is in effect, so
// that the three cannot drift apart. The fields' values at declaration are the defaults.
//
//     RecordOptions options;
//     Settings settings;
//     settings.add("record", "listen", options.listen, "address and port that senders connect to");
//     settings.add("record", "file_size_max", options.file_size_max, "a file is closed at this size");
//     auto read = settings.read_file("partition.toml");
//
// Text from outside is never half applied: an error in it changes no field.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"

namespace weir::service {

/// What a file can contain for one key.
using SettingValue = std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;

enum class SettingKind { text, size, duration, integer, boolean, list };

template <class T>
concept SettingInteger = std::integral<T> && !std::same_as<T, bool>;

class Settings {
public:
    /// One declared key. The constraints return the key, to be chained after add().
    class Key {
    public:
        Key& one_of(std::vector<std::string> words);  // text only
        Key& at_least(std::int64_t least);            // of an integer
        Key& at_most(std::int64_t most);
        Key& at_least(Bytes least);
        Key& at_most(Bytes most);
        Key& at_least(std::chrono::nanoseconds least);
        Key& at_most(std::chrono::nanoseconds most);
        Key& or_number();  // of a text: an integer stands for the text of it
        /// Of a text, and of each text in a list. The error names the text and what to write; it is reported with key
        /// and line.
        Key& each(std::function<Result<>(const std::string&)> check);

    private:
        friend class Settings;
        friend class SettingsReader;
        std::string section_;
        std::string name_;
        std::string description_;
        SettingKind kind_ = SettingKind::text;
        std::vector<std::string> words_;
        std::function<Result<>(const std::string&)> each_;
        std::int64_t least_ = 0;  // of integers, bytes or nanoseconds
        std::int64_t most_ = std::numeric_limits<std::int64_t>::max();
        SettingValue default_;
        std::function<void(const SettingValue&)> store_;  // a value that was checked, into the field
        std::function<SettingValue()> load_;

        bool or_number_ = false;
        std::int64_t unit_ = 1;  // a duration is a multiple of its field's unit

        /// A value of a file in the field's own terms, or why it cannot be one.
        [[nodiscard]] Result<SettingValue> checked(const SettingValue& value) const;
        [[nodiscard]] Result<SettingValue> in_bounds(std::int64_t value) const;
        [[nodiscard]] std::string shown(const SettingValue& value) const;  // as TOML
    };

    /// Sections may be nested: "record.limits". Fields must outlive the table. The same key twice is a mistake.
    Key& add(std::string section, std::string name, std::string& field, std::string description);
    Key& add(std::string section, std::string name, std::vector<std::string>& field, std::string description);
    Key& add(std::string section, std::string name, bool& field, std::string description);
    Key& add(std::string section, std::string name, Bytes& field, std::string description);

    template <class Rep, class Period>
    Key& add(std::string section, std::string name, std::chrono::duration<Rep, Period>& field,
             std::string description) {
        using Duration = std::chrono::duration<Rep, Period>;
        return add_duration(
            std::move(section), std::move(name), std::move(description),
            [&field] { return std::chrono::duration_cast<std::chrono::nanoseconds>(field); },
            [&field](std::chrono::nanoseconds value) { field = std::chrono::duration_cast<Duration>(value); },
            std::chrono::duration_cast<std::chrono::nanoseconds>(Duration{1}));
    }

    template <SettingInteger T>
    Key& add(std::string section, std::string name, T& field, std::string description) {
        constexpr auto most = std::numeric_limits<std::int64_t>::max();
        constexpr bool narrower = std::cmp_less(std::numeric_limits<T>::max(), most);
        return add_integer(
            std::move(section), std::move(name), std::move(description),
            [&field] { return std::cmp_greater(field, most) ? most : static_cast<std::int64_t>(field); },
            [&field](std::int64_t value) { field = static_cast<T>(value); },
            std::is_signed_v<T> ? static_cast<std::int64_t>(std::numeric_limits<T>::min()) : 0,
            narrower ? static_cast<std::int64_t>(std::numeric_limits<T>::max()) : most);
    }

    /// A section that another station reads: its keys are not looked at, unless it has keys in this table. "readout.*":
    /// every section of that kind.
    void ignore_section(std::string section);

    /// Errc::usage: "partition.toml:12: unknown key "lisetn" in [record]; did you mean "listen"?"
    [[nodiscard]] Result<> read_text(std::string_view text, std::string_view file_name);
    [[nodiscard]] Result<> read_file(const std::filesystem::path& path);

    /// The table as Markdown: key, kind, default, description, one block per section.
    [[nodiscard]] std::string documentation() const;

    /// What the fields hold now, as TOML that read_text() reads; what differs from its default is marked.
    [[nodiscard]] std::string effective() const;

private:
    Key& declare(std::string section, std::string name, std::string description, SettingKind kind,
                 std::function<SettingValue()> load, std::function<void(const SettingValue&)> store);
    Key& add_duration(std::string section, std::string name, std::string description,
                      std::function<std::chrono::nanoseconds()> load,
                      std::function<void(std::chrono::nanoseconds)> store, std::chrono::nanoseconds unit);
    Key& add_integer(std::string section, std::string name, std::string description, std::function<std::int64_t()> load,
                     std::function<void(std::int64_t)> store, std::int64_t least, std::int64_t most);

    friend class SettingsReader;  // walks the parsed text beside this table (configuration_reader.cpp)

    std::vector<std::unique_ptr<Key>> keys_;  // unique_ptr: add() hands out references
    std::vector<std::string> others_;
};

}  // namespace weir::service
