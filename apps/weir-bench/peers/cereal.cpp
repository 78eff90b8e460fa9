// SPDX-License-Identifier: Apache-2.0
// cereal, binary archives over memory; archives and streams are kept from message to message.
#include <cereal/archives/binary.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cereal/version.hpp>
#include <istream>
#include <ostream>

#include "serve.hpp"
#include "stream_memory.hpp"
#include "subjects.hpp"

namespace bench_data {
template <class Archive>
void serialize(Archive& archive, Thing& thing) {
    archive(thing.a);
}
template <class Archive>
void serialize(Archive& archive, Hit& hit) {
    archive(hit.channel, hit.adc, hit.time);
}
template <class Archive>
void serialize(Archive& archive, Track& track) {
    archive(track.pt, track.eta, track.phi, track.charge, track.hits);
}
template <class Archive>
void serialize(Archive& archive, Event& event) {
    archive(event.run, event.number, event.weight, event.stream, event.triggers, event.hits, event.tracks,
            event.calorimeter);
}
}  // namespace bench_data

namespace {

using namespace weir::jobs;

class Codec {
public:
    Codec() = default;
    Codec(const Codec&) : Codec() {}
    Codec& operator=(const Codec&) = delete;

    template <class Value>
    void write(const Value& value) {
        memory_.rewind();
        to_archive_(value);
    }
    template <class Value>
    void read(Value& value) {
        memory_.reread();
        from_archive_(value);
    }
    [[nodiscard]] const char* data() const { return memory_.data(); }
    [[nodiscard]] std::size_t size() const { return memory_.size(); }

private:
    StreamMemory memory_;
    std::ostream to_{&memory_};
    std::istream from_{&memory_};
    cereal::BinaryOutputArchive to_archive_{to_};
    cereal::BinaryInputArchive from_archive_{from_};
};

}  // namespace

int main() {
    Jobs jobs;
    jobs.about = "cereal " + std::to_string(CEREAL_VERSION_MAJOR) + "." + std::to_string(CEREAL_VERSION_MINOR) + "." +
                 std::to_string(CEREAL_VERSION_PATCH);
    add_codec(jobs, "cereal", "10", Codec(), bench_data::things(10));
    add_codec(jobs, "cereal", "1000", Codec(), bench_data::things(1000));
    add_codec(jobs, "cereal", "event", Codec(), bench_data::event());
    return serve(jobs);
}
