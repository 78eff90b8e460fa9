// SPDX-License-Identifier: Apache-2.0
#include "root/root_file.hpp"

#include <ctime>

#include "root/root_bytes.hpp"
#include "root/root_classes.hpp"
#include "weir/base/guid.hpp"

namespace weir::monitor {
namespace {

constexpr std::uint32_t file_version = 62400;  // as by ROOT 6.24, of which the versions of the classes are
constexpr std::uint32_t first_key = 100;
constexpr std::uint32_t free_to_the_end = 2'000'000'000;
constexpr std::size_t file_size_most = 1'900'000'000;
constexpr std::size_t kept_for_64_bits = 12;  // of a directory's record
constexpr double not_set = -1111;             // of minimum and maximum

/// Of TDatime: years since 1995, in bits.
std::uint32_t root_time(WallTime time) {
    const auto seconds =
        std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    const auto bits = [](int value, int shift) { return static_cast<std::uint32_t>(value) << shift; };
    return bits(std::max(parts.tm_year - 95, 0), 26) | bits(parts.tm_mon + 1, 22) | bits(parts.tm_mday, 17) |
           bits(parts.tm_hour, 12) | bits(parts.tm_min, 6) | bits(parts.tm_sec, 0);
}

void append_axis(RootBytes& to, std::string_view name, const Axis& axis) {
    const auto bins = axis.bins() == 0 ? 1U : axis.bins();
    to.versioned(10, [&] {
        to.tnamed(name, axis.title);
        to.versioned(4, [&] {  // TAttAxis: ROOT's own defaults
            to.number(std::int32_t{510});
            to.number(std::int16_t{1});
            to.number(std::int16_t{1});
            to.number(std::int16_t{42});
            for (const auto size : {0.005F, 0.035F, 0.03F, 1.0F, 0.035F}) to.real(size);
            to.number(std::int16_t{1});
            to.number(std::int16_t{42});
        });
        to.number(bins);
        to.real(axis.bins() == 0 ? 0.0 : axis.low());
        to.real(axis.bins() == 0 ? 1.0 : axis.high());
        to.array(axis.edges());
        to.number(std::uint64_t{0});  // all bins are shown
        to.number(std::uint16_t{0});
        to.number(std::uint8_t{0});  // no times
        to.text("");
        to.number(std::uint64_t{0});  // neither labels nor changed labels
    });
}

void append_th1(RootBytes& to, const Histogram& h) {
    Axis y = h.y, z;
    (h.two_axes() ? z : y).title = h.value_title;
    to.versioned(8, [&] {
        to.tnamed(h.name, h.title, 0x03000008);
        to.versioned(2, [&] {  // TAttLine, TAttFill, TAttMarker
            for (const auto value : {602, 1, 1}) to.number(static_cast<std::int16_t>(value));
        });
        to.versioned(2, [&] {
            for (const auto value : {0, 1001}) to.number(static_cast<std::int16_t>(value));
        });
        to.versioned(2, [&] {
            for (const auto value : {1, 1}) to.number(static_cast<std::int16_t>(value));
            to.real(1.0F);
        });
        to.number(static_cast<std::uint32_t>(h.cells()));
        append_axis(to, "xaxis", h.x);
        append_axis(to, "yaxis", y);
        append_axis(to, "zaxis", z);
        to.number(std::int16_t{0});
        to.number(std::int16_t{1000});
        for (const auto value : {h.entries, h.sums.w, h.sums.w2, h.sums.wx, h.sums.wx2, not_set, not_set, 0.0})
            to.real(value);
        to.array({});  // contours
        to.array(h.squares);
        to.text("");
        to.versioned(5, [&] {  // a list of functions, empty
            to.tobject();
            to.text("");
            to.number(std::uint32_t{0});
        });
        to.number(std::uint32_t{0});  // no buffer
        to.number(std::uint8_t{0});
        to.number(std::uint32_t{0});  // errors are the square root of the squares
        to.number(std::uint32_t{2});  // statistics as set for all histograms
    });
}

void append_histogram(RootBytes& to, const Histogram& h) {
    if (h.two_axes()) {
        to.versioned(4, [&] {
            to.versioned(5, [&] {
                append_th1(to, h);
                for (const auto value : {1.0, h.sums.wy, h.sums.wy2, h.sums.wxy}) to.real(value);
            });
            to.array(h.contents);
        });
    } else {
        to.versioned(3, [&] {
            append_th1(to, h);
            to.array(h.contents);
        });
    }
}

/// TKey: what stands before a record.
struct RootKey {
    std::string_view class_name, name, title;
    std::uint32_t at = 0, parent = first_key;
    std::uint32_t object_size = 0;
    std::uint32_t time = 0;

