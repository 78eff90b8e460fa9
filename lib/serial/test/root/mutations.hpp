// SPDX-License-Identifier: Apache-2.0
// Millions of damaged buffers: sound ones of every class, with bytes, lengths and references changed, pieces cut out,
// moved or taken from others. Everything is drawn from a seed, so that a run can be repeated. What must hold, besides
// what the sanitizers look for: nothing is allocated that the bytes could not fill, and what is accepted is a sound
// object, which is written and read again to the same bytes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "root_driver.hpp"
#include "weir/serial/reader.hpp"
#include "weir/serial/writer.hpp"

class Mutator {
public:
    explicit Mutator(std::uint64_t seed) : draw_(seed) {}

    void change(std::string& bytes, const std::string& other) {
        for (std::size_t changes = 1 + draw_.below(3); changes > 0; --changes) change_once(bytes, other);
    }

private:
    void change_once(std::string& bytes, const std::string& other) {
        if (bytes.empty()) bytes = other;
        const std::size_t at = draw_.below(bytes.size() + 1), left = bytes.size() - at;
        const std::size_t length = draw_.below(std::min<std::size_t>(left, 24) + 1);
        switch (draw_.below(10)) {
            case 0: bytes.resize(at); break;
            case 1: bytes.erase(at, length); break;
            case 2: bytes.insert(at, bytes, at, length); break;
            case 3: bytes.insert(at, draw_.below(16), static_cast<char>(draw_.next())); break;
            case 4:
                if (!other.empty()) bytes.replace(at, length, other, draw_.below(other.size()), 24);
                break;
            case 5:
            case 6:
                if (left > 0) bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw_.below(8)));
                break;
            case 7:
                if (left > 0) bytes[at] = "\x00\x01\x0a\x40\x7f\x80\xfe\xff"[draw_.below(8)];
                break;
            default:
                if (left >= 4) put_number(bytes, at);
        }
    }

    /// Byte counts, counts and references stand anywhere: numbers near what is there, and at the limits.
    void put_number(std::string& bytes, std::size_t at) {
        std::uint32_t number = 0;
        for (std::size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
        const auto near = static_cast<std::uint32_t>(draw_.below(9)) - 4;
        switch (draw_.below(8)) {
            case 0: number += near; break;
            case 1: number = 0x40000000 | static_cast<std::uint32_t>(draw_.below(bytes.size() + 8)); break;
            case 2: number = 0x80000000 | static_cast<std::uint32_t>(draw_.below(bytes.size() + 8)); break;
            case 3: number = static_cast<std::uint32_t>(draw_.below(bytes.size() + 8)); break;
            case 4: number = 0xffffffff; break;
            case 5: number = 0x7fffffff + near; break;
            case 6: number = 0x3fffffff + near; break;
            default: number = 1U << draw_.below(32);
        }
        for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(number >> (24 - 8 * i));
    }

    Draw draw_;
};

class Campaign {
public:
    explicit Campaign(std::uint64_t seed) : draw_(seed), mutator_(seed + 1) {}

    /// Sound buffers to begin with: both ways, both forms.
    void add(const Record& record) {
        if (record.bytes.size() <= 3000) sound_.push_back(record);
    }

    /// 0, or 1 when something that must hold did not.
    int run(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count; ++i) {
            const Record& begin = sound_[draw_.below(sound_.size())];
            std::string bytes = begin.bytes;
            mutator_.change(bytes, sound_[draw_.below(sound_.size())].bytes);
            Record record{begin.class_index, begin.way, begin.seed, std::move(bytes)};
            if (draw_.below(32) == 0) record.way.any = !record.way.any;
            const bool skip = draw_.below(2) == 0;
            const std::string problem = check(record, skip);
            if (problem.empty()) continue;
            if (++wrong_ > 10) break;
            std::printf("class %u, %s, after %llu: %s\n  %s\n", record.class_index, skip ? "skipping" : "strict",
                        static_cast<unsigned long long>(i), problem.c_str(), hex(record.bytes).c_str());
        }
        std::printf("%llu mutated buffers: %llu accepted, %llu rejected", static_cast<unsigned long long>(count),
                    static_cast<unsigned long long>(accepted_), static_cast<unsigned long long>(rejected_));
        std::printf(" (%llu corrupt, %llu truncated, %llu unsupported, %llu limit)\n",
                    static_cast<unsigned long long>(codes_[0]), static_cast<unsigned long long>(codes_[1]),
                    static_cast<unsigned long long>(codes_[2]), static_cast<unsigned long long>(codes_[3]));
        return wrong_ == 0 ? 0 : 1;
    }

