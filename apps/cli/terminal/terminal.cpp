// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/terminal.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace weir::app {
namespace {

constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l\x1b[2J";  // alternate screen, no cursor, empty
constexpr std::string_view leave_screen = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr std::chrono::milliseconds rest_of_key{50};  // of an escape sequence, over a slow line

sigset_t terminal_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH}) sigaddset(&set, number);
    return set;
}

std::string_view code_of(ScreenLine::Style style, bool colour) {
    using enum ScreenLine::Style;
    switch (style) {
        case plain: return "";
        case bold: return "\x1b[1m";
        case reverse: return "\x1b[7m";
        case trouble: return colour ? "\x1b[1;31m" : "\x1b[1m";
        case faint: return "\x1b[2m";
    }
    return "";
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
    termios before{};
    if (::isatty(STDOUT_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &before) != 0)
        return fail(Errc::usage, "stdin and stdout have to be a terminal; --once prints one page anywhere");
    const auto set = terminal_signals();
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, &set, &mask);
    const int signals = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) {
        const int why = errno;
        pthread_sigmask(SIG_SETMASK, &mask, nullptr);
        return fail_errno(why, "signalfd for the keys of the terminal");
    }
    return std::unique_ptr<Terminal>(new Terminal(before, mask, signals));
}

Terminal::Terminal(termios before, sigset_t mask, int signals)
    : before_(before), mask_before_(mask), signals_(signals), colour_(std::getenv("NO_COLOR") == nullptr) {
    take_over();
}

Terminal::~Terminal() {
    give_back();
    ::close(signals_);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Terminal::take_over() {
    auto raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);  // ISIG stays: Ctrl-C and Ctrl-Z are signals
    raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    write_all(std::string(enter_screen));
}

void Terminal::give_back() {
    write_all(std::string(leave_screen));
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);  // keys that nobody read are for nobody
}

void Terminal::suspend() {
    give_back();
    ::kill(::getpid(), SIGSTOP);
    take_over();
}

ScreenSize Terminal::size() const {
    struct winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
    return {size.ws_col, size.ws_row};
}

int Terminal::next_byte(std::chrono::milliseconds at_most) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    if (::poll(&input, 1, static_cast<int>(at_most.count())) <= 0) return -1;
    unsigned char byte = 0;
    return ::read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1;
}

TerminalEvent Terminal::read_key() {
    TerminalEvent event;
    const int first = next_byte(std::chrono::milliseconds{0});
    if (first < 0) {
        event.ended = true;  // readable, and nothing to read: it is gone
        return event;
    }
    event.key = Key::other;
    event.letter = static_cast<char>(first);
    if (first == '\r' || first == '\n') event.key = Key::enter;
    if (first != 0x1b) return event;
    const int second = next_byte(rest_of_key);
    event.key = second < 0 ? Key::escape : Key::none;
    if (second != '[' && second != 'O') return event;
    std::string sequence;
    for (int byte = next_byte(rest_of_key); byte >= 0; byte = next_byte(rest_of_key)) {
        sequence += static_cast<char>(byte);
        if ((byte >= 0x40 && byte <= 0x7e) || sequence.size() > 8) break;
    }
    struct Sequence {
        std::string_view bytes;
        Key key;
    };
    constexpr std::array known{Sequence{"A", Key::up},       Sequence{"B", Key::down},       Sequence{"H", Key::home},
                               Sequence{"F", Key::end},      Sequence{"1~", Key::home},      Sequence{"4~", Key::end},
                               Sequence{"5~", Key::page_up}, Sequence{"6~", Key::page_down}, Sequence{"D", Key::escape},
                               Sequence{"C", Key::enter}};
    const auto* const found = std::ranges::find(known, std::string_view(sequence), &Sequence::bytes);
    if (found != known.end()) event.key = found->key;
    return event;
}

TerminalEvent Terminal::wait(std::chrono::milliseconds at_most) {
    TerminalEvent event;
    if (gone_) {
        event.ended = true;
        return event;
    }
    std::array<pollfd, 2> both{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals_, POLLIN, 0}};
    if (::poll(both.data(), both.size(), static_cast<int>(at_most.count())) <= 0) return event;
    if ((both[1].revents & POLLIN) != 0) {
        signalfd_siginfo signal{};
        if (::read(signals_, &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) return event;
        if (signal.ssi_signo == SIGTSTP) suspend();
        event.resized = signal.ssi_signo == SIGWINCH || signal.ssi_signo == SIGTSTP;
        event.ended = !event.resized;
        return event;
    }
    return (both[0].revents & (POLLHUP | POLLERR | POLLIN)) != 0 ? read_key() : event;
}

void Terminal::draw(const std::vector<ScreenLine>& lines) {
    const auto rows = size().rows;
    std::string text = "\x1b[H";
    for (std::size_t row = 0; row < rows; ++row) {
        text += "\x1b[K";  // before the text: behind a line of full width it would take the last column
        if (row < lines.size()) {
            const auto code = code_of(lines[row].style, colour_);
            text += code;
            text += lines[row].text;
            if (!code.empty()) text += "\x1b[0m";
        }
        if (row + 1 < rows) text += "\r\n";
    }
    write_all(text);
}

void Terminal::write_all(const std::string& text) {
    for (std::string_view rest = text; !rest.empty() && !gone_;) {
        const auto written = ::write(STDOUT_FILENO, rest.data(), rest.size());
        if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
        else if (written < 0 && errno == EAGAIN) static_cast<void>(::poll(nullptr, 0, 10));
        else gone_ = written == 0 || errno != EINTR;
    }
}

}  // namespace weir::app
