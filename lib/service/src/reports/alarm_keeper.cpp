// SPDX-License-Identifier: Apache-2.0
// A request is one line: "list", or "acknowledge", alarm and person with a tab between them. The answer is the text of
// the alarms, or "yes" or "no"; then the connection ends.
#include "weir/service/alarm_keeper.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "weir/base/descriptor.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t request_size_max = 4096;
constexpr std::size_t answer_size_max = 64U << 20;
constexpr auto peer_deadline = 2s;     // of the station, for one peer: it serves them one after the other
constexpr auto asking_deadline = 30s;  // of the one who asks

// What is added to the counter that wakes the thread. The end is in the counter too: a flag beside it could be set
// between the look at the flag and the read that takes the wake.
constexpr std::uint64_t alarm_changed = 1;
constexpr std::uint64_t end_of_thread = std::uint64_t{1} << 32;  // more alarms than a thread sleeps through

/// An address of a socket is short, a path need not be: so it goes through a descriptor of its directory.
struct SocketName {
    Descriptor directory;
    sockaddr_un address{};
};

Result<SocketName> name_of(const AlarmPlace& place) {
    SocketName name;
    name.directory = Descriptor(::open(place.directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (name.directory.get() < 0)
        return fail_errno(errno, fmt::format("cannot open directory {}", place.directory.native()));
    name.address.sun_family = AF_UNIX;
    const auto path = fmt::format("/proc/self/fd/{}/{}", name.directory.get(), place.socket().filename().native());
    if (path.size() >= sizeof(name.address.sun_path)) return fail(Errc::usage, "the name of the station is too long");
    std::memcpy(name.address.sun_path, path.c_str(), path.size() + 1);
    return name;
}

/// False when the deadline passed first.
bool wait_for(int fd, short what, SteadyTime deadline, const Clock& clock) {
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
        if (left <= 0) return false;
        pollfd one{fd, what, 0};
        const int ready = ::poll(&one, 1, static_cast<int>(left));
        if (ready > 0) return true;
        if (ready == 0 || errno != EINTR) return false;
    }
}

bool send_all(int fd, std::string_view text, SteadyTime deadline, const Clock& clock) {
    while (!text.empty()) {
        const auto count = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
        else if (errno != EINTR && (errno != EAGAIN || !wait_for(fd, POLLOUT, deadline, clock))) return false;
    }
    return true;
}

/// What came until the peer's end, or until a newline when `a_line`; nothing when it is too long or too late.
std::optional<std::string> receive(int fd, std::size_t size_max, bool a_line, SteadyTime deadline, const Clock& clock) {
    std::string text;
    std::array<char, 4096> piece;
    while (true) {
        if (!wait_for(fd, POLLIN, deadline, clock)) return std::nullopt;
        const auto count = ::recv(fd, piece.data(), piece.size(), MSG_DONTWAIT);
        if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (count < 0) return std::nullopt;
        text.append(piece.data(), static_cast<std::size_t>(count));
        if (text.size() > size_max) return std::nullopt;
        if (a_line && text.ends_with('\n')) return text.pop_back(), text;
        if (count == 0) return a_line ? std::nullopt : std::optional(std::move(text));
    }
}

}  // namespace

class AlarmKeeper::Thread {
public:
    Thread(Reports& reports, AlarmPlace place, const Clock& clock)
        : reports_(reports), place_(std::move(place)), clock_(clock) {}

    ~Thread() {
        reports_.watch_alarms({});
        wake(end_of_thread);
        if (thread_.joinable()) thread_.join();
        if (listener_.get() >= 0) static_cast<void>(::unlink(place_.socket().c_str()));
    }

    Result<> start() {
        wake_ = Descriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
        if (wake_.get() < 0) return fail_errno(errno, "cannot watch alarms; raise the limit of open files");
        WEIR_TRY(listen());
        if (auto loaded = load_alarms(place_)) {
            reports_.restore(*loaded);
        } else {
            auto aside = place_.file();
            aside += ".damaged";
            static_cast<void>(std::rename(place_.file().c_str(), aside.c_str()));
            reports_.submit({.severity = Severity::error,
                             .what = "the alarms of before cannot be read",
                             .why = loaded.error().message(),
                             .advice = "look at " + aside.native(),
                             .alarm = "alarms unreadable"});
        }
        reports_.watch_alarms([this] { wake(); });
        thread_ = std::jthread([this] { run(); });
        return {};
    }

private:
    Result<> listen() {
        const auto name = WEIR_TRY(name_of(place_));
        Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        static_cast<void>(::unlink(place_.socket().c_str()));  // of a station that crashed: the directory is ours
        const auto* address = reinterpret_cast<const sockaddr*>(&name.address);
        if (socket.get() < 0 || ::bind(socket.get(), address, sizeof(name.address)) != 0 ||
            ::chmod(place_.socket().c_str(), S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) != 0 ||
            ::listen(socket.get(), 16) != 0)
            return fail_errno(errno, fmt::format("cannot listen on {}", place_.socket().native()));
        listener_ = std::move(socket);
        return {};
    }

