// SPDX-License-Identifier: Apache-2.0
// Stations send each other reliable messages all the time, while a seed draws faults of stations and of the network.
// In all cases no message is delivered twice to one process, and when the faults end, each process has all that was
// sent to it. WEIR_CHAOS_SEEDS=N runs many more seeds than the tests do.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "weir/base/endian.hpp"
#include "weir/messaging/testing/simulated_network.hpp"

namespace weir::messaging {
namespace {

using namespace std::chrono_literals;
using ::weir::testing::NetworkFaults;
using ::weir::testing::SimulatedNetwork;
using ::weir::testing::SimulatedStation;
using wire::StationId;

constexpr std::uint16_t stations = 3;

class RandomSender final : public MessageHandler {
public:
    RandomSender(SimulatedStation& self, std::uint64_t& values, const bool& sending)
        : self_(self), values_(values), sending_(sending), random_(values + 1) {}

    void on_message(const IncomingMessage& message, SteadyTime) override {
        const auto value = load_little<std::uint64_t>(message.body);
        EXPECT_EQ(message.body.size(), size_of(value));
        EXPECT_TRUE(received.insert(value).second) << value << " twice to station " << number(self_.id());
    }
    void on_peer(StationId peer, PeerChange change, SteadyTime) override {
        if (change == PeerChange::restarted) sent[peer].clear();
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        if (now < next_) return next_;
        next_ = now + 4ms;
        const StationId peer{static_cast<std::uint16_t>(1 + random_() % stations)};
        if (!sending_ || peer == self_.id()) return next_;
        for (auto count = random_() % 8; count > 0; --count) {
            std::vector<std::byte> bytes(size_of(values_));
            store_little(bytes, 0, values_);
            if (!self_.endpoint().send_reliably(peer, wire::DataflowType::built, bytes)) break;
            sent[peer].insert(values_++);
        }
        return next_;
    }

    std::set<std::uint64_t> received;
    std::map<StationId, std::set<std::uint64_t>> sent;  // to the process that runs there now

private:
    static std::size_t size_of(std::uint64_t value) { return value % 40 == 0 ? 4000 : 8 + value % 100; }
    SimulatedStation& self_;
    std::uint64_t& values_;
    const bool& sending_;
    std::mt19937_64 random_;
    SteadyTime next_{};
};

struct Chaos {
    explicit Chaos(std::uint64_t seed) : random(seed), net(seed, weather()) {
        for (std::uint16_t i = 1; i <= stations; ++i) {
            net.add(StationId{i}, [this](SimulatedStation& self) {
                auto made = std::make_unique<RandomSender>(self, values, sending);
                senders[self.id()] = made.get();
                return made;
            });
        }
        net.start_run(RunNumber{1});
    }
    NetworkFaults weather() {
        const auto up_to = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
        return {.loss = up_to(0.4),
                .duplicate = up_to(0.3),
                .corrupt = up_to(0.1),
                .late = up_to(0.2),
                .jitter = std::chrono::microseconds(random() % 3000)};
    }
    StationId any() { return StationId{static_cast<std::uint16_t>(1 + random() % stations)}; }

    void disturb() {
        const auto id = any();
        switch (random() % 6) {
            case 0: net.restart(id); break;
            case 1: net.pause(id, random() % 3 != 0); break;
            case 2: net.black_out(id, any(), random() % 2 == 0); break;
            case 3: net.set_faults(weather()); break;
            case 4: {  // removed and added again, as when peers change
                const auto peer = any();
                if (peer == id) break;
                net.endpoint(id).remove_peer(peer);
                senders[id]->sent[peer].clear();
                net.endpoint(id).add_peer(peer, true);
                break;
            }
            default: break;
        }
        net.run_for(std::chrono::milliseconds(1 << random() % 11));
    }
    void calm_down() {
        sending = false;
        net.set_faults({.loss = 0.05});
        for (std::uint16_t a = 1; a <= stations; ++a) {
            net.pause(StationId{a}, false);
            for (std::uint16_t b = 1; b <= stations; ++b) net.black_out(StationId{a}, StationId{b}, false);
        }
    }
    bool quiet() {
        for (const auto& [id, sender] : senders) {
            if (net.endpoint(id).reliable_in_flight() > 0) return false;
        }
        return true;
    }

    std::mt19937_64 random;
    SimulatedNetwork net;
    std::uint64_t values = 0;
    bool sending = true;
    std::map<StationId, RandomSender*> senders;
};

TEST(EndpointChaos, NoMessageIsDeliveredTwiceAndInTheEndNoneIsMissing) {
    const char* text = std::getenv("WEIR_CHAOS_SEEDS");
    const std::uint64_t seeds = text != nullptr ? std::strtoull(text, nullptr, 10) : 5;
    std::uint64_t arrived = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(seed);
        Chaos chaos(seed);
        for (int i = 0; i < 20; ++i) chaos.disturb();
        chaos.calm_down();
        ASSERT_TRUE(chaos.net.run_until([&] { return chaos.quiet(); }, 60s));
        chaos.net.run_for(1s);  // all have noticed the last restart
        for (const auto& [from, sender] : chaos.senders) {
            for (const auto& [to, sent] : sender->sent) {
                for (const auto value : sent) {
                    ASSERT_TRUE(chaos.senders[to]->received.contains(value))
                        << value << " from " << number(from) << " to " << number(to);
                }
                arrived += sent.size();
            }
        }
        for (std::uint16_t i = 1; i <= stations; ++i) {
            const auto& stats = chaos.net.endpoint(StationId{i}).stats();
            EXPECT_EQ(stats.inconsistent + stats.no_memory, 0U);
        }
    }
    EXPECT_GT(arrived, seeds * 100);
}

}  // namespace
}  // namespace weir::messaging