    [[nodiscard]] std::uint32_t size() const {
        std::size_t size = 26;
        for (const auto text : {class_name, name, title}) size += text.size() + (text.size() < 255 ? 1 : 5);
        return static_cast<std::uint32_t>(size);
    }
    [[nodiscard]] std::uint32_t whole() const { return size() + object_size; }
    void append(RootBytes& to) const {
        to.number(whole());
        to.number(std::uint16_t{4});
        to.number(object_size);
        to.number(time);
        to.number(static_cast<std::uint16_t>(size()));
        to.number(std::uint16_t{1});  // cycle
        to.number(at);
        to.number(parent);
        for (const auto text : {class_name, name, title}) to.text(text);
    }
};

class RootFile {
public:
    RootFile(std::string_view name, WallTime now) : name_(name), time_(root_time(now)), id_(Guid::random()) {
        for (std::uint32_t i = 0; i < first_key; ++i) out_.number(std::uint8_t{0});
        const auto title_size = name_.size() + (name_.size() < 255 ? 1 : 5) + 1;
        auto key = key_of("TFile", name_, "");
        key.parent = 0;
        key.object_size = static_cast<std::uint32_t>(title_size + 30 + 18 + kept_for_64_bits);
        names_size_ = static_cast<std::uint32_t>(key.size() + title_size);
        key.append(out_);
        out_.text(name_);
        out_.text("");
        out_.number(std::uint16_t{5});
        out_.number(time_);
        out_.number(time_);
        keys_size_at_ = out_.size();
        out_.number(std::uint32_t{0});
        out_.number(names_size_);
        out_.number(first_key);
        out_.number(std::uint32_t{0});
        keys_at_ = out_.size();
        out_.number(std::uint32_t{0});
        append_id(out_);
        for (std::size_t i = 0; i < kept_for_64_bits; ++i) out_.number(std::uint8_t{0});
    }

    void add(const Histogram& histogram) {
        RootBytes object;
        append_histogram(object, histogram);
        auto key = key_of(histogram.two_axes() ? "TH2D" : "TH1D", histogram.name, histogram.title);
        append(key, object);
        keys_.push_back(key);
    }

    std::vector<std::byte> finish() {
        RootBytes keys;
        keys.number(static_cast<std::uint32_t>(keys_.size()));
        for (const auto& key : keys_) key.append(keys);
        auto of_keys = key_of("TFile", name_, "");
        append(of_keys, keys);
        out_.overwrite(keys_size_at_, of_keys.whole());
        out_.overwrite(keys_at_, of_keys.at);

        RootBytes classes;
        append_root_classes(classes);
        auto of_classes = key_of("TList", "StreamerInfo", "Doubly linked list");
        append(of_classes, classes);

        RootBytes rest;  // from the end of the file on nothing is used
        auto of_rest = key_of("TFile", name_, "");
        const auto end = of_rest.at + of_rest.size() + 10;
        rest.number(std::uint16_t{1});
        rest.number(end);
        rest.number(free_to_the_end);
        append(of_rest, rest);

        RootBytes head;
        head.bytes(as_data("root"));
        for (const auto value : {file_version, first_key, end, of_rest.at, of_rest.whole(), 1U, names_size_})
            head.number(value);
        head.number(std::uint8_t{4});   // bytes of a position
        head.number(std::uint32_t{0});  // not compressed
        head.number(of_classes.at);
        head.number(of_classes.whole());
        append_id(head);
        std::vector<std::byte> bytes(out_.data().begin(), out_.data().end());
        std::ranges::copy(head.data(), bytes.begin());
        return bytes;
    }

    [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }

private:
    RootKey key_of(std::string_view class_name, std::string_view name, std::string_view title) const {
        return {class_name, name, title, static_cast<std::uint32_t>(out_.size()), first_key, 0, time_};
    }
    void append(RootKey& key, const RootBytes& object) {
        key.object_size = static_cast<std::uint32_t>(object.size());
        key.append(out_);
        out_.bytes(object.data());
    }
    void append_id(RootBytes& to) const {
        to.number(std::uint16_t{1});
        to.bytes(std::as_bytes(std::span(id_.bytes)));
    }

    const std::string_view name_;
    const std::uint32_t time_;
    const Guid id_;
    RootBytes out_;
    std::uint32_t names_size_ = 0;
    std::size_t keys_size_at_ = 0, keys_at_ = 0;
    std::vector<RootKey> keys_;
};

}  // namespace

Result<std::vector<std::byte>> root_file_of(std::string_view name, std::span<const Histogram* const> histograms,
                                            WallTime now) {
    RootFile file(name, now);
    for (const auto* histogram : histograms) {
        const auto size = (histogram->contents.size() + histogram->squares.size()) * sizeof(double);
        if (file.size() + size > file_size_most) return fail(Errc::limit, "a ROOT file of more than 1.9 GB");
        file.add(*histogram);
    }
    return file.finish();
}

}  // namespace weir::monitor
