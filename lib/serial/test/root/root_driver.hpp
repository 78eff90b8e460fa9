// SPDX-License-Identifier: Apache-2.0
// What weir's program (serial_values.cpp) and ROOT's (root_oracle.cpp) do alike: make values from seeds, write them,
// read what the other has written, and hold it against the value that the same seed makes here. A Streamer does the
// reading and writing:
//
//     template <class T>
//     std::string write(const T& value, const char* name, Way way);
//     template <class T>
//     std::string read(const std::string& bytes, const char* name, Way way, std::shared_ptr<T>& value);
//     std::string write(const Sequence& sequence, const std::vector<void*>& objects, bool member_wise);
//     std::string read(const std::string& bytes, const Sequence& sequence, std::vector<void*>& objects);
//
// write returns the bytes; read returns "" or what is wrong, and all bytes must be used. The streamer owns the objects
// of a sequence that it has read.
#pragma once

#include "root_sequence.hpp"
#include "root_values.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

/// How an object is written.
struct Way {
    bool member_wise = false;
    bool any = false;  // WriteObjectAny; else StreamObject
};

inline constexpr std::uint32_t sequence_class = 1'000'000;  // the class number of a Sequence

/// One written object. In a file: class, way, seed, size, bytes; in this machine's byte order, for the same machine
/// only.
struct Record {
    std::uint32_t class_index = 0;
    Way way{};
    std::uint64_t seed = 0;
    std::string bytes{};

    void put(std::FILE* file) const {
        const std::uint64_t head[3] = {class_index | (way.member_wise ? 1ULL << 32 : 0) | (way.any ? 1ULL << 33 : 0),
                                       seed, bytes.size()};
        std::fwrite(head, sizeof head, 1, file);
        std::fwrite(bytes.data(), 1, bytes.size(), file);
    }
    bool get(std::FILE* file) {
        std::uint64_t head[3];
        if (std::fread(head, sizeof head, 1, file) != 1) return false;
        class_index = static_cast<std::uint32_t>(head[0]);
        way = {(head[0] >> 32 & 1) != 0, (head[0] >> 33 & 1) != 0};
        seed = head[1];
        bytes.resize(head[2]);
        return std::fread(bytes.data(), 1, bytes.size(), file) == bytes.size();
    }
};

inline std::string hex(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(c));
        text += digits;
    }
    return text;
}

inline std::string unhex(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16));
    return bytes;
}

template <class Streamer>
class Driver {
public:
    explicit Driver(Streamer& streamer) : streamer_(streamer) {}

    /// PROGRAM write FILE SEED COUNT | check FILE | list SEED COUNT | vectors FILE. What is wrong is on stdout.
    int run(int argc, char** argv) {
        const std::string command = argc > 1 ? argv[1] : "";
        if (command == "write" && argc == 5) return write(argv[2], number(argv[3]), number(argv[4]));
        if (command == "check" && argc == 3) return check(argv[2]);
        if (command == "list" && argc == 4) return list(number(argv[2]), number(argv[3]));
        if (command == "vectors" && argc == 3) return vectors(argv[2]);
        std::printf("usage: %s write FILE SEED COUNT | check FILE | list SEED COUNT | vectors FILE\n", argv[0]);
        return 2;
    }

    /// COUNT objects of each class in each of the four ways.
    template <class Each>
    void write_all(std::uint64_t seed, std::uint64_t count, Each&& each) {
        std::uint32_t index = 0;
        for_each_class([&](auto type, const char* name) {
            using T = typename decltype(type)::type;
            for (std::uint64_t i = 0; i < count; ++i) {
                for (const Way way : {Way{false, false}, Way{true, false}, Way{false, true}, Way{true, true}}) {
                    Record record{index, way, Draw(seed + i * 1000 + index).next(), {}};
                    ValueMaker maker(record.seed);
                    T value{};
                    maker.fill(value);
                    record.bytes = streamer_.write(value, name, way);
                    each(record, name, value);
                }
            }
            ++index;
        });
        for (std::uint64_t i = 0; i < 20 * count; ++i) {
            for (const bool member_wise : {false, true}) {
                Record record{sequence_class, {member_wise, true}, Draw(seed + i).next(), {}};
                Sequence sequence(record.seed);
                record.bytes = streamer_.write(sequence, sequence.objects, member_wise);
                each(record, "sequence", sequence);
            }
        }
    }

private:
    static constexpr std::size_t shown = 10;  // of what is wrong

    static std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

    int write(const char* path, std::uint64_t seed, std::uint64_t count) {
        std::FILE* file = std::fopen(path, "wb");
        if (!file) return std::printf("cannot write %s\n", path), 1;
        std::size_t records = 0, bytes = 0;
        write_all(seed, count, [&](const Record& record, const char*, auto&) {
            record.put(file);
            ++records;
            bytes += record.bytes.size();
        });
        if (std::fclose(file) != 0) return std::printf("cannot write %s\n", path), 1;
        std::printf("%zu objects written, %zu bytes\n", records, bytes);
        return 0;
    }

