// SPDX-License-Identifier: Apache-2.0
// Boost.Serialization, binary, without class information and tracking: nothing but the data is written. Three ways: the
// archive is kept from message to message; it is made for each message; it is kept and a vector of `Thing` is declared
// to be an array of ints.
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/array_wrapper.hpp>
#include <boost/serialization/level.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/tracking.hpp>
#include <boost/serialization/vector.hpp>
#include <boost/version.hpp>
#include <memory>

#include "serve.hpp"
#include "stream_memory.hpp"
#include "subjects.hpp"

namespace boost::serialization {
template <class Archive>
void serialize(Archive& archive, bench_data::Thing& thing, unsigned) {
    archive & thing.a;
}
template <class Archive>
void serialize(Archive& archive, bench_data::Hit& hit, unsigned) {
    archive & hit.channel & hit.adc & hit.time;
}
template <class Archive>
void serialize(Archive& archive, bench_data::Track& track, unsigned) {
    archive & track.pt & track.eta & track.phi & track.charge & track.hits;
}
template <class Archive>
void serialize(Archive& archive, bench_data::Event& event, unsigned) {
    archive & event.run & event.number & event.weight & event.stream & event.triggers & event.hits & event.tracks &
        event.calorimeter;
}
}  // namespace boost::serialization

#define WEIR_BENCH_PLAIN(type)                                                  \
    BOOST_CLASS_IMPLEMENTATION(type, boost::serialization::object_serializable) \
    BOOST_CLASS_TRACKING(type, boost::serialization::track_never)
WEIR_BENCH_PLAIN(bench_data::Thing)
WEIR_BENCH_PLAIN(bench_data::Hit)
WEIR_BENCH_PLAIN(bench_data::Track)
WEIR_BENCH_PLAIN(bench_data::Event)
WEIR_BENCH_PLAIN(std::vector<bench_data::Thing>)
WEIR_BENCH_PLAIN(std::vector<bench_data::Hit>)
WEIR_BENCH_PLAIN(std::vector<bench_data::Track>)
WEIR_BENCH_PLAIN(std::vector<std::string>)
WEIR_BENCH_PLAIN(std::vector<int>)
WEIR_BENCH_PLAIN(std::vector<float>)
WEIR_BENCH_PLAIN(std::vector<std::vector<float>>)

namespace {

using namespace weir::jobs;
constexpr unsigned bare = boost::archive::no_header;

class KeptArchive {
public:
    KeptArchive() = default;
    KeptArchive(const KeptArchive&) : KeptArchive() {}
    KeptArchive& operator=(const KeptArchive&) = delete;

    template <class Value>
    void write(const Value& value) {
        memory_.rewind();
        out_ << value;
    }
    template <class Value>
    void read(Value& value) {
        memory_.reread();
        in_ >> value;
    }
    [[nodiscard]] const char* data() const { return memory_.data(); }
    [[nodiscard]] std::size_t size() const { return memory_.size(); }

protected:
    StreamMemory memory_;
    boost::archive::binary_oarchive out_{memory_, bare | boost::archive::no_codecvt};
    boost::archive::binary_iarchive in_{memory_, bare | boost::archive::no_codecvt};
};

class ArchivePerMessage {
public:
    template <class Value>
    void write(const Value& value) {
        memory_->rewind();
        boost::archive::binary_oarchive out(*memory_, bare);
        out << value;
    }
    template <class Value>
    void read(Value& value) {
        memory_->reread();
        boost::archive::binary_iarchive in(*memory_, bare);
        in >> value;
    }
    ArchivePerMessage() = default;
    ArchivePerMessage(const ArchivePerMessage&) : ArchivePerMessage() {}
    ArchivePerMessage& operator=(const ArchivePerMessage&) = delete;
    [[nodiscard]] const char* data() const { return memory_->data(); }
    [[nodiscard]] std::size_t size() const { return memory_->size(); }

private:
    std::unique_ptr<StreamMemory> memory_ = std::make_unique<StreamMemory>();
};

class IntArray : public KeptArchive {
public:
    void write(const bench_data::Things& things) {
        memory_.rewind();
        const auto count = static_cast<std::uint32_t>(things.size());
        out_ << count;
        out_ << boost::serialization::make_array(&things.data()->a, things.size());
    }
    void read(bench_data::Things& things) {
        memory_.reread();
        std::uint32_t count = 0;
        in_ >> count;
        things.resize(count);
        auto array = boost::serialization::make_array(&things.data()->a, things.size());
        in_ >> array;
    }
};

}  // namespace

int main() {
    Jobs jobs;
    jobs.about = "Boost.Serialization " BOOST_LIB_VERSION;
    for (const auto count : {10, 1000}) {
        const auto things = bench_data::things(count);
        const auto subject = std::to_string(count);
        add_codec(jobs, "Boost, archive kept", subject, KeptArchive(), things);
        add_codec(jobs, "Boost, archive per message", subject, ArchivePerMessage(), things);
        add_codec(jobs, "Boost, array of ints", subject, IntArray(), things);
    }
    add_codec(jobs, "Boost, archive kept", "event", KeptArchive(), bench_data::event());
    add_codec(jobs, "Boost, archive per message", "event", ArchivePerMessage(), bench_data::event());
    return serve(jobs);
}
