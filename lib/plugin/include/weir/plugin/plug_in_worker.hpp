// SPDX-License-Identifier: Apache-2.0
// The other end of a PlugInProcess: the program that runs a plug-in of one kind for a station (plug_in_messages.hpp).
// It has one thread, which calls the plug-in and all functions here. Where the station has ended, the program does,
// with exit code 0; where the station sends what is no message, with 1.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/plugin/plug_in_messages.hpp"
#include "weir/plugin/restart_pause.hpp"
#include "weir/plugin/thrown_by.hpp"

namespace weir::plugin {

class PlugInWorker {
public:
    static constexpr std::chrono::milliseconds linger{1};  // how long records wait for others at most
    static constexpr std::chrono::milliseconds alive_after{100};

    virtual ~PlugInWorker() = default;
    PlugInWorker(const PlugInWorker&) = delete;
    PlugInWorker& operator=(const PlugInWorker&) = delete;

    /// Does what the station asks, until it has ended.
    [[noreturn]] void serve();

protected:
    /// Records go out as soon as there are so many, or so many bytes of them.
    struct Block {
        std::size_t records = 0;
        std::size_t bytes = 0;
    };
    PlugInWorker(std::uint32_t has, Block block) : has_(has), block_(block) {}

    // The calls of the plug-in, which may throw.
    virtual void begin_run(const BeginRun& begin) = 0;
    virtual void poll() = 0;  // with has_poll only
    virtual void end_run() = 0;
    /// A message of its own kind. False: it is none, and the program ends.
    [[nodiscard]] virtual bool take(std::uint32_t kind, ConstData body) = 0;

    /// Does `work`, which is a call of the plug-in. What it throws the station is sent; then false.
    template <class Work>
    bool guarded(Call call, Level1Id trigger, Work&& work) {
        note(call);
        const auto thrown = thrown_by(work);
        note(Call::none);
        if (thrown) answer_failed({.call = call, .trigger = trigger, .text = *thrown});
        return !thrown;
    }
    /// Takes a message. False: none came for so long.
    bool look(std::chrono::nanoseconds wait);
    [[nodiscard]] bool ending() const noexcept { return ending_; }  // of the run

    /// Where the next record, of this size, is to be appended. Then sent_record().
    [[nodiscard]] std::vector<std::byte>& place_for(std::size_t size);
    void sent_record();
    /// What waits for others goes out.
    void flush();
    /// Behind all records that were sent before.
    void answer(ConstData message);
    [[nodiscard]] bool silent_for(std::chrono::nanoseconds time) const { return system_clock().now() - last_ >= time; }
    void say_alive();

private:
    [[nodiscard]] std::chrono::nanoseconds poll_once();
    void end();
    void answer_nothing(FromPlugIn kind);
    void answer_failed(const Failed& failed);
    void write(ConstData bytes);
    void note(Call call) noexcept;

    const std::uint32_t has_;
    const Block block_;
    std::uint32_t* call_ = nullptr;  // in shared memory
    std::chrono::microseconds poll_interval_{1000};
    bool running_ = false, ending_ = false;
    bool some_ = false;  // records were sent by this call
    RestartPause pause_{std::chrono::milliseconds(100), std::chrono::milliseconds(2000), system_clock()};
    SteadyTime poll_again_{};
    std::vector<std::byte> records_, out_, body_;
    std::size_t begin_ = 0, records_in_ = 0;
    SteadyTime last_{};  // that it sent anything
};

/// The whole of such a program: `make` loads the plug-in of a file, and may throw; why it cannot the station is sent.
/// `usage`: for a person who starts it. Returns an exit code.
using MakeWorker = std::function<Result<std::unique_ptr<PlugInWorker>>(const char* file)>;
[[nodiscard]] int run_worker(int argc, char** argv, const char* usage, const MakeWorker& make);

}  // namespace weir::plugin
