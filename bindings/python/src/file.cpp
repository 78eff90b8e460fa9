// SPDX-License-Identifier: Apache-2.0
// weir.sum: sums of a file by the reading of lib/fixity, without the GIL. What could not be read, or was changed
// meanwhile, has no sum: OSError, with the name.
#include <nanobind/stl/string.h>

#include <cerrno>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "bind.hpp"
#include "values.hpp"
#include "weir/base/stoppable_sleep.hpp"
#include "weir/fixity/sum_many.hpp"

namespace nb = nanobind;

namespace weir::python {
namespace {

/// Of a str, bytes or os.PathLike; ValueError for a zero inside.
std::string path_of(nb::handle path) {
    PyObject* encoded = nullptr;
    if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw nb::python_error();
    const auto bytes = nb::steal<nb::bytes>(encoded);
    std::string name(bytes.c_str(), bytes.size());
    return name == "-" ? "./-" : name;  // only commands take it for stdin
}

/// What came of the job. When a signal's handler raises, the reading ends and so does this, with that.
fixity::FileSum sum_of(fixity::Job job) {
    std::stop_source interrupted;
    fixity::Reading how;
    how.stop = [&](std::chrono::nanoseconds at_most) { return !stoppable_sleep(at_most, interrupted.get_token()); };
    const auto look_for_signals = [&] {
        if (interrupted.stop_requested())
            return;  // Python's error waits in this thread's state; nothing may run over it
        const nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) interrupted.request_stop();
    };
    // One reader: a program that has many files to read has threads or processes for them already.
    const fixity::Parallel parallel{.threads = 1};
    const SystemClock clock;
    std::optional<fixity::Job> next(std::move(job));
    fixity::FileSum result;
    {
        const nb::gil_scoped_release release;
        sum_many([&] { return std::exchange(next, std::nullopt); },
                 [&](fixity::FileSum file) { result = std::move(file); }, how, parallel, clock, look_for_signals);
    }
    if (interrupted.stop_requested()) throw nb::python_error();
    return result;
}

[[noreturn]] void raise_os_error(const fixity::FileSum& file, nb::handle path) {
    const auto failure = file.failure.value_or(fixity::Failure{{}, EIO, {}, false});
    if (failure.os_errno != 0) {
        errno = failure.os_errno;
        PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path.ptr());
    } else {
        const bool changed = file.status == fixity::Status::changed;
        const auto text = changed ? "the file changed while it was read: " + failure.text : failure.text;
        PyErr_SetObject(PyExc_OSError, nb::make_tuple(changed ? EBUSY : EIO, text, path).ptr());
    }
    throw nb::python_error();
}

nb::dict sum(nb::handle path, nb::handle names) {
    fixity::Job job;
    job.algorithms = algorithms_of(names);
    job.path = path_of(path);
    const auto file = sum_of(std::move(job));
    if (file.status != fixity::Status::ok) raise_os_error(file, path);
    return dictionary_of(file.sums);
}

}  // namespace

void bind_file(nb::module_& module) {
    module.def(
        "sum", &sum, nb::arg("path"), nb::arg("algorithms") = "adler32",
        "{name: hexadecimal digits} of a file, in one reading of it. OSError when anything could not be read or\n"
        "when the file changed meanwhile.");
}

}  // namespace weir::python
