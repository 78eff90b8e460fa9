// SPDX-License-Identifier: Apache-2.0
// A front-end with every fault that authors make: the run number selects one. faulty_front_end.py is the same in
// Python.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <vector>

#include "plug_in_faults.hpp"
#include "weir/readout/front_end.hpp"

namespace {

using namespace weir;
using namespace weir::plugin;
using namespace std::chrono_literals;

class Faulty final : public readout::FrontEnd {
public:
    void begin_run(RunNumber run, std::span<const SourceId> sources) override {
        fault_ = static_cast<Fault>(number(run) % 100);
        sources_.assign(sources.begin(), sources.end());
        if (fault_ == begin_throws) throw std::runtime_error("the crate is off");
        if (fault_ == begin_hangs) hang();
        if (fault_ == begin_crashes) std::abort();
    }
    void read_out(const readout::Trigger& trigger, readout::FragmentSink& out) override {
        const auto id = number(trigger.level1_id);
        if (fault_ == stamps) return happened_.push_back(trigger);
        if (id % 10 == 5) {
            if (fault_ == read_out_throws) throw std::runtime_error("no data in the module");
            if (fault_ == hangs) hang();
            if (fault_ == crashes) std::abort();
            if (fault_ == exits) std::_Exit(3);
            if (fault_ == sends_garbage) [[maybe_unused]]
                const auto sent = ::write(3, "this is no message at all", 25);
            if (fault_ == wrong_fragments) send_wrong(id, out);
        }
        for (const auto source : sources_) send(source, id, out);
    }
    void poll(readout::FragmentSink& out) override {
        if (fault_ == poll_throws && polled_++ % 2 == 0) throw std::runtime_error("the bus does not answer");
        if (fault_ == runs_freely || fault_ == poll_throws)
            for (int i = 0; i < 10; ++i, ++next_)
                for (const auto source : sources_) send(source, next_, out, next_);
        if (fault_ == stamps) send_stamped(out);
        while (fault_ == sends_for_ever) send(sources_.front(), 1'000'000, out, 1'000'000);
    }
    void end_run(readout::FragmentSink& out) override {
        if (fault_ == end_throws) throw std::runtime_error("the crate is off");
        if (fault_ == end_hangs) hang();
        if (fault_ == none && !sources_.empty())
            send(sources_.front(), 1'000'000, out, 1'000'000);  // far too late, or early
    }

private:
    /// A board that knows no level-1 ids: its clock was switched on long after the others, and runs 10 ppm faster. Of
    /// the second source the fragment of event 150 is lost, and of the first noise comes between events 200 and 201.
    void send_stamped(readout::FragmentSink& out) {
        for (const auto& trigger : happened_) {
            const auto id = number(trigger.level1_id);
            const auto time = (trigger.time - 1'700'000'000s).count();
            const auto stamp = time + time / 100'000 - 5'000'000'000;
            for (const auto source : sources_)
                if (id != 150 || source == sources_.front()) send(source, id, out, {}, stamp);
            if (id == 200) send(sources_.front(), id, out, {}, stamp + 20'000);
        }
        happened_.clear();
    }
    /// Bytes of the id: id % 100 of them, each the id and its place.
    void send(SourceId source, std::uint32_t id, readout::FragmentSink& out,
              std::optional<std::uint32_t> level1_id = {}, std::optional<std::int64_t> time_ns = {}) {
        payload_.clear();
        for (std::uint32_t i = 0; i < id % 100; ++i) payload_.push_back(static_cast<std::byte>(id + i));
        wire::InputFragment fragment{.source = source, .time_ns = time_ns, .status_words = {id}, .payload = payload_};
        if (level1_id) fragment.level1_id = Level1Id{*level1_id};
        out.send(fragment);
    }
    void send_wrong(std::uint32_t id, readout::FragmentSink& out) {
        out.send({.source = SourceId{0x99}, .level1_id = Level1Id{id}});
        out.send({.source = sources_.front(), .level1_id = Level1Id{id - 1}});            // again
        out.send({.source = sources_.front(), .level1_id = Level1Id{id + 100'000'000}});  // the counter jumped
        const std::vector<std::byte> large(40U << 20);
        out.send({.source = sources_.front(), .level1_id = Level1Id{id}, .payload = large});
        out.send({.source = sources_.front(), .level1_id = Level1Id{id}, .kind = wire::PayloadKind::rod});
    }

    Fault fault_{};
    std::vector<SourceId> sources_;
    std::vector<std::byte> payload_;
    std::vector<readout::Trigger> happened_;  // and not yet sent
    std::uint32_t next_ = 1;
    int polled_ = 0;
};

}  // namespace

WEIR_FRONT_END(Faulty)
