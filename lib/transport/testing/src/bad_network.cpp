// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/testing/bad_network.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

namespace weir::testing {
namespace {

constexpr auto look_again_ms = 5;  // for a stop

}  // namespace

BadNetwork::BadNetwork(transport::HostPort target, std::uint64_t seed, std::size_t piece_max)
    : target_(std::move(target)),
      piece_max_(std::max<std::size_t>(piece_max, 1)),
      listener_(transport::Listener::open({target_.host, 0}).value()),
      random_(seed),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

BadNetwork::~BadNetwork() = default;

void BadNetwork::cut(Way way, std::uint64_t behind) {
    const std::scoped_lock lock(mutex_);
    bytes_left_[static_cast<int>(way)] = behind;
}

void BadNetwork::run(const std::stop_token& stop) {
    std::vector<pollfd> watched;
    while (!stop.stop_requested()) {
        watched.assign({{listener_.fd(), POLLIN, 0}});
        for (auto& pair : pairs_) {
            for (const int end : {0, 1}) {
                // An end is read again when its earlier bytes have been passed on.
                const bool reads = !pair.over[end] && !pair.doomed && pair.underway[1 - end].empty();
                const bool writes = !pair.underway[end].empty();
                const auto events = static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
                watched.push_back({events != 0 ? pair.ends[end].fd() : -1, events, 0});
            }
        }
        if (::poll(watched.data(), watched.size(), look_again_ms) <= 0) continue;
        std::size_t at = 1;
        for (auto& pair : pairs_) {
            for (const int end : {0, 1}) {
                const auto events = watched[at++].revents;
                if ((events & POLLOUT) != 0) write(pair, end);
                if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && pair.underway[1 - end].empty()) read(pair, end);
            }
        }
        std::erase_if(pairs_, [&](Pair& pair) { return ended(pair); });
        if ((watched[0].revents & POLLIN) != 0) accept();
    }
}

void BadNetwork::accept() {
    auto arrived = listener_.accept();
    if (!arrived || !*arrived) return;
    const auto addresses = transport::resolve(target_, false);
    if (!addresses) return;
    auto onward = transport::begin_connect(addresses->front(), {});
    if (!onward) return;  // refused at once: the arrival is closed
    pairs_.emplace_back();
    pairs_.back().ends[0] = std::move(**arrived);
    pairs_.back().ends[1] = std::move(*onward);
}

void BadNetwork::read(Pair& pair, int from) {
    if (pair.over[from] || pair.doomed) return;
    std::vector<std::byte> piece(1 + random_() % piece_max_);
    const auto read = pair.ends[from].read(piece);
    if (!read || read->state == transport::Transfer::State::closed) {
        pair.over[from] = true;
        pair.ends[1 - from].finish_sending();
        if (!read) pair.doomed = true;
        return;
    }
    if (read->state == transport::Transfer::State::would_block) return;
    piece.resize(read->count);
    {
        const std::scoped_lock lock(mutex_);
        auto& left = bytes_left_[from];
        if (left && *left <= piece.size()) {
            piece.resize(*left);
            left.reset();
            pair.doomed = true;
            ++cuts_;
        } else if (left) {
            *left -= piece.size();
        }
    }
    pair.underway[1 - from] = std::move(piece);
    write(pair, 1 - from);
}

void BadNetwork::write(Pair& pair, int to) {
    auto& bytes = pair.underway[to];
    const auto written = pair.ends[to].write(ConstData(bytes));
    if (!written || written->state == transport::Transfer::State::closed) {
        pair.doomed = true;
        bytes.clear();
    } else {
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(written->count));
    }
}

bool BadNetwork::ended(Pair& pair) {
    if (!pair.underway[0].empty() || !pair.underway[1].empty()) return false;
    if (!pair.doomed) return pair.over[0] && pair.over[1];
    if (random_() % 2 == 0) {
        const linger reset{1, 0};
        for (auto& end : pair.ends)
            static_cast<void>(::setsockopt(end.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset));
    }
    return true;
}

}  // namespace weir::testing
