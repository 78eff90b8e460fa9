// SPDX-License-Identifier: Apache-2.0
#include "run/partition/notify_settings.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "weir/base/file.hpp"
#include "weir/base/suggest.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/partition.hpp"
#include "weir/service/configuration_sections.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view notify_section = "notify";
constexpr Bytes notify_file_max{16U << 10};

class NotifyCheck {
public:
    NotifyCheck(const std::filesystem::path& file, const NotifySettings& of) : file_(file), of_(of) {}

    [[nodiscard]] std::unexpected<Error> wrong(std::string_view what) const {
        return fail(Errc::usage,
                    fmt::format("{}:{}: [notify.{}] {}", file_.native(), of_.line, of_.options.name, what));
    }
    /// A file that holds a secret.
    [[nodiscard]] Result<std::string> secret(std::string_view key, const std::string& path) const {
        const auto named = [&](std::string_view why) { return wrong(fmt::format("{} = \"{}\": {}", key, path, why)); };
        auto text = read_text(path, notify_file_max);
        if (!text)
            return named(fmt::format("{}{}", text.error().message(),
                                     std::filesystem::path(path).is_absolute()
                                         ? ""
                                         : " (a relative path counts from where weir run is started)"));
        struct stat status{};
        if (::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0)
            return named(fmt::format("everybody may read it (mode {:04o}), and it holds a secret; chmod o-r it",
                                     status.st_mode & 07777U));
        return text;
    }

private:
    const std::filesystem::path& file_;
    const NotifySettings& of_;
};

std::vector<std::string> notify_event_words() {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < control::notify_events; ++i) {
        const std::string word(name(static_cast<control::NotifyEvent>(i)));
        if (control::parse_notify_event(word)) words.push_back(word);
    }
    return words;
}

/// The keys of a section together.
Result<> check_together(const std::filesystem::path& file, const NotifySettings& settings) {
    const NotifyCheck check(file, settings);
    const bool web = !settings.url.empty() || !settings.url_file.empty();
    if (settings.options.command.empty() != web)
        return check.wrong(web ? "has a command and a url; give one of them"
                               : "sends nothing anywhere; give command = [\"/path/of/it\"] or url = \"https://...\"");
    if (!settings.url.empty() && !settings.url_file.empty()) return check.wrong("has url and url_file; give one");
    if (!web && !(settings.headers_file.empty() && settings.ca_file.empty()))
        return check.wrong("has headers_file or ca_file, which a command does not need");
    if (!settings.options.command.empty() && settings.options.command.front().empty())
        return check.wrong("command: its first word, the program, is empty");
    if (settings.options.on.empty()) return check.wrong("on = []: it would never send anything");
    return {};
}

}  // namespace

void NotifySettings::declare(service::Settings& settings, const std::string& section) {
    settings.add(section, "on", on, "what it is sent of: start, stop, bad_run, alarm, acknowledged")
        .each([](const std::string& word) -> Result<> {
            if (control::parse_notify_event(word)) return {};
            return fail(Errc::usage, fmt::format("is no event{}; there are start, stop, bad_run, alarm and "
                                                 "acknowledged",
                                                 did_you_mean(word, notify_event_words())));
        });
    settings.add(section, "severity", severity, "of alarms: those below it are left out")
        .one_of({"information", "warning", "error", "fatal"});
    settings.add(section, "command", options.command,
                 "program and arguments, without a shell; gets the JSON document on stdin");
    settings.add(section, "url", url, "http:// or https:// address to which the document is posted")
        .each([](const std::string& text) -> Result<> {
            if (!text.empty()) WEIR_TRY(service::parse_web_address(text));
            return {};
        });
    settings.add(section, "url_file", url_file, "file with that address, where it is a secret");
    settings.add(section, "headers_file", headers_file, "file with further headers, as \"Authorization: Bearer ...\"");
    settings.add(section, "ca_file", ca_file,
                 "PEM file with the authority of an https:// server; empty: those of this machine");
    settings.add(section, "time_limit", options.time_limit, "of one try; then a command is killed")
        .at_least(100ms)
        .at_most(10min);
    settings
        .add(section, "per_minute", options.per_minute, "messages of each event; what comes more often is summed up")
        .at_least(1)
        .at_most(1000);
    settings.add(section, "tries", options.tries, "of one message").at_least(1).at_most(20);
    settings.add(section, "retry_after", options.retry_after, "a try that failed; doubles each time, up to 1min")
        .at_least(10ms)
        .at_most(1min);
}

