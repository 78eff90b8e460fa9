// SPDX-License-Identifier: Apache-2.0
// The C face of BlockSender. Nothing may be thrown through it: what the C++ library itself throws becomes an error
// text.
#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "weir/delivery/block_sender.hpp"
#include "weir_client.h"

namespace delivery = weir::delivery;
namespace wire = weir::wire;

struct weir_input {
    std::unique_ptr<delivery::FragmentSender> fragments;  // one of the two
    std::unique_ptr<delivery::TriggerSender> triggers;
    mutable std::mutex mutex;
    std::map<std::thread::id, std::string> errors;  // of the threads whose last call failed

    template <class Call>
    auto either(Call&& call) {
        return fragments ? call(*fragments) : call(*triggers);
    }
    int failed(std::string text) {
        const std::scoped_lock lock(mutex);
        errors[std::this_thread::get_id()] = std::move(text);
        return WEIR_CLIENT_FAILED;
    }
    void succeeded() {
        const std::scoped_lock lock(mutex);
        if (!errors.empty()) errors.erase(std::this_thread::get_id());
    }
};

namespace {

using weir::Errc;
using weir::fail;
using weir::Result;

void put_text(std::string_view text, char* target, std::size_t size) {
    if (target == nullptr || size == 0) return;
    const auto count = std::min(text.size(), size - 1);
    std::memcpy(target, text.data(), count);
    target[count] = '\0';
}

/// The members that the caller's header has; those of a later one are 0. False: it has no size.
template <class Struct>
bool read(Struct& into, const Struct* from) {
    if (from == nullptr || from->size < sizeof(std::size_t)) return false;
    into = {};
    std::memcpy(static_cast<void*>(&into), from, std::min(from->size, sizeof(Struct)));
    return true;
}

Result<delivery::BlockSenderOptions> options_of(const weir_connection* given, weir_on_ended on_ended, void* context) {
    weir_connection from;
    if (!read(from, given)) return fail(Errc::usage, "a connection needs its size: sizeof(weir_connection)");
    if (from.host == nullptr || from.name == nullptr)
        return fail(Errc::usage, "a sender needs a host (\"ros-1:9100\") and a name");
    delivery::BlockSenderOptions options;
    auto& sender = options.sender;
    sender.host = from.host;
    sender.name = from.name;
    sender.run = weir::RunNumber{from.run};
    sender.backoff_last = std::chrono::milliseconds(500);  // a run that begins is joined soon
    sender.give_up_after = std::chrono::milliseconds(from.give_up_after_ms);
    options.send_wait_max = std::chrono::milliseconds(from.send_wait_max_ms);
    if (from.window_bytes != 0) sender.window = weir::Bytes{from.window_bytes};
    const auto path = [](const char* text) { return std::filesystem::path(text == nullptr ? "" : text); };
    sender.tls = {path(from.tls_certificate), path(from.tls_key), path(from.tls_ca)};
    if (from.on_state != nullptr) {
        sender.on_state = [call = from.on_state, to = from.on_state_context](delivery::LinkState state,
                                                                             const std::string& why) {
            call(to, static_cast<int>(state), why.c_str());
        };
    }
    if (on_ended != nullptr) {
        options.on_ended = [on_ended, context](const delivery::RecordsEnded& ended) {
            const std::uint32_t fate = ended.refused    ? static_cast<std::uint32_t>(*ended.refused)
                                       : ended.rejected ? WEIR_REJECTED + static_cast<std::uint32_t>(*ended.rejected)
                                                        : std::uint32_t{WEIR_TAKEN};
            on_ended(context, ended.first, ended.last, fate);
        };
    }
    return options;
}

template <class Sender>
weir_input* create(std::unique_ptr<Sender> weir_input::* place, const weir_connection* connection,
                   weir_on_ended on_ended, void* context, char* error, std::size_t error_size) {
    try {
        auto options = options_of(connection, on_ended, context);
        if (!options) return put_text(options.error().message(), error, error_size), nullptr;
        auto opened = Sender::open(std::move(*options));
        if (!opened) return put_text(opened.error().message(), error, error_size), nullptr;
        auto input = std::make_unique<weir_input>();
        (*input).*place = std::move(*opened);
        return input.release();
    } catch (const std::exception& failure) {
        put_text(failure.what(), error, error_size);
        return nullptr;
    }
}

/// Runs a call and turns everything that goes wrong in it into an error text.
template <class Call>
int guarded(weir_input& input, Call&& call) noexcept {
    try {
        const Result<int> result = call();
        if (!result) return input.failed(result.error().message());
        input.succeeded();
        return *result;
    } catch (const std::exception& failure) {
        try {
            return input.failed(failure.what());
        } catch (...) {
            return WEIR_CLIENT_FAILED;  // no memory even for the text
        }
    }
}

Result<wire::InputFragment> record_of(const weir_fragment* given) {
    weir_fragment from;
    if (!read(from, given)) return fail(Errc::usage, "a fragment needs its size: sizeof(weir_fragment)");
    if ((from.payload == nullptr && from.payload_size > 0) ||
        (from.status_words == nullptr && from.status_word_count > 0))
        return fail(Errc::usage, "the payload or the status words of a fragment are NULL, and their number is not 0");
    if ((from.flags & WEIR_FRAGMENT_ROD) != 0 && (from.flags & WEIR_FRAGMENT_ROB) != 0)
        return fail(Errc::usage, "a payload is a ROD or a ROB, not both");
    wire::InputFragment to;
    to.source = weir::SourceId{from.source};
    if ((from.flags & WEIR_FRAGMENT_LEVEL1_ID) != 0) to.level1_id = weir::Level1Id{from.level1_id};
    if ((from.flags & WEIR_FRAGMENT_TIME) != 0) to.time_ns = from.time_ns;
    to.kind = (from.flags & WEIR_FRAGMENT_ROB) != 0   ? wire::PayloadKind::rob
              : (from.flags & WEIR_FRAGMENT_ROD) != 0 ? wire::PayloadKind::rod
                                                      : wire::PayloadKind::raw;
    if (from.status_word_count > wire::input_status_words_max)
        return fail(Errc::limit, "a fragment has more than 64 status words");
    to.status_words.assign(from.status_words, from.status_words + from.status_word_count);
    to.payload = {static_cast<const std::byte*>(from.payload), from.payload_size};
    return to;
}

Result<wire::InputTrigger> record_of(const weir_trigger* given) {
    weir_trigger from;
    if (!read(from, given)) return fail(Errc::usage, "a trigger needs its size: sizeof(weir_trigger)");
    if (from.words == nullptr && from.word_count > 0)
        return fail(Errc::usage, "the words of a trigger are NULL, and their number is not 0");
    if (from.word_count > wire::input_trigger_words_max) return fail(Errc::limit, "a trigger has more than 256 words");
    return wire::InputTrigger{.level1_id = weir::Level1Id{from.level1_id},
                              .time_ns = from.time_ns,
                              .type = from.type,
                              .bunch_crossing_id = from.bunch_crossing,
                              .words = {from.words, from.words + from.word_count}};
}

template <class Sender, class Given>
int send(weir_input* input, std::unique_ptr<Sender> weir_input::* place, const Given* given, bool wait,
         std::uint64_t* number) {
    return guarded(*input, [&]() -> Result<int> {
        auto& sender = (*input).*place;
        if (!sender) return fail(Errc::usage, "this sender was made for the other kind of record");
        const auto record = WEIR_TRY(record_of(given));
        std::optional<std::uint64_t> sent;
        if (wait) sent = WEIR_TRY(sender->send(record));
        else sent = WEIR_TRY(sender->try_send(record));
        if (!sent) return WEIR_CLIENT_BUSY;
        if (number != nullptr) *number = *sent;
        return WEIR_CLIENT_OK;
    });
}

}  // namespace

