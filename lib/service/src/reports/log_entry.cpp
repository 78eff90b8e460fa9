// SPDX-License-Identifier: Apache-2.0
#include "weir/service/log_entry.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cstddef>
#include <cstring>

#include "weir/base/endian.hpp"
#include "weir/json/parse.hpp"

namespace weir::service {
namespace {

constexpr std::string_view log_time_form = "0000-00-00T00:00:00.000Z";

/// As syslog(3) counts.
int journal_priority(Severity severity) {
    switch (severity) {
        case Severity::information: return 6;
        case Severity::warning: return 4;
        case Severity::error: return 3;
        case Severity::fatal: return 2;
    }
    return 3;
}

int log_number(std::string_view digits) {
    int value = 0;
    static_cast<void>(std::from_chars(digits.data(), digits.data() + digits.size(), value));
    return value;
}

void add_journal_field(std::string& datagram, std::string_view name, std::string_view value) {
    if (!value.contains('\n')) {
        datagram.append(name).append("=").append(value).append("\n");
        return;
    }
    std::array<std::byte, 8> size{};
    store_little(MutableData(size), 0, static_cast<std::uint64_t>(value.size()));
    datagram.append(name).append("\n").append(reinterpret_cast<const char*>(size.data()), size.size());
    datagram.append(value).append("\n");
}

}  // namespace

std::string log_time(WallTime when) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(when);
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(when - seconds).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                       milliseconds);
}

std::optional<WallTime> parse_log_time(std::string_view text) noexcept {
    if (text.size() != log_time_form.size()) return std::nullopt;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        if (log_time_form[i] == '0' ? !digit : text[i] != log_time_form[i]) return std::nullopt;
    }
    const auto at = [&](std::size_t from, std::size_t size) { return log_number(text.substr(from, size)); };
    const std::chrono::year_month_day day{std::chrono::year{at(0, 4)},
                                          std::chrono::month{static_cast<unsigned>(at(5, 2))},
                                          std::chrono::day{static_cast<unsigned>(at(8, 2))}};
    if (!day.ok() || at(11, 2) > 23 || at(14, 2) > 59 || at(17, 2) > 60) return std::nullopt;
    return WallTime{std::chrono::sys_days{day}} + std::chrono::hours{at(11, 2)} + std::chrono::minutes{at(14, 2)} +
           std::chrono::seconds{at(17, 2)} + std::chrono::milliseconds{at(20, 3)};
}

LogEntry parse_log_line(std::string_view line, WallTime when) {
    LogEntry entry{.when = when};
    if (line.size() > log_time_form.size() && line[log_time_form.size()] == ' ') {
        if (const auto own = parse_log_time(line.substr(0, log_time_form.size()))) {
            entry.when = *own;
            line.remove_prefix(log_time_form.size() + 1);
        }
    }
    const auto blank = line.find(' ');
    const auto colon = line.find(": ");
    if (blank != line.npos && colon != line.npos && blank < colon &&
        !line.substr(blank + 1, colon - blank - 1).contains(' ')) {
        if (const auto severity = parse_severity(line.substr(0, blank))) {
            entry.severity = *severity;
            entry.station = line.substr(blank + 1, colon - blank - 1);
            line.remove_prefix(colon + 2);
        }
    }
    entry.text = line;
    return entry;
}

std::string log_line(const LogEntry& entry) {
    return fmt::format("{} {} {}: {}", log_time(entry.when), name(entry.severity), entry.station, entry.text);
}

std::string json_line(const LogEntry& entry) {
    json::object document{{"time", log_time(entry.when)}, {"severity", name(entry.severity)}};
    if (!entry.partition.empty()) document["partition"] = json::safe(entry.partition);
    if (!entry.station.empty()) document["station"] = json::safe(entry.station);
    if (number(entry.run) != 0) document["run"] = number(entry.run);
    document["text"] = json::safe(entry.text);
    return json::serialize(document);
}

std::optional<Journal> Journal::behind(const char* stream, int fd, const std::filesystem::path& socket) {
    struct stat status{};
    if (stream == nullptr || ::fstat(fd, &status) != 0 || fmt::format("{}:{}", status.st_dev, status.st_ino) != stream)
        return std::nullopt;
    sockaddr_un address{};
    const auto& path = socket.native();
    if (path.size() >= sizeof(address.sun_path)) return std::nullopt;
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    Descriptor made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    if (!made || ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return std::nullopt;
    return Journal(std::move(made));
}

bool Journal::send(const LogEntry& entry) const noexcept {
    std::string datagram;
    add_journal_field(datagram, "MESSAGE", entry.text);
    add_journal_field(datagram, "PRIORITY", fmt::to_string(journal_priority(entry.severity)));
    add_journal_field(datagram, "SYSLOG_IDENTIFIER", "weir");
    if (!entry.partition.empty()) add_journal_field(datagram, "PARTITION", entry.partition);
    if (!entry.station.empty()) add_journal_field(datagram, "STATION", entry.station);
    if (number(entry.run) != 0) add_journal_field(datagram, "RUN", fmt::to_string(number(entry.run)));
    return ::send(socket_.get(), datagram.data(), datagram.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(datagram.size());
}

}  // namespace weir::service
