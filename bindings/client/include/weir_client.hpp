// SPDX-License-Identifier: Apache-2.0
// weir_client.h for C++17: objects that end what they began, and errors as exceptions. Header only, over the C
// interface, so that a program needs nothing of weir but libweir-client.so.0.
//
//     weir::client::FragmentSender board({"ros-1:9100", "board-1"});
//     board.send({0x420000, event, payload, size});
//     board.flush(std::chrono::seconds(10));
#ifndef WEIR_CLIENT_HPP
#define WEIR_CLIENT_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weir_client.h"

namespace weir {
namespace client {

/// A call failed; what() says why and what to do.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Called in threads of the sender, one call of each at a time. They must not hold them up, not throw, and not call the
/// sender.
using OnEnded = std::function<void(std::uint64_t first, std::uint64_t last, std::uint32_t fate)>;
using OnState = std::function<void(int state, const std::string& why)>;

struct Connection {
    std::string host{};                                  // "ros-1:9100"
    std::string name{};                                  // of this sender, one of its kind
    std::uint32_t run = 0;                               // 0: the one that goes on, or the next
    std::chrono::milliseconds give_up_after{0};          // without a connection; 0: never
    std::chrono::milliseconds send_wait_max{0};          // that send() waits for room; 0: as long as it takes
    std::uint64_t window_bytes = 0;                      // kept without an answer at most; 0: the default
    std::string tls_certificate{}, tls_key{}, tls_ca{};  // PEM files: all three, or none
    OnState on_state{};
    OnEnded on_ended{};  // the fate of each record, WEIR_TAKEN or why not; weir_fate_name() words it
};

struct Fragment {
    std::uint32_t source = 0;
    std::uint32_t level1_id = 0;
    const void* payload = nullptr;  // copied by send()
    std::size_t size = 0;           // bytes
    std::optional<std::int64_t> time_ns{};
    std::vector<std::uint32_t> status_words{};
    std::uint32_t kind = 0;  // 0: any bytes; WEIR_FRAGMENT_ROD, WEIR_FRAGMENT_ROB
    bool has_level1_id = true;
};

struct Trigger {
    std::uint32_t level1_id = 0;
    std::int64_t time_ns = 0;
    std::uint32_t type = 0;
    std::uint32_t bunch_crossing = 0;
    std::vector<std::uint32_t> words{};
};

/// What both senders have. Calls from any thread, but for moves, close() and destruction: these are the last call, or
/// the only one at the time. Destruction ends the connection without waiting: flush() before.
class InputSender {
public:
    using Create = weir_input*(const weir_connection*, weir_on_ended, void*, char*, std::size_t);

    InputSender(Create* create, Connection connection) : callbacks_(new Callbacks{}) {
        callbacks_->on_state = std::move(connection.on_state);
        callbacks_->on_ended = std::move(connection.on_ended);
        const auto text = [](const std::string& of) { return of.empty() ? nullptr : of.c_str(); };
        weir_connection to{};
        to.size = sizeof(to);
        to.host = connection.host.c_str();
        to.name = connection.name.c_str();
        to.run = connection.run;
        to.give_up_after_ms = milliseconds(connection.give_up_after);
        to.send_wait_max_ms = milliseconds(connection.send_wait_max);
        to.window_bytes = connection.window_bytes;
        to.tls_certificate = text(connection.tls_certificate);
        to.tls_key = text(connection.tls_key);
        to.tls_ca = text(connection.tls_ca);
        if (callbacks_->on_state) {
            to.on_state = [](void* context, int state, const char* why) {
                static_cast<Callbacks*>(context)->on_state(state, why);
            };
            to.on_state_context = callbacks_.get();
        }
        const auto ended = [](void* context, std::uint64_t first, std::uint64_t last, std::uint32_t fate) {
            static_cast<Callbacks*>(context)->on_ended(first, last, fate);
        };
        char error[512] = "";
        sender_.reset(create(&to, callbacks_->on_ended ? static_cast<weir_on_ended>(ended) : nullptr, callbacks_.get(),
                             error, sizeof(error)));
        if (!sender_) throw Error(error);
    }

    InputSender(InputSender&&) noexcept = default;
    InputSender& operator=(InputSender&& other) noexcept {
        if (this == &other) return *this;
        sender_.reset();  // before what it calls is gone
        callbacks_ = std::move(other.callbacks_);
        sender_ = std::move(other.sender_);
        return *this;
    }