Result<std::vector<NotifySettings>> list_notifiers(std::string_view text, const std::filesystem::path& file) {
    std::vector<NotifySettings> all;
    const auto sections = WEIR_TRY(service::list_sections(text, file.native()));
    for (const auto& section : sections) {
        if (section.path.substr(0, section.path.find('.')) != notify_section) continue;
        if (section.path == notify_section && !section.has_values) continue;  // it has notifiers below it
        NotifySettings one;
        one.line = section.line;
        if (section.path.size() > notify_section.size())
            one.options.name = section.path.substr(notify_section.size() + 1);
        if (!control::is_station_name(one.options.name))
            return fail(Errc::usage, fmt::format("{}:{}: [{}]: a notifier's section is [notify.NAME], with letters, "
                                                 "digits, - and _, 64 at most",
                                                 file.native(), section.line, section.path));
        service::Settings settings;
        one.declare(settings, section.path);
        for (const auto* shared : {"partition", "data", "network", "security", "hosts", "engine", "run", "notify.*"})
            settings.ignore_section(shared);
        for (const auto kind : station_kinds) settings.ignore_section(name(kind));
        WEIR_TRY(settings.read_text(text, file.native()));
        one.options.on.clear();
        for (const auto& word : one.on)
            if (const auto event = control::parse_notify_event(word)) one.options.on.push_back(*event);
        one.options.severity = parse_severity(one.severity).value_or(Severity::warning);
        one.options.authorities = one.ca_file;
        WEIR_TRY(check_together(file, one));
        if (all.size() == control::notifiers_max)
            return fail(Errc::usage, fmt::format("{}:{}: more than {} notifiers", file.native(), section.line,
                                                 control::notifiers_max));
        all.push_back(std::move(one));
    }
    return all;
}

Result<std::vector<control::NotifierOptions>> read_notifiers(std::string_view text, const std::filesystem::path& file) {
    const auto listed = WEIR_TRY(list_notifiers(text, file));
    std::vector<control::NotifierOptions> all;
    for (const auto& settings : listed) {
        const NotifyCheck check(file, settings);
        auto options = settings.options;
        auto url = settings.url;
        if (!settings.url_file.empty()) {
            url = WEIR_TRY(check.secret("url_file", settings.url_file));
            while (!url.empty() && (url.back() == '\n' || url.back() == '\r' || url.back() == ' ')) url.pop_back();
        }
        if (!url.empty() || !settings.url_file.empty()) {
            auto address = service::parse_web_address(url);
            if (!address)
                return check.wrong(
                    fmt::format("url_file = \"{}\": its text {}", settings.url_file, address.error().message()));
            options.url = std::move(*address);
        }
        if (!settings.headers_file.empty()) {
            const auto content = WEIR_TRY(check.secret("headers_file", settings.headers_file));
            auto headers = service::parse_http_headers(content);
            if (!headers)
                return check.wrong(
                    fmt::format("headers_file = \"{}\": {}", settings.headers_file, headers.error().message()));
            options.headers = std::move(*headers);
        }
        if (options.url) {
            const auto client =
                service::WebClient::open(*options.url, options.headers, options.authorities, system_clock());
            if (!client) return check.wrong(client.error().message());
        }
        all.push_back(std::move(options));
    }
    return all;
}

}  // namespace weir::app
