// SPDX-License-Identifier: Apache-2.0
// weir-front-end-worker FILE.so: runs a C++ front-end in a process of its own, for `runs_in = "process"`. Started by a
// readout with a socket (3); src/front_end/front_end_messages.hpp describes the messages.
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "front_end/front_end_messages.hpp"
#include "front_end/front_end_plugin.hpp"
#include "weir/plugin/plug_in_worker.hpp"

namespace {

using namespace weir;
using namespace weir::readout;

class Worker final : public plugin::PlugInWorker, private FragmentSink {
public:
    explicit Worker(const FrontEndFace& face)
        : PlugInWorker((face.polls ? plugin::has_poll : 0U) | (face.reads_out ? plugin::has_read_out : 0U),
                       {.records = wire::block_records_max, .bytes = wire::block_size_usual}),
          front_end_(face.make()) {}

private:
    void begin_run(const plugin::BeginRun& begin) override {
        std::vector<SourceId> sources;
        for (const auto word : begin.words) sources.push_back(SourceId{word});
        front_end_->begin_run(begin.run, sources);
    }
    void poll() override { front_end_->poll(*this); }
    void end_run() override { front_end_->end_run(*this); }

    bool take(std::uint32_t kind, ConstData body) override {
        if (kind != static_cast<std::uint32_t>(ToFrontEnd::triggers) || !read_triggers(body, triggers_)) return false;
        for (const auto& trigger : triggers_) {
            trigger_ = trigger.level1_id;
            guarded(plugin::Call::read_out, trigger.level1_id, [&] { front_end_->read_out(trigger, *this); });
            trigger_.reset();
            ++done_;
            if (silent_for(linger)) answer_done();
        }
        answer_done();
        return true;
    }
    void answer_done() {
        if (done_ == 0) return;
        out_.clear();
        plugin::write_number(FromFrontEnd::done, std::exchange(done_, 0), out_);
        answer(out_);
    }

    bool send(const wire::InputFragment& fragment) override {
        if (fragment.payload.size() > front_end_payload_max) throw std::length_error("a payload is larger than 64 MiB");
        if (fragment.status_words.size() > wire::input_status_words_max)
            throw std::length_error("a fragment has more than 64 status words");
        auto numbered = fragment;
        if (!numbered.level1_id) numbered.level1_id = trigger_;
        wire::encode(numbered, place_for(wire::encoded_size(numbered)));
        sent_record();
        return true;
    }

    const std::unique_ptr<FrontEnd> front_end_;
    std::vector<std::byte> out_;
    std::vector<Trigger> triggers_;
    std::optional<Level1Id> trigger_;  // that is read out now
    std::uint32_t done_ = 0;           // triggers that were read out, and the readout does not know of
};

Result<std::unique_ptr<plugin::PlugInWorker>> make(const char* file) {
    return std::make_unique<Worker>(WEIR_TRY(load_front_end(file)));
}

}  // namespace

int main(int argc, char** argv) {
    return plugin::run_worker(argc, argv, "weir-front-end-worker is started by weir readout", make);
}