    bool busy() const { return weir_input_busy(open()) == 1; }
    /// False: the time is over before every record has ended.
    bool flush(std::chrono::milliseconds timeout) {
        return check(weir_input_flush(open(), milliseconds(timeout))) == WEIR_CLIENT_OK;
    }
    /// Nothing: no connection has named it within the time.
    std::optional<std::uint32_t> run(std::chrono::milliseconds timeout) {
        std::uint32_t run = 0;
        const auto known = check(weir_input_run(open(), milliseconds(timeout), &run));
        return known == WEIR_CLIENT_OK ? std::optional<std::uint32_t>(run) : std::nullopt;
    }
    weir_input_stats stats() const {
        weir_input_stats stats{};
        stats.size = sizeof(stats);
        check(weir_input_get_stats(open(), &stats));
        return stats;
    }
    /// As destruction; every later call is an Error.
    void close() { sender_.reset(); }

protected:
    weir_input* open() const {
        if (!sender_) throw Error("the sender is closed");
        return sender_.get();
    }
    /// 0 to what 32 bits hold, which are 49 days.
    static std::uint32_t milliseconds(std::chrono::milliseconds time) {
        constexpr std::int64_t most = 0xFFFFFFFF;
        const std::int64_t count = time.count();
        return static_cast<std::uint32_t>(count < 0 ? 0 : count > most ? most : count);
    }
    int check(int result) const {
        if (result == WEIR_CLIENT_FAILED) throw Error(weir_input_error(sender_.get()));
        return result;
    }
    struct Free {
        void operator()(weir_input* sender) const { weir_input_destroy(sender); }
    };
    struct Callbacks {
        OnState on_state;
        OnEnded on_ended;
    };
    std::unique_ptr<Callbacks> callbacks_;      // where the sender finds them, also after a move
    std::unique_ptr<weir_input, Free> sender_;  // last: it ends before what it calls is gone
};

class FragmentSender : public InputSender {
public:
    explicit FragmentSender(Connection connection) : InputSender(weir_fragment_sender_create, std::move(connection)) {}

    /// Waits while there is no room. The number of the fragment.
    std::uint64_t send(const Fragment& fragment) {
        std::uint64_t number = 0;
        const auto given = given_of(fragment);
        check(weir_send_fragment(open(), &given, &number));
        return number;
    }
    /// Nothing instead of waiting: busy.
    std::optional<std::uint64_t> try_send(const Fragment& fragment) {
        std::uint64_t number = 0;
        const auto given = given_of(fragment);
        if (check(weir_try_send_fragment(open(), &given, &number)) == WEIR_CLIENT_BUSY) return std::nullopt;
        return number;
    }

private:
    static weir_fragment given_of(const Fragment& from) {
        weir_fragment to{};
        to.size = sizeof(to);
        to.source = from.source;
        to.level1_id = from.level1_id;
        to.time_ns = from.time_ns.value_or(0);
        to.flags = (from.has_level1_id ? std::uint32_t{WEIR_FRAGMENT_LEVEL1_ID} : 0U) |
                   (from.time_ns ? std::uint32_t{WEIR_FRAGMENT_TIME} : 0U) | from.kind;
        to.status_words = from.status_words.data();
        to.status_word_count = from.status_words.size();
        to.payload = from.payload;
        to.payload_size = from.size;
        return to;
    }
};

class TriggerSender : public InputSender {
public:
    explicit TriggerSender(Connection connection) : InputSender(weir_trigger_sender_create, std::move(connection)) {}

    std::uint64_t send(const Trigger& trigger) {
        std::uint64_t number = 0;
        const auto given = given_of(trigger);
        check(weir_send_trigger(open(), &given, &number));
        return number;
    }
    std::optional<std::uint64_t> try_send(const Trigger& trigger) {
        std::uint64_t number = 0;
        const auto given = given_of(trigger);
        if (check(weir_try_send_trigger(open(), &given, &number)) == WEIR_CLIENT_BUSY) return std::nullopt;
        return number;
    }

private:
    static weir_trigger given_of(const Trigger& from) {
        weir_trigger to{};
        to.size = sizeof(to);
        to.level1_id = from.level1_id;
        to.type = from.type;
        to.time_ns = from.time_ns;
        to.bunch_crossing = from.bunch_crossing;
        to.words = from.words.data();
        to.word_count = from.words.size();
        return to;
    }
};

}  // namespace client
}  // namespace weir

#endif
