// SPDX-License-Identifier: Apache-2.0
// ROOT's side of the comparison (root_driver.hpp): compiled with a dictionary against an installed ROOT by
// test/objects/serial_root_test.py, never by weir's build. ROOT prints what it dislikes to stderr and goes on; the
// script wants stderr empty.
#include "root_driver.hpp"

#include <TBufferFile.h>
#include <TClass.h>
#include <TFile.h>
#include <TVirtualStreamerInfo.h>

namespace {

struct RootStreamer {
    template <class T>
    std::string write(const T& value, const char* name, Way way) {
        TVirtualStreamerInfo::SetStreamMemberWise(way.member_wise);
        TBufferFile buffer(TBuffer::kWrite);
        TClass* type = TClass::GetClass(name);
        if (way.any) buffer.WriteObjectAny(&value, type);
        else buffer.StreamObject(const_cast<T*>(&value), type);
        return std::string(buffer.Buffer(), static_cast<std::size_t>(buffer.Length()));
    }

    template <class T>
    std::string read(const std::string& bytes, const char* name, Way way, std::shared_ptr<T>& value) {
        TBufferFile buffer(TBuffer::kRead, static_cast<Int_t>(bytes.size()), const_cast<char*>(bytes.data()), kFALSE);
        TClass* type = TClass::GetClass(name);
        if (!type) return "ROOT has no such class";
        if (way.any) {
            value.reset(static_cast<T*>(buffer.ReadObjectAny(type)));
            if (!value) return "ROOT reads a null pointer";
        } else {
            value = std::make_shared<T>();
            buffer.StreamObject(value.get(), type);
        }
        return all_read(buffer, bytes);
    }

    std::string write(const Sequence& sequence, const std::vector<void*>& objects, bool member_wise) {
        TVirtualStreamerInfo::SetStreamMemberWise(member_wise);
        TBufferFile buffer(TBuffer::kWrite);
        for (std::size_t i = 0; i < objects.size(); ++i) {
            with_sequence_type(sequence.operations[i].type, [&](auto, const char* name) {
                if (sequence.operations[i].kind == Operation::stream)
                    buffer.StreamObject(objects[i], TClass::GetClass(name));
                else buffer.WriteObjectAny(objects[i], TClass::GetClass(name));
            });
        }
        return std::string(buffer.Buffer(), static_cast<std::size_t>(buffer.Length()));
    }

    std::string read(const std::string& bytes, const Sequence& sequence, std::vector<void*>& objects) {
        TBufferFile buffer(TBuffer::kRead, static_cast<Int_t>(bytes.size()), const_cast<char*>(bytes.data()), kFALSE);
        for (const Operation& operation : sequence.operations) {
            with_sequence_type(operation.type, [&](auto, const char* name) {
                TClass* type = TClass::GetClass(name);
                if (operation.kind == Operation::stream) buffer.StreamObject(objects.emplace_back(type->New()), type);
                else objects.push_back(buffer.ReadObjectAny(type));
            });
        }
        return all_read(buffer, bytes);
    }

private:
    static std::string all_read(const TBufferFile& buffer, const std::string& bytes) {
        const auto used = static_cast<std::size_t>(buffer.Length());
        if (used == bytes.size()) return "";
        return "ROOT reads " + std::to_string(used) + " of " + std::to_string(bytes.size()) + " bytes";
    }
};

/// A file with one object of each class, and so with the descriptions of all classes: the source of them for other
/// readers.
int write_classes(const char* path) {
    TFile file(path, "RECREATE", "", 509);  // zlib: every reader has it
    int number = 0;
    for_each_class([&](auto type, const char* name) {
        typename decltype(type)::type value{};
        if (std::strchr(name, '<') == nullptr && std::strcmp(name, "string") != 0)
            file.WriteObjectAny(&value, name, ("object" + std::to_string(++number)).c_str());
    });
    file.Close();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::strcmp(argv[1], "classes") == 0) return write_classes(argv[2]);
    RootStreamer streamer;
    return Driver<RootStreamer>(streamer).run(argc, argv);
}
