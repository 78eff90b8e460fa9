// SPDX-License-Identifier: Apache-2.0
// Ours and zlib side by side in one process: each is loaded for itself, so that neither answers for the other.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace {

using uLong = unsigned long;

class Library {
public:
    explicit Library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) throw std::runtime_error(dlerror());
    }

    template <class Function>
    Function* function(const char* name) const {
        void* const address = dlsym(handle_, name);
        if (address == nullptr) throw std::runtime_error(dlerror());
        return reinterpret_cast<Function*>(address);
    }

private:
    void* handle_;  // never closed: functions are used until the end
};

struct Functions {
    explicit Functions(const Library& library)
        : adler32(library.function<uLong(uLong, const unsigned char*, unsigned)>("adler32")),
          crc32(library.function<uLong(uLong, const unsigned char*, unsigned)>("crc32")),
          adler32_z(library.function<uLong(uLong, const unsigned char*, std::size_t)>("adler32_z")),
          crc32_z(library.function<uLong(uLong, const unsigned char*, std::size_t)>("crc32_z")),
          adler32_combine(library.function<uLong(uLong, uLong, long)>("adler32_combine")),
          adler32_combine64(library.function<uLong(uLong, uLong, long)>("adler32_combine64")),
          crc32_combine(library.function<uLong(uLong, uLong, long)>("crc32_combine")),
          crc32_combine64(library.function<uLong(uLong, uLong, long)>("crc32_combine64")),
          crc32_combine_gen(library.function<uLong(long)>("crc32_combine_gen")),
          crc32_combine_gen64(library.function<uLong(long)>("crc32_combine_gen64")),
          crc32_combine_op(library.function<uLong(uLong, uLong, uLong)>("crc32_combine_op")),
          get_crc_table(library.function<const std::uint32_t*()>("get_crc_table")) {}

    uLong (*adler32)(uLong, const unsigned char*, unsigned);
    uLong (*crc32)(uLong, const unsigned char*, unsigned);
    uLong (*adler32_z)(uLong, const unsigned char*, std::size_t);
    uLong (*crc32_z)(uLong, const unsigned char*, std::size_t);
    uLong (*adler32_combine)(uLong, uLong, long);
    uLong (*adler32_combine64)(uLong, uLong, long);
    uLong (*crc32_combine)(uLong, uLong, long);
    uLong (*crc32_combine64)(uLong, uLong, long);
    uLong (*crc32_combine_gen)(long);
    uLong (*crc32_combine_gen64)(long);
    uLong (*crc32_combine_op)(uLong, uLong, uLong);
    const std::uint32_t* (*get_crc_table)();
};

class ZlibBinding : public testing::Test {
protected:
    const Functions ours{Library(WEIR_ZLIB_LIBRARY)};
    const Functions zlib{Library("libz.so.1")};
    std::mt19937_64 random{20261121};

    std::vector<unsigned char> bytes(std::size_t size) {
        std::vector<unsigned char> data(size);
        for (auto& byte : data) byte = static_cast<unsigned char>(random());
        return data;
    }
    /// Any number a program could pass: ordinary sums, the borders, more than 32 bits.
    uLong value() {
        switch (random() % 4) {
            case 0: return random() % 2;
            case 1: return 0xffffffff - random() % 3;
            case 2: return random();
            default: return random() & 0xffffffff;
        }
    }
};

TEST_F(ZlibBinding, EverySmallLengthAndAlignmentGivesZlibsValue) {
    const auto data = bytes(2000);
    for (std::size_t offset = 0; offset < 64; ++offset) {
        for (std::size_t size = 0; size < 700; ++size) {
            const auto start = value();
            ASSERT_EQ(ours.adler32(start, &data[offset], static_cast<unsigned>(size)),
                      zlib.adler32(start, &data[offset], static_cast<unsigned>(size)))
                << start << ", " << size << " at " << offset;
            ASSERT_EQ(ours.crc32(start, &data[offset], static_cast<unsigned>(size)),
                      zlib.crc32(start, &data[offset], static_cast<unsigned>(size)))
                << start << ", " << size << " at " << offset;
        }
    }
}

TEST_F(ZlibBinding, LongerOnesToo) {
    auto data = bytes(3'000'000);
    std::fill(data.begin() + 1'000'000, data.begin() + 2'000'000, 0xff);  // where an adler32 is reduced too late
    for (int round = 0; round < 200; ++round) {
        const std::size_t offset = random() % 1'500'000;
        const std::size_t size = random() % (data.size() - offset);
        const auto start = value();
        ASSERT_EQ(ours.adler32_z(start, &data[offset], size), zlib.adler32_z(start, &data[offset], size));
        ASSERT_EQ(ours.crc32_z(start, &data[offset], size), zlib.crc32_z(start, &data[offset], size));
    }
}

TEST_F(ZlibBinding, NullAsksForTheInitialValue) {
    for (const uLong start : {0UL, 1UL, 77UL, ~0UL}) {
        EXPECT_EQ(ours.adler32(start, nullptr, 0), zlib.adler32(start, nullptr, 0));
        EXPECT_EQ(ours.adler32_z(start, nullptr, 100), zlib.adler32_z(start, nullptr, 100));
        EXPECT_EQ(ours.crc32(start, nullptr, 0), zlib.crc32(start, nullptr, 0));
        EXPECT_EQ(ours.crc32_z(start, nullptr, 100), zlib.crc32_z(start, nullptr, 100));
    }
}

