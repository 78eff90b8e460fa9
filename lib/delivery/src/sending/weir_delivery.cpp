// SPDX-License-Identifier: Apache-2.0
// The C face of Sender, and of SpreadSender where several recorders are named. Nothing may be thrown through it: what
// the C++ library itself throws (out of memory, no thread to be had) becomes an error text here.
#include "weir/delivery/weir_delivery.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>

#include "sending/spread_sender.hpp"
#include "weir/delivery/sender.hpp"

namespace delivery = weir::delivery;
namespace wire = weir::wire;

struct weir_sender {
    std::unique_ptr<delivery::Sender> one;            // this one,
    std::unique_ptr<delivery::SpreadSender> several;  // or that
    mutable std::mutex mutex;
    std::map<std::thread::id, std::string> errors;  // of the threads whose last call failed

    int failed(std::string text) {
        const std::scoped_lock lock(mutex);
        errors[std::this_thread::get_id()] = std::move(text);
        return WEIR_DELIVERY_FAILED;
    }
    void succeeded() {
        const std::scoped_lock lock(mutex);
        if (!errors.empty()) errors.erase(std::this_thread::get_id());
    }
    /// Both have these calls.
    template <class Call>
    auto with_it(Call&& call) const {
        return several ? call(*several) : call(*one);
    }
};

namespace {

weir::Result<delivery::SenderOptions> read_options(const weir_sender_options& from) {
    if (from.host == nullptr || from.name == nullptr)
        return weir::fail(weir::Errc::usage, "a sender needs a host (\"recorder:9000\") and a name");
    const auto format = wire::event_format_from(static_cast<std::uint8_t>(std::min<std::uint32_t>(from.format, 255)));
    if (from.format != 0 && !format)
        return weir::fail(weir::Errc::usage, "the event format is not one of WEIR_FORMAT_...");
    delivery::SenderOptions options;
    options.host = from.host;
    options.name = from.name;
    options.run = weir::RunNumber{from.run};
    if (format) options.format = *format;
    options.incarnation = from.incarnation;
    options.connection = from.connection;
    if (from.window_events != 0) options.window_events = from.window_events;
    if (from.window_bytes != 0) options.window = weir::Bytes{from.window_bytes};
    options.give_up_after = std::chrono::milliseconds(from.give_up_after_ms);
    const auto path = [](const char* text) { return std::filesystem::path(text == nullptr ? "" : text); };
    options.join_run = from.join_run != 0;
    if (from.on_final != nullptr) {
        options.on_final = [call = from.on_final, context = from.on_final_context](
                               weir::Sequence sequence, std::optional<wire::RejectReason> rejected) {
            call(context, weir::number(sequence),
                 rejected ? static_cast<std::uint32_t>(*rejected) : std::uint32_t{WEIR_ACKNOWLEDGED});
        };
    }
    options.tls = {path(from.tls_certificate), path(from.tls_key), path(from.tls_ca)};
    return options;
}

/// "east:9000,west:9000"
std::vector<std::string> hosts_of(std::string_view text) {
    std::vector<std::string> hosts;
    while (true) {
        const auto end = text.find(',');
        hosts.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) return hosts;
        text.remove_prefix(end + 1);
    }
}

weir::Result<std::unique_ptr<weir_sender>> open(delivery::SenderOptions options) {
    auto sender = std::make_unique<weir_sender>();
    auto hosts = hosts_of(options.host);
    if (hosts.size() > 1) {
        sender->several = WEIR_TRY(delivery::SpreadSender::open(std::move(options), std::move(hosts)));
    } else {
        sender->one = WEIR_TRY(delivery::Sender::open(std::move(options)));
    }
    return sender;
}

weir::Result<delivery::EventDescription> read_event(const weir_event* given, const void* payload, std::size_t size) {
    if (given == nullptr) return weir::fail(weir::Errc::usage, "no event was given (NULL)");
    if (payload == nullptr && size > 0) return weir::fail(weir::Errc::usage, "the payload is NULL and has a size");
    const auto& from = *given;
    if (from.streams == nullptr && from.stream_count > 0)
        return weir::fail(weir::Errc::usage, "the streams of an event are NULL, and their count is not 0");
    delivery::EventDescription event;
    event.global_id = weir::GlobalEventId{from.global_id};
    event.level1_id = weir::Level1Id{from.level1_id};
    event.lumi_block = weir::LumiBlock{from.lumi_block};
    for (std::size_t i = 0; i < from.stream_count; ++i) {
        if (from.streams[i] == nullptr)
            return weir::fail(weir::Errc::usage, "stream " + std::to_string(i + 1) + " of an event is NULL");
        auto tag = WEIR_TRY(weir::parse_stream_key(from.streams[i]));
        event.tags.push_back(std::move(tag));
    }
    return event;
}

