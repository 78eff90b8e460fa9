// SPDX-License-Identifier: Apache-2.0
// The C++17 header in a program: where nothing listens, a sender says so, may be moved and closed, and fails as said.
#include <atomic>
#include <cstdio>
#include <thread>

#include "weir_client.hpp"

namespace {

using namespace weir::client;

int failures = 0;

void expect(bool holds, const char* what) {
    if (!holds) std::fprintf(stderr, "not so: %s\n", what), ++failures;
}

template <class Call>
std::string error_of(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

Connection to_nobody(OnState on_state = {}) {
    Connection to;
    to.host = "127.0.0.1:1";  // a port where nothing listens
    to.name = "board";
    to.on_state = std::move(on_state);
    return to;
}

bool within_10_s(const std::function<bool()>& holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return holds();
}

void the_state_is_said_and_sending_does_not_wait_for_a_connection() {
    std::atomic<int> attempts{0};
    FragmentSender board(to_nobody([&](int state, const std::string& why) {
        if (state == WEIR_CONNECTING && !why.empty()) ++attempts;
    }));
    expect(board.send({0x420000, 1, "weir", 4}) == 1, "the first fragment has the number 1");
    expect(within_10_s([&] { return attempts >= 2; }), "each attempt that fails is said");
    expect(!board.flush(std::chrono::milliseconds(-5)), "a negative time is none");
    expect(!board.run(std::chrono::milliseconds(1)), "the run is not known without a connection");
    expect(board.stats().state == WEIR_CONNECTING && board.stats().open == 1, "the fragment is kept");
}

void a_sender_gives_up_when_it_was_told_to() {
    auto to = to_nobody();
    to.give_up_after = std::chrono::milliseconds(100);
    FragmentSender board(std::move(to));
    board.send({0x420000, 1, "weir", 4});
    const auto why = error_of([&] { board.flush(std::chrono::hours(24 * 365)); });
    expect(why.find("no connection for") != std::string::npos, "flush ends with the reason, and a year is a long time");
    expect(board.stats().state == WEIR_CONNECTION_FAILED, "the state is failed");
}

void a_sender_that_another_is_moved_to_ends_before_its_callbacks_are_gone() {
    std::atomic<int> calls{0};
    FragmentSender board(to_nobody([&](int, const std::string&) { ++calls; }));
    for (int i = 0; i < 20; ++i)
        board = FragmentSender(to_nobody(
            [&calls, text = std::string(100, 'x')](int, const std::string&) { calls += text.size() == 100 ? 1 : 0; }));
    const int before = calls;
    expect(within_10_s([&] { return calls > before; }), "the last one is called");
}

void a_closed_sender_answers_with_an_error() {
    TriggerSender unit(to_nobody());
    unit.close();
    unit.close();
    expect(error_of([&] { unit.send({1}); }) == "the sender is closed", "send");
    expect(error_of([&] { unit.try_send({1}); }) == "the sender is closed", "try_send");
    expect(error_of([&] { unit.busy(); }) == "the sender is closed", "busy");
    expect(error_of([&] { unit.stats(); }) == "the sender is closed", "stats");
    expect(error_of([&] { unit.flush(std::chrono::seconds(1)); }) == "the sender is closed", "flush");
}

void options_that_are_wrong_are_errors() {
    auto to = to_nobody();
    to.host = "nonsense";
    expect(error_of([&] { FragmentSender board(to); }).find("nonsense") != std::string::npos, "the host is named");
}

}  // namespace

int main() {
    the_state_is_said_and_sending_does_not_wait_for_a_connection();
    a_sender_gives_up_when_it_was_told_to();
    a_sender_that_another_is_moved_to_ends_before_its_callbacks_are_gone();
    a_closed_sender_answers_with_an_error();
    options_that_are_wrong_are_errors();
    return failures == 0 ? 0 : 1;
}