weir_input* weir_fragment_sender_create(const weir_connection* connection, weir_on_ended on_ended, void* context,
                                        char* error, size_t error_size) {
    return create(&weir_input::fragments, connection, on_ended, context, error, error_size);
}

weir_input* weir_trigger_sender_create(const weir_connection* connection, weir_on_ended on_ended, void* context,
                                       char* error, size_t error_size) {
    return create(&weir_input::triggers, connection, on_ended, context, error, error_size);
}

int weir_send_fragment(weir_input* sender, const weir_fragment* fragment, uint64_t* number) {
    return send(sender, &weir_input::fragments, fragment, true, number);
}
int weir_try_send_fragment(weir_input* sender, const weir_fragment* fragment, uint64_t* number) {
    return send(sender, &weir_input::fragments, fragment, false, number);
}
int weir_send_trigger(weir_input* sender, const weir_trigger* trigger, uint64_t* number) {
    return send(sender, &weir_input::triggers, trigger, true, number);
}
int weir_try_send_trigger(weir_input* sender, const weir_trigger* trigger, uint64_t* number) {
    return send(sender, &weir_input::triggers, trigger, false, number);
}

int weir_input_busy(weir_input* sender) {
    return guarded(*sender,
                   [&]() -> Result<int> { return sender->either([](auto& to) { return to.busy() ? 1 : 0; }); });
}

