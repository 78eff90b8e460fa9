// SPDX-License-Identifier: Apache-2.0
// weir-trigger-worker FILE.so: runs a C++ trigger plug-in. Started by a supervisor with a socket (3);
// src/triggers/plug_in/trigger_messages.hpp describes the messages.
#include <chrono>
#include <memory>
#include <stdexcept>

#include "triggers/plug_in/trigger_library.hpp"
#include "triggers/plug_in/trigger_messages.hpp"
#include "weir/plugin/plug_in_worker.hpp"
#include "weir/wire/input_block.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir;
using namespace weir::selection;

class Worker final : public plugin::PlugInWorker, private TriggerSink {
public:
    explicit Worker(const TriggerPlugInFace& face)
        : PlugInWorker(plugin::has_poll, {.records = wire::block_records_max, .bytes = wire::block_size_usual}),
          plug_in_(face.make()) {}

private:
    void begin_run(const plugin::BeginRun& begin) override {
        next_ = Level1Id{begin.words.at(0)};
        plug_in_->begin_run(begin.run, next_);
    }
    void poll() override {
        plug_in_->poll(*this);
        flush();  // the next call may wait for triggers
    }
    void end_run() override { plug_in_->end_run(); }

    bool take(std::uint32_t kind, ConstData body) override {
        const auto credit = plugin::read_number<std::uint64_t>(body);
        if (kind != static_cast<std::uint32_t>(ToTriggerPlugIn::credit) || !credit) return false;
        credit_ = *credit;
        return true;
    }

    bool send(const PlugInTrigger& trigger) override {
        if (trigger.words.size() > wire::input_trigger_words_max)
            throw std::length_error("a trigger has more than 256 words");
        record_.level1_id = trigger.level1_id.value_or(next_);
        record_.time_ns = trigger.time_ns ? *trigger.time_ns : system_clock().wall().time_since_epoch() / 1ns;
        record_.type = trigger.type;
        record_.bunch_crossing_id = trigger.bunch_crossing_id;
        record_.words.assign(trigger.words.begin(), trigger.words.end());
        while (!ending() && sent_ >= credit_) {
            flush();
            static_cast<void>(look(alive_after));
            say_alive();
        }
        next_ = Level1Id{number(record_.level1_id) + 1};
        ++sent_;
        wire::encode(record_, place_for(wire::encoded_size(record_)));
        sent_record();
        return !ending();
    }
    bool busy() override {
        while (look(0ms)) {
        }
        return ending() || sent_ >= credit_;
    }

    const std::unique_ptr<TriggerPlugIn> plug_in_;
    Level1Id next_{};
    std::uint64_t sent_ = 0, credit_ = 0;
    wire::InputTrigger record_;
};

Result<std::unique_ptr<plugin::PlugInWorker>> make(const char* file) {
    return std::make_unique<Worker>(WEIR_TRY(load_trigger_plug_in(file)));
}

}  // namespace

int main(int argc, char** argv) {
    return plugin::run_worker(argc, argv, "weir-trigger-worker is started by weir supervise", make);
}
