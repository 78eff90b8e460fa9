// SPDX-License-Identifier: Apache-2.0
// A recorder or filter that takes every event, acknowledges it at once and keeps nothing: what stands behind a builder
// that is measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "weir/base/bytes.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/memory/buffer_pool.hpp"

namespace weir::app {

class TakesAll final : public delivery::EventSink {
public:
    /// One that listens at a free port of this machine, with one thread.
    [[nodiscard]] static Result<std::unique_ptr<TakesAll>> start() {
        auto all = std::make_unique<TakesAll>();
        delivery::ReceiverOptions options;
        options.threads = 1;
        all->receiver_ = WEIR_TRY(delivery::Receiver::open(options, all->pool_, *all));
        all->receiver_->start();
        return all;
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return receiver_->port(); }
    /// Any thread.
    [[nodiscard]] std::uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }

    std::optional<delivery::Refusal> hello(delivery::SessionId, const wire::Hello&) override { return std::nullopt; }
    delivery::Taken take(delivery::IncomingEvent& event) override {
        const auto taken = std::move(event);
        const delivery::Answer answer{.session = taken.session, .sequence = taken.meta.sequence};
        receiver_->acknowledge(std::span(&answer, 1));
        taken_.fetch_add(1, std::memory_order_relaxed);
        return delivery::Taken::yes;
    }

private:
    memory::BufferPool pool_{256_MiB};
    std::atomic<std::uint64_t> taken_{0};  // relaxed: a figure
    std::unique_ptr<delivery::Receiver> receiver_;
};

}  // namespace weir::app