int weir_input_flush(weir_input* sender, uint32_t timeout_ms) {
    return guarded(*sender, [&]() -> Result<int> {
        const auto flushed =
            WEIR_TRY(sender->either([&](auto& to) { return to.flush(std::chrono::milliseconds(timeout_ms)); }));
        return flushed ? WEIR_CLIENT_OK : WEIR_CLIENT_TIMEOUT;
    });
}

int weir_input_run(weir_input* sender, uint32_t timeout_ms, uint32_t* run) {
    return guarded(*sender, [&]() -> Result<int> {
        const auto known =
            WEIR_TRY(sender->either([&](auto& to) { return to.run(std::chrono::milliseconds(timeout_ms)); }));
        if (!known) return WEIR_CLIENT_TIMEOUT;
        if (run != nullptr) *run = weir::number(*known);
        return WEIR_CLIENT_OK;
    });
}

int weir_input_get_stats(weir_input* sender, weir_input_stats* stats) {
    return guarded(*sender, [&]() -> Result<int> {
        if (stats == nullptr || stats->size < sizeof(std::size_t))
            return fail(Errc::usage, "statistics need their size: sizeof(weir_input_stats)");
        const auto now = sender->either([](auto& to) { return to.stats(); });
        const bool failed = sender->either([](auto& to) { return to.failure().has_value(); });
        weir_input_stats all{};
        all.size = stats->size;
        all.sent = now.sent;
        all.taken = now.taken;
        all.refused = now.refused;
        all.rejected = now.rejected;
        all.open = now.open;
        all.waits = now.waits;
        all.reconnects = now.sender.reconnects;
        all.state = failed ? WEIR_CONNECTION_FAILED : now.sender.connected ? WEIR_CONNECTED : WEIR_CONNECTING;
        std::memcpy(stats, &all, std::min(stats->size, sizeof(all)));
        return WEIR_CLIENT_OK;
    });
}

const char* weir_input_error(const weir_input* sender) {
    const std::scoped_lock lock(sender->mutex);
    const auto at = sender->errors.find(std::this_thread::get_id());
    return at == sender->errors.end() ? "" : at->second.c_str();
}

void weir_input_destroy(weir_input* sender) { delete sender; }

const char* weir_fate_name(uint32_t fate) {
    if (fate == WEIR_TAKEN) return "taken";
    if (fate < wire::refuse_reason_count) return wire::name(static_cast<wire::RefuseReason>(fate));
    if (fate > WEIR_REJECTED && fate < WEIR_REJECTED + wire::reject_reason_count) {
        static constexpr std::array names{
            "rejected: duplicate",        "rejected: corrupt_payload", "rejected: malformed_event",
            "rejected: too_large",        "rejected: no_tags",         "rejected: bad_tag",
            "rejected: streams_exceeded", "rejected: format_mismatch", "rejected: wrong_run",
            "rejected: run_closed",       "rejected: stopping",        "rejected: late",
            "rejected: cannot_cut",       "rejected: other",           "rejected: not_selected"};
        static_assert(names.size() + 1 == wire::reject_reason_count);
        return names[fate - WEIR_REJECTED - 1];
    }
    return "unknown";
}
