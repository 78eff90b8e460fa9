// SPDX-License-Identifier: Apache-2.0
// What is measured, in the same form for weir, for the limits of the machine and for the peers: a codec writes a value
// into a buffer of its own and reads it back into an object that is there already (vectors keep their memory), as a
// station does that streams event after event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::jobs {

/// The compiler must assume that other code reads `value`, and changes it.
template <class Value>
inline void seen(Value& value) {
    asm volatile("" : : "r"(&value) : "memory");
}

/// What one thread does: its object, its buffer, its library's state. Made by that thread, so that no two threads share
/// a line of memory unless the library makes them.
class Work {
public:
    Work() = default;
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    virtual ~Work() = default;
    virtual void run(std::size_t times) = 0;
};

struct Job {
    std::string codec;    // "weir object-wise", "Boost"
    std::string subject;  // "10", "1000", "event"
    bool writes = true;   // else it reads
    std::size_t bytes = 0;
    std::uint64_t hash = 0;  // FNV-1a of the bytes: who writes the same format can be compared
    std::function<std::unique_ptr<Work>()> make;
};

[[nodiscard]] inline std::uint64_t fnv1a(const void* data, std::size_t size) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (std::size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
    return hash;
}

/// Where the objects of this thread lie in their cache lines and pages: another number, another place. That alone can
/// be worth a third of the time of a copy, so that every candidate is tried in the same places, and one thread in the
/// same as two.
inline std::size_t& place() {
    static thread_local std::size_t number = 0;
    return number;
}
/// Memory between what is allocated before and behind it.
class Shift {
public:
    explicit Shift(std::size_t step) : room_(16 * (1 + place() * step % 251)) {}

private:
    std::vector<char> room_;
};

/// A codec is made by each thread and has
///   write(const Value&)             into its buffer, from the buffer's begin
///   read(Value&)                    what was written last, again and again
///   data(), size()                  the bytes written last
template <class Codec, class Value>
class Writing final : public Work {
public:
    Writing(const Codec& make, const Value& value) : codec_(make), value_(value) {}
    void run(std::size_t times) override {
        for (std::size_t i = 0; i < times; ++i) {
            seen(value_);
            codec_.write(value_);
            seen(codec_);
        }
    }

private:
    const Shift before_{37};
    Codec codec_;
    const Shift between_{101};
    Value value_;
    const Shift behind_{149};
};

template <class Codec, class Value>
class Reading final : public Work {
public:
    Reading(const Codec& make, const Value& value) : codec_(make) {
        codec_.write(value);
        between_.emplace(101);  // behind the buffer, before what is read into
    }
    void run(std::size_t times) override {
        for (std::size_t i = 0; i < times; ++i) {
            seen(codec_);
            codec_.read(value_);
            seen(value_);
        }
    }

private:
    const Shift before_{37};
    Codec codec_;
    std::optional<Shift> between_;
    Value value_{};
};

/// Jobs, with what could not be measured.
struct Jobs {
    std::string about;  // the library and its version
    std::vector<Job> list;
    std::vector<std::string> wrong;  // what did not read back what it wrote: not measured
};

enum class Ways { both, writing };

/// `make` is an empty codec that each thread copies. A codec that does not give back what it was given is not measured.
template <class Codec, class Value>
void add_codec(Jobs& jobs, const std::string& codec, const std::string& subject, const Codec& make, const Value& value,
               Ways ways = Ways::both) {
    Codec trial(make);
    trial.write(value);
    Job job;
    job.codec = codec;
    job.subject = subject;
    job.bytes = trial.size();
    job.hash = fnv1a(trial.data(), trial.size());
    job.make = [make, value]() -> std::unique_ptr<Work> {
        return std::make_unique<Writing<Codec, Value>>(make, value);
    };
    if (ways == Ways::both) {
        Value back{};
        trial.read(back);
        trial.read(back);  // into what is there already
        if (!(back == value)) {
            jobs.wrong.push_back(codec + " does not read back what it wrote of " + subject);
            return;
        }
    }
    jobs.list.push_back(job);
    if (ways == Ways::writing) return;
    job.writes = false;
    job.make = [make, value]() -> std::unique_ptr<Work> {
        return std::make_unique<Reading<Codec, Value>>(make, value);
    };
    jobs.list.push_back(std::move(job));
}

}  // namespace weir::jobs