    void wake(std::uint64_t why = alarm_changed) const noexcept {
        static_cast<void>(!::write(wake_.get(), &why, sizeof(why)));
    }

    void run() {
        while (true) {
            std::array<pollfd, 2> watched{pollfd{wake_.get(), POLLIN, 0}, pollfd{listener_.get(), POLLIN, 0}};
            static_cast<void>(::poll(watched.data(), watched.size(), retry_ ? 1000 : -1));
            std::uint64_t why = 0;
            if (::read(wake_.get(), &why, sizeof(why)) > 0 || retry_) save();
            if (why >= end_of_thread) return;
            if (watched[1].revents != 0) serve();
        }
    }

    void save() {
        const auto saved = save_alarms(place_, reports_.alarms());
        if (!saved && !retry_) {  // a full disk, most likely; reported once, tried again until it works
            auto report =
                report_of(Severity::error, "alarms cannot be saved; a restart would lose them", saved.error());
            reports_.submit(std::move(report));
        }
        retry_ = !saved;
    }

    void serve() {
        const Descriptor peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (peer.get() < 0) return;
        const auto deadline = clock_.now() + peer_deadline;
        const auto request = receive(peer.get(), request_size_max, true, deadline, clock_);
        if (!request) return;
        constexpr std::string_view acknowledge = "acknowledge\t";
        if (*request == "list") {
            static_cast<void>(send_all(peer.get(), to_text(reports_.alarms()), deadline, clock_));
        } else if (request->starts_with(acknowledge)) {
            const auto rest = std::string_view(*request).substr(acknowledge.size());
            const auto tab = rest.find('\t');
            const auto person = tab == rest.npos ? std::string_view{} : rest.substr(tab + 1);
            const bool done =
                valid_person(person) && reports_.acknowledge(std::string(rest.substr(0, tab)), std::string(person));
            if (done) save();  // before the answer, so that "yes" is true after a crash too
            static_cast<void>(send_all(peer.get(), done ? "yes" : "no", deadline, clock_));
        }
    }

    Reports& reports_;
    const AlarmPlace place_;
    const Clock& clock_;
    Descriptor wake_;
    Descriptor listener_;
    bool retry_ = false;  // the last save failed; of the thread
    std::jthread thread_;
};

AlarmKeeper::AlarmKeeper(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
AlarmKeeper::AlarmKeeper(AlarmKeeper&&) noexcept = default;
AlarmKeeper& AlarmKeeper::operator=(AlarmKeeper&&) noexcept = default;
AlarmKeeper::~AlarmKeeper() = default;

Result<AlarmKeeper> AlarmKeeper::start(Reports& reports, const AlarmPlace& place, const Clock& clock) {
    auto thread = std::make_unique<Thread>(reports, place, clock);
    WEIR_TRY(thread->start());
    return AlarmKeeper(std::move(thread));
}

namespace {

Result<std::optional<std::string>> ask(const AlarmPlace& place, const std::string& request, const Clock& clock) {
    const auto name = WEIR_TRY(name_of(place));
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return fail_errno(errno, "cannot make a socket");
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name.address), sizeof(name.address)) != 0) {
        if (errno == ENOENT || errno == ECONNREFUSED) return std::nullopt;
        return fail_errno(errno, fmt::format("cannot ask the station at {}", place.socket().native()));
    }
    const auto deadline = clock.now() + asking_deadline;
    if (send_all(socket.get(), request, deadline, clock)) {
        if (auto answer = receive(socket.get(), answer_size_max, false, deadline, clock); answer && !answer->empty())
            return std::optional(std::move(*answer));
    }
    return fail(Errc::io, fmt::format("the station at {} does not answer", place.socket().native()));
}

}  // namespace

Result<std::optional<std::vector<Alarm>>> ask_alarms(const AlarmPlace& place, const Clock& clock) {
    const auto answer = WEIR_TRY(ask(place, "list\n", clock));
    if (!answer) return std::nullopt;
    auto alarms = WEIR_TRY(alarms_from(*answer));
    return std::optional(std::move(alarms));
}

Result<std::optional<bool>> ask_to_acknowledge(const AlarmPlace& place, const std::string& alarm,
                                               const std::string& person, const Clock& clock) {
    const auto answer = WEIR_TRY(ask(place, fmt::format("acknowledge\t{}\t{}\n", on_one_line(alarm), person), clock));
    if (!answer) return std::nullopt;
    return std::optional(*answer == "yes");
}

}  // namespace weir::service
