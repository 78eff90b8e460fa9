// SPDX-License-Identifier: Apache-2.0
// The whole screen of a terminal, by the few ANSI sequences that all terminals of the last decades obey: an alternate
// screen, lines from the top, keys one by one. However the program ends, the terminal is as it was before: at the end
// of this object, when it is stopped (Ctrl-Z) and by SIGINT, SIGTERM and SIGHUP, which are events here. (Not after
// SIGKILL: `reset` helps.)
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::app {

/// A line of a page: its text has no control characters and fits the width (screen_text.hpp).
struct ScreenLine {
    enum class Style { plain, bold, reverse, trouble, faint };
    std::string text{};
    Style style = Style::plain;
};

struct ScreenSize {
    std::size_t columns = 80, rows = 24;
};

enum class Key { none, up, down, page_up, page_down, home, end, enter, escape, other };

struct TerminalEvent {
    bool ended = false;    // by a signal, or the terminal is gone
    bool resized = false;  // or comes back from Ctrl-Z: to be drawn anew
    Key key = Key::none;
    char letter = 0;  // of Key::other
};

class Terminal {
public:
    /// Takes over the screen. To be made before any thread, which inherit blocked signals. Error: stdin or stdout is no
    /// terminal.
    [[nodiscard]] static Result<std::unique_ptr<Terminal>> open();
    ~Terminal();
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    [[nodiscard]] ScreenSize size() const;
    /// The first of what happens; after `at_most` an event with nothing in it.
    [[nodiscard]] TerminalEvent wait(std::chrono::milliseconds at_most);
    /// From the top; rows that are not named are empty. Colour unless the environment has NO_COLOR.
    void draw(const std::vector<ScreenLine>& lines);

private:
    Terminal(termios before, sigset_t mask, int signals);
    void take_over();
    void give_back();
    void suspend();
    [[nodiscard]] TerminalEvent read_key();
    [[nodiscard]] int next_byte(std::chrono::milliseconds at_most);
    void write_all(const std::string& text);

    const termios before_;
    const sigset_t mask_before_;
    const int signals_;  // signalfd
    const bool colour_;
    bool gone_ = false;  // what we write does not arrive
};

}  // namespace weir::app