private:
    using Reader = weir::serial::Reader;

    std::string check(const Record& record, bool skip) {
        const std::size_t size = record.bytes.size();
        const auto exact = std::make_unique<std::byte[]>(size);  // one byte too far is seen
        std::memcpy(exact.get(), record.bytes.data(), size);
        largest_allocation = 0;
        Reader reader({exact.get(), size},
                      {.unknown = skip ? weir::serial::Unknown::skip : weir::serial::Unknown::error});
        std::string problem;
        if (record.class_index == sequence_class) {
            problem = read_sequence(reader, record.seed);
        } else {
            std::uint32_t index = 0;
            for_each_class([&](auto type, const char*) {
                if (index++ == record.class_index)
                    problem = read_one<typename decltype(type)::type>(reader, record.way);
            });
        }
        if (!problem.empty()) return problem;
        // The dearest: elements of several hundred bytes in memory that are some tens on the wire.
        if (largest_allocation > 64 * size + 4096)
            return "one allocation of " + std::to_string(largest_allocation) + " bytes for a buffer of " +
                   std::to_string(size);
        return "";
    }

    template <class T>
    std::string read_one(Reader& reader, Way way) {
        if (way.any) {
            auto object = reader.template read_any<T>();
            if (!object) return count(object.error());
            ++accepted_;
            return *object ? again(**object, way) : "";
        }
        T object{};
        if (const auto ok = reader.stream(object); !ok) return count(ok.error());
        ++accepted_;
        return again(object, way);
    }

    std::string read_sequence(Reader& reader, std::uint64_t seed) {
        std::vector<std::shared_ptr<void>> owned;
        for (const Operation& operation : Sequence(seed).operations) {
            weir::Result<> ok;
            with_sequence_type(operation.type, [&](auto type, const char*) {
                using T = typename decltype(type)::type;
                if (operation.kind == Operation::stream) {
                    T object{};
                    ok = reader.stream(object);
                } else if (auto object = reader.template read_any<T>()) {
                    owned.push_back(std::move(*object));
                } else {
                    ok = std::unexpected(object.error());
                }
            });
            if (!ok) return count(ok.error());
        }
        ++accepted_;
        return "";
    }

    std::string count(const weir::Error& error) {
        ++rejected_;
        const weir::Errc codes[] = {weir::Errc::corrupt, weir::Errc::truncated, weir::Errc::unsupported,
                                    weir::Errc::limit};
        for (std::size_t i = 0; i < 4; ++i) {
            if (error.code != codes[i]) continue;
            ++codes_[i];
            return error.context.find("offset") == std::string::npos ? "an error without an offset: " + error.context
                                                                     : "";
        }
        return "an error of another kind: " + error.context;
    }

    /// What was accepted is written, read and written once more: the second bytes are the first.
    template <class T>
    std::string again(const T& object, Way way) {
        const std::size_t largest = largest_allocation;
        const weir::serial::WriterOptions options{.mode = way.member_wise ? weir::serial::Mode::member_wise
                                                                          : weir::serial::Mode::object_wise};
        weir::serial::Writer first(options), second(options);
        T read{};
        if (const auto ok = first.stream(object); !ok) return "not written: " + ok.error().context;
        Reader reader(first.data());
        if (const auto ok = reader.stream(read); !ok) return "not read again: " + ok.error().context;
        if (!reader.at_end()) return "not all is read again";
        if (const auto ok = second.stream(read); !ok) return "not written again: " + ok.error().context;
        largest_allocation = largest;
        const bool same = first.data().size() == second.data().size() &&
                          std::memcmp(first.data().data(), second.data().data(), first.data().size()) == 0;
        return same ? "" : "written again it differs";
    }

    Draw draw_;
    Mutator mutator_;
    std::vector<Record> sound_{};
    std::uint64_t accepted_ = 0, rejected_ = 0, wrong_ = 0, codes_[4] = {};
};