    /// A line for each object: class, way, form, value, bytes.
    int list(std::uint64_t seed, std::uint64_t count) {
        write_all(seed, count, [](const Record& record, const char* name, auto& value) {
            std::printf("%s|%s|%s|%s|%s\n", name, record.way.member_wise ? "member-wise" : "object-wise",
                        record.way.any ? "any" : "stream", text_of(value).c_str(), hex(record.bytes).c_str());
        });
        return 0;
    }

    template <class T>
    static std::string text_of(const T& value) {
        if constexpr (std::is_same_v<T, Sequence>) return value.text(value.objects);
        else return ValueText::of(value);
    }

    int check(const char* path) {
        std::FILE* file = std::fopen(path, "rb");
        if (!file) return std::printf("cannot read %s\n", path), 1;
        Record record;
        std::size_t records = 0, wrong = 0;
        while (record.get(file)) {
            ++records;
            std::string name = "sequence", problem;
            if (record.class_index == sequence_class) problem = check_sequence(record);
            std::uint32_t index = 0;
            for_each_class([&](auto type, const char* called) {
                if (index++ != record.class_index) return;
                name = called;
                problem = check_one<typename decltype(type)::type>(record, called);
            });
            if (!problem.empty() && ++wrong <= shown)
                std::printf("%s, %s, %s, seed %llu: %s\n  %s\n", name.c_str(),
                            record.way.member_wise ? "member-wise" : "object-wise", record.way.any ? "any" : "stream",
                            static_cast<unsigned long long>(record.seed), problem.c_str(), hex(record.bytes).c_str());
        }
        std::fclose(file);
        std::printf("%zu objects read, %zu wrong\n", records, wrong);
        return wrong == 0 && records > 0 ? 0 : 1;
    }

    /// Lines of `list`, written by the other: what is read has the value in the line, and the same bytes again.
    int vectors(const char* path) {
        std::ifstream file(path);
        std::string line;
        std::size_t lines = 0, wrong = 0;
        while (std::getline(file, line)) {
            ++lines;
            const std::size_t way = line.find('|'), form = line.find('|', way + 1), value = line.find('|', form + 1);
            const std::size_t end = line.rfind('|');
            const std::string name = line.substr(0, way), text = line.substr(value + 1, end - value - 1);
            const Way how{line.substr(way + 1, form - way - 1) == "member-wise", line.substr(form + 1, 3) == "any"};
            std::string problem = "an unknown class";
            if (name == "sequence") problem = "";  // has no seed here; what is in it is checked by `check`
            for_each_class([&](auto type, const char* called) {
                if (called == name)
                    problem = check_line<typename decltype(type)::type>(unhex(line.substr(end + 1)), called, how, text);
            });
            if (!problem.empty() && ++wrong <= shown)
                std::printf("line %zu, %s: %s\n", lines, name.c_str(), problem.c_str());
        }
        std::printf("%zu buffers read, %zu wrong\n", lines, wrong);
        return wrong == 0 && lines > 0 ? 0 : 1;
    }

    template <class T>
    std::string check_line(const std::string& bytes, const char* name, Way way, const std::string& text) {
        std::shared_ptr<T> read;
        if (std::string problem = streamer_.read(bytes, name, way, read); !problem.empty()) return problem;
        if (const std::string have = ValueText::of(*read); have != text)
            return "other values\n  " + text + "\n  " + have;
        const std::string again = streamer_.write(*read, name, way);
        return again == bytes ? "" : "written again it is\n  " + hex(again);
    }

    template <class T>
    std::string check_one(const Record& record, const char* name) {
        ValueMaker maker(record.seed);
        T expected{};
        maker.fill(expected);
        std::shared_ptr<T> read;
        if (std::string problem = streamer_.read(record.bytes, name, record.way, read); !problem.empty())
            return problem;
        const std::string want = ValueText::of(expected), have = ValueText::of(*read);
        if (want != have) return "other values\n  want " + want + "\n  have " + have;
        const std::string again = streamer_.write(*read, name, record.way);
        if (again != record.bytes) return "written again it is\n  " + hex(again);
        return "";
    }

    std::string check_sequence(const Record& record) {
        const Sequence sequence(record.seed);
        std::vector<void*> objects;
        if (std::string problem = streamer_.read(record.bytes, sequence, objects); !problem.empty()) return problem;
        const std::string want = sequence.text(sequence.objects), have = sequence.text(objects);
        if (want != have) return "other values\n  want " + want + "\n  have " + have;
        const std::string again = streamer_.write(sequence, objects, record.way.member_wise);
        if (again != record.bytes) return "written again it is\n  " + hex(again);
        return "";
    }

    Streamer& streamer_;
};
