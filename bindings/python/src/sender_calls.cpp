// SPDX-License-Identifier: Apache-2.0
#include "sender_calls.hpp"

#include <unistd.h>

#include <cmath>
#include <cstring>

#include "buffer.hpp"

namespace nb = nanobind;

namespace weir::python {
namespace {

/// A call that waits looks this often whether a signal has come.
constexpr std::chrono::nanoseconds look_interval = std::chrono::milliseconds{50};

/// The sender whose callback runs in this thread.
thread_local const SenderCalls* calling = nullptr;

}  // namespace

void raise(const Error& error) {
    const auto text = error.message();
    if (error.code == Errc::usage || error.code == Errc::limit) throw nb::value_error(text.c_str());
    throw SendFailure(text);
}

void raise_timeout(const std::string& text) {
    PyErr_SetString(PyExc_TimeoutError, text.c_str());
    throw nb::python_error();
}

delivery::Piece LentBuffers::piece_of(nb::handle object, std::optional<bool> copy) {
    const Buffer buffer(object);  // with its reasons for what has no bytes
    const auto data = buffer.data();
    if (copy.value_or(!buffer.read_only())) {
        auto bytes = std::make_shared_for_overwrite<std::byte[]>(data.size());
        // Not std::ranges::copy: this module is compiled for size, where g++ makes a loop over bytes of that.
        without_gil(data, [&] {
            if (!data.empty()) std::memcpy(bytes.get(), data.data(), data.size());
        });
        const ConstData copied(bytes.get(), data.size());
        return {copied, std::move(bytes)};
    }
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
    const ConstData lent(static_cast<const std::byte*>(view->buf), static_cast<std::size_t>(view->len));
    auto* const lent_view = view.release();
    return {lent, std::shared_ptr<const void>(lent_view, [lender = shared_from_this(), lent_view](const void*) {
                lender->give_back(std::unique_ptr<Py_buffer>(lent_view));
            })};
}

void LentBuffers::give_back(std::unique_ptr<Py_buffer> view) {
    const std::scoped_lock lock(mutex_);
    returned_.push_back(std::move(view));
}

void LentBuffers::release_returned() {
    std::vector<std::unique_ptr<Py_buffer>> returned;
    {
        const std::scoped_lock lock(mutex_);
        returned.swap(returned_);
    }
    for (const auto& view : returned) PyBuffer_Release(view.get());  // may run any code of Python: without the lock
}

SenderCalls::SenderCalls(nb::object on_ended, nb::object on_state)
    : on_ended_(std::move(on_ended)),
      on_state_(std::move(on_state)),
      has_on_ended_(!on_ended_.is_none()),
      has_on_state_(!on_state_.is_none()),
      process_(getpid()) {}

template <class... Arguments>
void SenderCalls::call(const nb::object& callable, Arguments&&... arguments) {
    const nb::gil_scoped_acquire acquire;
    if (!callable.is_valid() || callable.is_none()) return;
    const auto* const before = std::exchange(calling, this);
    try {
        callable(std::forward<Arguments>(arguments)...);
    } catch (nb::python_error& error) {
        error.discard_as_unraisable(callable);
    }
    calling = before;
}

void SenderCalls::ended(std::uint64_t first, std::uint64_t last, std::optional<std::string> reason) {
    if (reason) {
        const std::scoped_lock lock(mutex_);
        rejected_[*reason] += last - first + 1;
    }
    if (has_on_ended_) {
        const nb::gil_scoped_acquire acquire;
        call(on_ended_, first, last, reason ? nb::object(nb::str(reason->c_str())) : nb::none());
    }
    changed();
}

void SenderCalls::state_changed(delivery::LinkState state, const std::string& why) {
    const char* const name = state == delivery::LinkState::connected    ? "connected"
                             : state == delivery::LinkState::connecting ? "connecting"
                                                                        : "failed";
    {
        const std::scoped_lock lock(mutex_);
        state_ = name;
    }
    if (has_on_state_) {
        const nb::gil_scoped_acquire acquire;
        // Names and texts of the system may have any bytes.
        call(on_state_, nb::str(name),
             nb::steal(PyUnicode_DecodeUTF8(why.data(), static_cast<Py_ssize_t>(why.size()), "replace")));
    }
    changed();
}

void SenderCalls::check_caller() const {
    if (in_callback())
        throw SendFailure("a callback of a sender cannot call it: it would wait for itself; note it and call later");
    if (other_process())
        throw SendFailure("this sender was made before the process was forked; make one in this process");
}

bool SenderCalls::other_process() const { return getpid() != process_; }

bool SenderCalls::in_callback() const { return calling == this; }

void SenderCalls::forget() {
    const auto ended = std::exchange(on_ended_, nb::none());
    const auto state = std::exchange(on_state_, nb::none());
}

std::map<std::string, std::uint64_t> SenderCalls::rejected() const {
    const std::scoped_lock lock(mutex_);
    return rejected_;
}

const char* SenderCalls::state() const {
    const std::scoped_lock lock(mutex_);
    return state_;
}

SteadyTime SenderCalls::deadline(std::optional<double> timeout_s) const {
    constexpr double longest = 1e9;  // seconds, which are 30 years
    if (!timeout_s) return SteadyTime::max();
    if (std::isnan(*timeout_s)) throw nb::value_error("a timeout is a number of seconds, or None to wait");
    const std::chrono::duration<double> wait(std::clamp(*timeout_s, 0.0, longest));
    return clock_.now() + std::chrono::duration_cast<std::chrono::nanoseconds>(wait);
}

std::uint64_t SenderCalls::changes() const {
    const std::scoped_lock lock(mutex_);
    return changes_;
}

std::chrono::milliseconds SenderCalls::milliseconds_until(SteadyTime until) const {
    const auto at_most = std::min<std::chrono::nanoseconds>(look_interval, until - clock_.now());
    return std::chrono::ceil<std::chrono::milliseconds>(std::max(at_most, std::chrono::nanoseconds{0}));
}

void SenderCalls::wait_for_change(std::uint64_t seen, SteadyTime until) {
    const auto at_most = std::min<std::chrono::nanoseconds>(look_interval, until - clock_.now());
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return changes_ != seen; });
}

void SenderCalls::changed() {
    {
        const std::scoped_lock lock(mutex_);
        ++changes_;
    }
    changed_.notify_all();
}

}  // namespace weir::python
