// SPDX-License-Identifier: Apache-2.0
// The mistakes of authors that the plug-ins of the tests can be told to make, front-ends and trigger plug-ins, in C++
// and in Python (plug_in_faults.py reads them here): the number of a run is one of these.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace weir::plugin {

enum Fault : std::uint32_t {
    none,
    begin_throws,
    begin_hangs,
    begin_crashes,
    poll_throws,
    read_out_throws,
    hangs,
    crashes,
    exits,
    sends_garbage,
    sends_for_ever,
    end_throws,
    end_hangs,
    // Of front-ends.
    wrong_fragments,
    runs_freely,
    stamps,
    // Of trigger plug-ins.
    wrong_ids,
    wrong_id_then_crashes,
    too_many_words,
    looks_for_busy,
    rests_briefly,
};

/// A file that a plug-in makes before it hangs. Of a test, which has it before the plug-in is started.
class HangMark {
public:
    HangMark() : file_(std::filesystem::temp_directory_path() / ("weir_hangs_" + std::to_string(::getpid()))) {
        std::filesystem::remove(file_);
        ::setenv("WEIR_HANG_MARK", file_.c_str(), 1);
    }
    ~HangMark() {
        ::unsetenv("WEIR_HANG_MARK");
        std::filesystem::remove(file_);
    }
    HangMark(const HangMark&) = delete;
    HangMark& operator=(const HangMark&) = delete;
    [[nodiscard]] bool made() const { return std::filesystem::exists(file_); }

private:
    const std::filesystem::path file_;
};

/// Of a plug-in.
inline void hang() {
    if (const char* mark = ::getenv("WEIR_HANG_MARK")) std::ofstream(mark).put('x');
    std::this_thread::sleep_for(std::chrono::seconds(1000));
}

}  // namespace weir::plugin
