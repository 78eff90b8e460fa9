// SPDX-License-Identifier: Apache-2.0
// ROOT itself: TBufferFile::StreamObject with compiled dictionaries. ROOT's own compiler service (ACLiC) builds this
// file when it is measured, so weir is built without ROOT; root.py calls it.
#include <Bytes.h>
#include <RVersion.h>
#include <TBufferFile.h>
#include <TClass.h>
#include <TROOT.h>
#include <TVirtualStreamerInfo.h>

#include "serve.hpp"
#include "subjects.hpp"

#ifdef __ROOTCLING__
#pragma link C++ class bench_data::Thing + ;
#pragma link C++ class bench_data::Holder + ;
#pragma link C++ class bench_data::Hit + ;
#pragma link C++ class bench_data::Track + ;
#pragma link C++ class bench_data::Event + ;
#pragma link C++ class std::vector < bench_data::Thing> + ;
#pragma link C++ class std::vector < bench_data::Hit> + ;
#pragma link C++ class std::vector < bench_data::Track> + ;
#pragma link C++ class std::vector < std::vector < float>> + ;
#endif

namespace weir_bench_root {

using namespace weir::jobs;

/// ROOT before root-project/root#6062: every streamed object stored a flag that all threads share. Stored again where
/// each element passes; an emulation, as the flag does not share its line with what else a TClass has.
alignas(64) std::atomic<bool> version_used{false};
class OldBuffer : public TBufferFile {
public:
    using TBufferFile::TBufferFile;
    Int_t WriteClassBuffer(const TClass* of, void* object) override {
        version_used = true;
        return TBufferFile::WriteClassBuffer(of, object);
    }
};

/// Writes from the buffer's begin each time, as a station would that keeps its buffer.
template <class Buffer>
class Codec {
public:
    Codec(const char* class_name, bool member_wise) : class_(TClass::GetClass(class_name)), member_wise_(member_wise) {}
    Codec(const Codec& other) : class_(other.class_), member_wise_(other.member_wise_) {
        TVirtualStreamerInfo::SetStreamMemberWise(member_wise_);  // of the process: one job at a time is measured in it
    }
    Codec& operator=(const Codec&) = delete;

    template <class Value>
    void write(const Value& value) {
        to_.Reset();
        to_.StreamObject(const_cast<Value*>(&value), class_);
    }
    template <class Value>
    void read(Value& value) {
        if (!from_) from_ = std::make_unique<TBufferFile>(TBuffer::kRead, to_.Length(), to_.Buffer(), kFALSE);
        from_->Reset();
        from_->StreamObject(&value, class_);
    }
    const char* data() const { return to_.Buffer(); }
    std::size_t size() const { return static_cast<std::size_t>(to_.Length()); }

private:
    TClass* class_;
    bool member_wise_;
    Buffer to_{TBuffer::kWrite, 1 << 16};
    std::unique_ptr<TBufferFile> from_;
};

}  // namespace weir_bench_root

int weir_bench_root_serve() {
    using namespace weir_bench_root;
    using Codec = weir_bench_root::Codec<TBufferFile>;
    ROOT::EnableThreadSafety();
    Jobs jobs;
    jobs.about = std::string("ROOT ") + ROOT_RELEASE;
    for (const int count : {10, 1000}) {
        const auto subject = std::to_string(count);
        const auto things = bench_data::things(count);
        add_codec(jobs, "ROOT object-wise", subject, Codec("vector<bench_data::Thing>", false), things);
        add_codec(jobs, "ROOT object-wise, its old flag store", subject,
                  weir_bench_root::Codec<OldBuffer>("vector<bench_data::Thing>", false), things, Ways::writing);
        add_codec(jobs, "ROOT member-wise", subject, Codec("bench_data::Holder", true), bench_data::Holder{things});
    }
    add_codec(jobs, "ROOT object-wise", "event", Codec("bench_data::Event", false), bench_data::event());
    add_codec(jobs, "ROOT member-wise", "event", Codec("bench_data::Event", true), bench_data::event());
    return serve(jobs);
}
