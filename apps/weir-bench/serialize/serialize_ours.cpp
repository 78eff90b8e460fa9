// SPDX-License-Identifier: Apache-2.0
#include "serialize/serialize_ours.hpp"

#include <cstring>
#include <string>
#include <vector>

#include "peers/subjects.hpp"
#include "weir/base/cpu.hpp"
#include "weir/base/endian.hpp"
#include "weir/serial/reader.hpp"
#include "weir/serial/record_kernels.hpp"
#include "weir/serial/writer.hpp"

namespace weir::serial {

template <>
inline constexpr auto description<bench_data::Thing> = members("a");
template <>
inline constexpr auto description<bench_data::Holder> = members("things");
template <>
inline constexpr auto description<bench_data::Hit> = members("channel", "adc", "time");
template <>
inline constexpr auto description<bench_data::Track> = members("pt", "eta", "phi", "charge", "hits");
template <>
inline constexpr auto description<bench_data::Event> =
    members("run", "number", "weight", "stream", "triggers", "hits", "tracks", "calorimeter");

}  // namespace weir::serial

namespace weir::app {
namespace {

using namespace serial;
using bench_data::Thing;
using bench_data::Things;

/// The library as it is used: one writer that is kept, one reader for each message.
template <class Use>
class Streamed {
public:
    explicit Streamed(Mode mode) : mode_(mode), writer_({.mode = mode}) {}
    Streamed(const Streamed& other) : Streamed(other.mode_) {}
    Streamed& operator=(const Streamed&) = delete;

    template <class Value>
    void write(const Value& value) {
        writer_.clear();
        if (!writer_.stream(value)) writer_.clear();
    }
    template <class Value>
    void read(Value& value) {
        Reader reader(writer_.data());
        if (!reader.stream(value)) value = {};
    }
    [[nodiscard]] const std::byte* data() const { return writer_.data().data(); }
    [[nodiscard]] std::size_t size() const { return writer_.data().size(); }

private:
    Mode mode_;
    BasicWriter<Use> writer_;
};

/// Count and records by one implementation, without the library around it.
class Kernel {
public:
    explicit Kernel(const RecordKernel& kernel) : kernel_(&kernel), plan_(&element_plan<Thing>()) {}

    void write(const Things& things) {
        if (const auto enough = 4 + things.size() * plan_->wire_size; bytes_.size() != enough) bytes_.resize(enough);
        store_big(MutableData(bytes_), 0, static_cast<std::uint32_t>(things.size()));
        kernel_->write(*plan_, reinterpret_cast<const std::byte*>(things.data()), things.size(), bytes_.data() + 4);
    }
    void read(Things& things) {
        const auto count = load_big<std::uint32_t>(ConstData(bytes_));
        if (things.size() != count) things.resize(count);
        if (kernel_->read(*plan_, bytes_.data() + 4, count, reinterpret_cast<std::byte*>(things.data())) != count)
            things.clear();
    }
    [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const { return bytes_.size(); }

private:
    const RecordKernel* kernel_;
    const RecordPlan* plan_;
    std::vector<std::byte> bytes_;
};

/// The talk: a flag that all threads share, beside the version that all read.
template <class Way>
void add_flag(jobs::Jobs& jobs, const std::string& name, const std::string& subject, const Things& things) {
    if constexpr (!std::is_same_v<Way, LoadThenStore>)  // else it is the library as it is
        add_codec(jobs, name + " per vector", subject, Streamed<VersionUse<Way, false>>(Mode::object_wise), things,
                  jobs::Ways::writing);
    add_codec(jobs, name + " per element", subject, Streamed<VersionUse<Way, true>>(Mode::object_wise), things,
              jobs::Ways::writing);
}

}  // namespace

void add_serialize_ours(jobs::Jobs& jobs) {
    using Library = Streamed<VersionUse<>>;
    for (const int count : {10, 1000}) {
        const auto subject = std::to_string(count);
        const auto things = bench_data::things(count);
        add_codec(jobs, ours_object_wise, subject, Library(Mode::object_wise), things);
        add_codec(jobs, ours_member_wise, subject, Library(Mode::member_wise), bench_data::Holder{things});
        add_flag<StoreSeqCst>(jobs, "weir, flag stored (seq_cst)", subject, things);
        add_flag<StoreRelaxed>(jobs, "weir, flag stored (relaxed)", subject, things);
        add_flag<LoadThenStoreSeqCst>(jobs, "weir, flag loaded (seq_cst)", subject, things);
        add_flag<LoadThenStore>(jobs, "weir, flag loaded (relaxed)", subject, things);
        for (const auto& kernel : record_kernels())
            if (kernel.usable(CpuFeatures::detect()))
                add_codec(jobs, "weir kernel " + std::string(kernel.name), subject, Kernel(kernel), things);
    }
    add_codec(jobs, ours_object_wise, "event", Library(Mode::object_wise), bench_data::event());
    add_codec(jobs, ours_member_wise, "event", Library(Mode::member_wise), bench_data::event());
}

}  // namespace weir::app
