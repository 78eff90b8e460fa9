// SPDX-License-Identifier: Apache-2.0
// weir's side of the comparison with ROOT (root_driver.hpp): writes random values, reads what ROOT has written. And
// damages them: serial_values mutate SEED COUNT (mutations.hpp).
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "root_descriptions.hpp"
//
#include "mutations.hpp"
#include "root_driver.hpp"
#include "weir/serial/reader.hpp"
#include "weir/serial/writer.hpp"

namespace {

using weir::serial::Mode;
using weir::serial::Reader;
using weir::serial::Writer;

std::string bytes_of(const Writer& writer) {
    const weir::ConstData data = writer.data();
    return {reinterpret_cast<const char*>(data.data()), data.size()};
}

weir::ConstData data_of(const std::string& bytes) {
    return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

std::string all_read(const Reader& reader, const std::string& bytes) {
    if (reader.position() == bytes.size()) return "";
    return "weir reads " + std::to_string(reader.position()) + " of " + std::to_string(bytes.size()) + " bytes";
}

class WeirStreamer {
public:
    template <class T>
    std::string write(const T& value, const char*, Way way) {
        Writer writer({.mode = way.member_wise ? Mode::member_wise : Mode::object_wise});
        const auto ok = way.any ? writer.write_any(&value) : writer.stream(value);
        return ok ? bytes_of(writer) : "";
    }

    template <class T>
    std::string read(const std::string& bytes, const char*, Way way, std::shared_ptr<T>& value) {
        Reader reader(data_of(bytes));
        if (way.any) {
            auto object = reader.read_any<T>();
            if (!object) return object.error().context;
            value = std::move(*object);
            if (!value) return "weir reads a null pointer";
        } else {
            value = std::make_shared<T>();
            if (const auto ok = reader.stream(*value); !ok) return ok.error().context;
        }
        return all_read(reader, bytes);
    }

    std::string write(const Sequence& sequence, const std::vector<void*>& objects, bool member_wise) {
        Writer writer({.mode = member_wise ? Mode::member_wise : Mode::object_wise});
        std::string problem;
        for (std::size_t i = 0; i < objects.size(); ++i) {
            with_sequence_type(sequence.operations[i].type, [&](auto type, const char*) {
                auto* object = static_cast<typename decltype(type)::type*>(objects[i]);
                const auto ok = sequence.operations[i].kind == Operation::stream ? writer.stream(*object)
                                                                                 : writer.write_any(object);
                if (!ok) problem = ok.error().context;
            });
        }
        return problem.empty() ? bytes_of(writer) : "";
    }

    std::string read(const std::string& bytes, const Sequence& sequence, std::vector<void*>& objects) {
        owned_.clear();
        Reader reader(data_of(bytes));
        for (const Operation& operation : sequence.operations) {
            std::string problem;
            with_sequence_type(operation.type, [&](auto type, const char*) {
                using T = typename decltype(type)::type;
                if (operation.kind == Operation::stream) {
                    auto object = std::make_shared<T>();
                    if (const auto ok = reader.stream(*object); !ok) problem = ok.error().context;
                    keep(std::move(object), objects);
                } else if (auto object = reader.read_any<T>()) {
                    keep(std::move(*object), objects);
                } else {
                    problem = object.error().context;
                }
            });
            if (!problem.empty()) return problem;
        }
        return all_read(reader, bytes);
    }

private:
    void keep(std::shared_ptr<void> object, std::vector<void*>& objects) {
        objects.push_back(object.get());
        owned_.push_back(std::move(object));
    }

    std::vector<std::shared_ptr<void>> owned_{};
};

}  // namespace

/// Rings of shared pointers are among the values, and are never freed.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

int main(int argc, char** argv) {
    WeirStreamer streamer;
    if (argc == 4 && std::string(argv[1]) == "mutate") {
        Campaign campaign(std::strtoull(argv[2], nullptr, 10));
        Driver<WeirStreamer>(streamer).write_all(
            1, 8, [&](const Record& record, const char*, auto&) { campaign.add(record); });
        return campaign.run(std::strtoull(argv[3], nullptr, 10));
    }
    return Driver<WeirStreamer>(streamer).run(argc, argv);
}