TEST_F(ZlibBinding, CombinesAreZlibsForAnyValuesAndLengths) {
    for (int round = 0; round < 20000; ++round) {
        const auto a = value(), b = value();
        const auto length = static_cast<long>(random() >> (1 + random() % 63));
        ASSERT_EQ(ours.adler32_combine(a, b, length), zlib.adler32_combine(a, b, length))
            << a << ' ' << b << ' ' << length;
        ASSERT_EQ(ours.adler32_combine64(a, b, length), zlib.adler32_combine64(a, b, length));
        ASSERT_EQ(ours.crc32_combine(a, b, length), zlib.crc32_combine(a, b, length)) << a << ' ' << b << ' ' << length;
        ASSERT_EQ(ours.crc32_combine64(a, b, length), zlib.crc32_combine64(a, b, length));
    }
    EXPECT_EQ(ours.adler32_combine(1, 1, -1), zlib.adler32_combine(1, 1, -1));
    EXPECT_EQ(ours.adler32_combine64(1, 1, INT64_MIN), zlib.adler32_combine64(1, 1, INT64_MIN));
}

TEST_F(ZlibBinding, ANegativeLengthOfACrcEnds) {  // zlib 1.2.13 does not come back
    EXPECT_EQ(ours.crc32_combine(5, 6, -1), 0U);
    EXPECT_EQ(ours.crc32_combine64(5, 6, INT64_MIN), 0U);
    EXPECT_EQ(ours.crc32_combine_op(5, 6, ours.crc32_combine_gen(-1)), 0U);
}

TEST_F(ZlibBinding, OperatorsPassBetweenTheLibraries) {
    for (int round = 0; round < 5000; ++round) {
        const auto a = value(), b = value();
        const auto length = static_cast<long>(random() >> (1 + random() % 63));
        const auto op = ours.crc32_combine_gen(length);
        ASSERT_EQ(op, zlib.crc32_combine_gen(length)) << length;
        ASSERT_EQ(ours.crc32_combine_gen64(length), op);
        ASSERT_EQ(ours.crc32_combine_op(a, b, op), zlib.crc32_combine_op(a, b, op));
        ASSERT_EQ(ours.crc32_combine_op(a, b, op), zlib.crc32_combine(a, b, length));
    }
}

TEST_F(ZlibBinding, TheTableIsZlibs) {
    EXPECT_TRUE(std::equal(ours.get_crc_table(), ours.get_crc_table() + 256, zlib.get_crc_table()));
}

/// Address space in which one block stands many times: long data that takes little memory.
class Repeated {
public:
    Repeated(const std::vector<unsigned char>& block, std::size_t times) : size_(block.size() * times) {
        const int file = memfd_create("block", MFD_CLOEXEC);
        if (file < 0 || write(file, block.data(), block.size()) != static_cast<ssize_t>(block.size())) return;
        void* const area = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (area == MAP_FAILED) return;
        bytes_ = static_cast<unsigned char*>(area);
        for (std::size_t at = 0; at < size_; at += block.size())
            if (mmap(bytes_ + at, block.size(), PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
                bytes_ = nullptr;
        close(file);
    }
    ~Repeated() {
        if (bytes_ != nullptr) munmap(bytes_, size_);
    }
    Repeated(const Repeated&) = delete;
    Repeated& operator=(const Repeated&) = delete;

    const unsigned char* data() const { return bytes_; }
    std::size_t size() const { return size_; }

private:
    unsigned char* bytes_ = nullptr;
    std::size_t size_;
};

TEST_F(ZlibBinding, LengthsAbove4GibAreWhole) {
    const auto block = bytes(std::size_t{1} << 26);
    const auto block_size = static_cast<long>(block.size());
    const Repeated whole(block, 65);  // 4 GiB and one block
    if (whole.data() == nullptr)
        GTEST_SKIP() << "NOT TESTED: lengths above 4 GiB, for which this process has no address space (ulimit -v)";

    const auto adler_block = zlib.adler32_z(1, block.data(), block.size());
    const auto crc_block = zlib.crc32_z(0, block.data(), block.size());
    uLong adler = 1, crc = 0;
    for (int i = 0; i < 65; ++i) {
        adler = zlib.adler32_combine(adler, adler_block, block_size);
        crc = zlib.crc32_combine(crc, crc_block, block_size);
    }
    EXPECT_EQ(ours.adler32_z(1, whole.data(), whole.size()), adler);
    EXPECT_EQ(ours.crc32_z(0, whole.data(), whole.size()), crc);

    const unsigned cut = 0xffffffff;  // the longest of the old calls
    const auto rest = whole.size() - cut;
    EXPECT_EQ(ours.adler32_z(ours.adler32(1, whole.data(), cut), whole.data() + cut, rest), adler);
    EXPECT_EQ(ours.crc32_z(ours.crc32(0, whole.data(), cut), whole.data() + cut, rest), crc);
}

TEST_F(ZlibBinding, ManyThreadsMayBeginAtOnce) {
    const auto data = bytes(100'000);
    const auto adler = zlib.adler32_z(1, data.data(), data.size());
    const auto crc = zlib.crc32_z(0, data.data(), data.size());
    std::vector<std::jthread> threads;
    std::vector<int> wrong(8);
    for (auto& count : wrong) {
        threads.emplace_back([&] {
            for (int round = 0; round < 100; ++round)
                count += ours.adler32_z(1, data.data(), data.size()) != adler ||
                         ours.crc32_z(0, data.data(), data.size()) != crc;
        });
    }
    threads.clear();
    EXPECT_EQ(std::ranges::count(wrong, 0), 8);
}

}  // namespace