void put_text(std::string_view text, char* target, std::size_t size) {
    if (target == nullptr || size == 0) return;
    const auto count = std::min(text.size(), size - 1);
    std::memcpy(target, text.data(), count);
    target[count] = '\0';
}

/// Runs a call and turns everything that goes wrong in it into an error text.
template <class Call>
int guarded(weir_sender& sender, Call&& call) noexcept {
    try {
        const weir::Result<int> result = call();
        if (!result) return sender.failed(result.error().message());
        sender.succeeded();
        return *result;
    } catch (const std::exception& failure) {
        try {
            return sender.failed(failure.what());
        } catch (...) {
            return WEIR_DELIVERY_FAILED;  // no memory even for the text
        }
    }
}

}  // namespace

weir_sender* weir_sender_create(const weir_sender_options* options, char* error, size_t error_size) {
    try {
        if (options == nullptr) return put_text("no options were given (NULL)", error, error_size), nullptr;
        auto read = read_options(*options);
        if (!read) return put_text(read.error().message(), error, error_size), nullptr;
        auto opened = open(std::move(*read));
        if (!opened) return put_text(opened.error().message(), error, error_size), nullptr;
        return opened->release();
    } catch (const std::exception& failure) {
        put_text(failure.what(), error, error_size);
        return nullptr;
    }
}

int weir_sender_send(weir_sender* sender, const weir_event* event, const void* payload, size_t size,
                     uint64_t* sequence) {
    return guarded(*sender, [&]() -> weir::Result<int> {
        const auto described = WEIR_TRY(read_event(event, payload, size));
        const weir::ConstData data{static_cast<const std::byte*>(payload), size};
        const auto sent = WEIR_TRY(sender->with_it([&](auto& to) { return to.send(described, data); }));
        if (sequence != nullptr) *sequence = weir::number(sent);
        return WEIR_DELIVERY_OK;
    });
}

int weir_sender_try_send_owned(weir_sender* sender, const weir_event* event, const void* payload, size_t size,
                               void (*release)(void* context), void* context, uint64_t* sequence) {
    return guarded(*sender, [&]() -> weir::Result<int> {
        const auto described = WEIR_TRY(read_event(event, payload, size));
        // Armed only when the event was taken: before, a dying copy must not release it.
        const auto armed = std::make_shared<bool>(false);
        const delivery::Piece piece{{static_cast<const std::byte*>(payload), size},
                                    std::shared_ptr<const void>(payload, [=](const void*) {
                                        if (*armed && release != nullptr) release(context);
                                    })};
        *armed = true;
        const auto sent = sender->with_it([&](auto& to) { return to.try_send(described, std::span(&piece, 1)); });
        if (!sent || !*sent) *armed = false;
        if (!sent) return std::unexpected(sent.error());
        if (!*sent) return WEIR_DELIVERY_FULL;
        if (sequence != nullptr) *sequence = weir::number(**sent);
        return WEIR_DELIVERY_OK;
    });
}

int weir_sender_flush(weir_sender* sender, uint32_t timeout_ms) {
    return guarded(*sender, [&]() -> weir::Result<int> {
        const auto flushed =
            WEIR_TRY(sender->with_it([&](auto& to) { return to.flush(std::chrono::milliseconds(timeout_ms)); }));
        return flushed ? WEIR_DELIVERY_OK : WEIR_DELIVERY_TIMEOUT;
    });
}

void weir_sender_get_stats(const weir_sender* sender, weir_sender_stats* stats) {
    const auto now = sender->with_it([](const auto& of) { return of.stats(); });
    stats->accepted = now.accepted;
    stats->acknowledged = now.acknowledged;
    stats->rejected = std::accumulate(now.rejected.begin(), now.rejected.end(), std::uint64_t{0});
    static_assert(sizeof(stats->rejected_by) == sizeof(now.rejected));
    std::ranges::copy(now.rejected, stats->rejected_by);
    stats->held = now.held;
    stats->sent = now.sent;
    stats->resent = now.resent;
    stats->reconnects = now.reconnects;
    stats->connected = now.connected ? 1 : 0;
}

uint64_t weir_sender_in_doubt(const weir_sender* sender) { return sender->several ? sender->several->in_doubt() : 0; }

const char* weir_reject_reason_name(uint32_t reason) {
    return reason < wire::reject_reason_count ? wire::name(static_cast<wire::RejectReason>(reason)) : "unknown";
}

const char* weir_sender_error(const weir_sender* sender) {
    const std::scoped_lock lock(sender->mutex);
    const auto at = sender->errors.find(std::this_thread::get_id());
    return at == sender->errors.end() ? "" : at->second.c_str();
}

void weir_sender_destroy(weir_sender* sender) { delete sender; }
