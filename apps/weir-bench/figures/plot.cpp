// SPDX-License-Identifier: Apache-2.0
#include "figures/plot.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>

#include "cli/process/child_process.hpp"

namespace weir::app {

Result<> draw(const std::filesystem::path& target, const std::string& script, int width, int height) {
    std::string terminal;
    if (target.extension() == ".svg") {
        terminal = fmt::format("set terminal svg size {},{} dynamic font 'sans-serif,14' background rgb 'white'", width,
                               height);
    } else if (target.extension() == ".png") {
        terminal = fmt::format("set terminal pngcairo size {},{} font 'sans-serif,11'", width, height);
    } else {
        return fail(Errc::usage, fmt::format("cannot draw {}: name a file that ends in .svg or .png", target.native()));
    }
    const auto script_file = target.native() + ".gnuplot";
    {
        std::ofstream out(script_file);
        out << terminal << "\nset output '" << target.native() << "'\n" << script << '\n';
        if (!out.flush()) return fail_errno(errno, fmt::format("cannot write {}", script_file));
    }
    auto gnuplot = ChildProcess::start({"gnuplot", script_file}, false);
    if (!gnuplot) return fail(Errc::io, "cannot draw: gnuplot is not installed; apt-get install gnuplot-nox");
    const auto status = gnuplot->wait();
    std::error_code ignored;
    std::filesystem::remove(script_file, ignored);
    if (status.exit_code != 0)
        return fail(Errc::io,
                    fmt::format("gnuplot could not draw {} (exit code {})", target.native(), status.exit_code));
    return {};
}

}  // namespace weir::app
