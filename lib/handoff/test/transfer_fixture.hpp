// SPDX-License-Identifier: Apache-2.0
// Recorded files, and a real directory as their destination; in front of it one that lies as the test wants.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "transfer/deletion.hpp"
#include "transfer/transfer.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/digest/summer.hpp"
#include "weir/handoff/directory_destination.hpp"

namespace weir::handoff {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// Passes everything on, but for the answers that a test sets.
class Liar final : public Destination {
public:
    explicit Liar(std::unique_ptr<Destination> honest) : honest_(std::move(honest)) {}

    std::function<Result<std::optional<std::uint64_t>>(Result<std::optional<std::uint64_t>>)> size;
    std::function<std::optional<std::uint64_t>(const std::string& place)> size_instead;
    std::function<Result<std::optional<digest::Digest>>()> sum;
    std::function<void(const std::string& place)> before_sum;
    std::function<bool(const std::string& place)> remove_fails;
    bool lose_the_answer_of_rename = false;

    const std::string& name() const noexcept override { return honest_->name(); }
    std::string url(const std::string& place) const override { return honest_->url(place); }
    Result<std::unique_ptr<Upload>> begin(const std::string& place, std::uint64_t bytes,
                                          const Patience& patience) override {
        return honest_->begin(place, bytes, patience);
    }
    Result<std::optional<std::uint64_t>> size_of(const std::string& place, const Patience& patience) override {
        if (size_instead) return size_instead(place);
        auto answer = honest_->size_of(place, patience);
        return size && answer && *answer ? size(std::move(answer)) : answer;
    }
    Result<std::optional<digest::Digest>> stored_sum(const std::string& place, digest::Algorithm algorithm,
                                                     const Patience& patience) override {
        if (before_sum) before_sum(url(place));
        if (sum) return sum();
        return honest_->stored_sum(place, algorithm, patience);
    }
    Result<digest::Digest> read_back(const std::string& place, digest::Algorithm algorithm,
                                     const Patience& patience) override {
        return honest_->read_back(place, algorithm, patience);
    }
    Result<> rename_new(const std::string& from, const std::string& to, const Patience& patience) override {
        auto renamed = honest_->rename_new(from, to, patience);
        if (renamed && lose_the_answer_of_rename) return fail(Errc::io, "no answer");
        return renamed;
    }
    Result<> remove(const std::string& place, const Patience& patience) override {
        if (remove_fails && remove_fails(place)) return fail(Errc::io, "cannot remove " + place);
        return honest_->remove(place, patience);
    }

private:
    std::unique_ptr<Destination> honest_;
};

class TransferTest : public ::testing::Test {
protected:
    TransferTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-transfer-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        for (const char* name : {"here", "there"}) fs::create_directory(folder_ / name);
        std::ofstream(folder_ / "here/weir.lock");
        catalogue_ = catalogue::open_sqlite_catalogue(folder_ / "catalogue").value();
        EXPECT_TRUE(catalogue_->open_run({RunNumber{7}, "r", "receipt", "", WallTime{1s}}).has_value());
        destinations_.push_back(std::make_unique<Liar>(directory_destination("disk", folder_ / "there")));
        liar_ = static_cast<Liar*>(destinations_.front().get());
        file_ = record("f.data", std::string(1'500'000, 'x') + "end");
        row_.guid = file_.guid;
        row_.destination = "disk";
    }
    ~TransferTest() override { fs::remove_all(folder_); }

    catalogue::FileRow record(const std::string& name, const std::string& content,
                              const std::vector<weir::catalogue::FileSum>& sums = {}) {
        std::ofstream(folder_ / "here" / name, std::ios::binary) << content;
        catalogue::FileRow file;
        file.guid = Guid::random();
        file.volume = (folder_ / "here").native();
        file.name = name;
        file.run = RunNumber{7};
        file.recorder = "r";
        file.stream_type = "physics";
        file.stream_name = "Main";
        file.format = "raw-6";
        EXPECT_TRUE(catalogue_->file_opened(file).has_value());
        catalogue::FileClose close;
        close.guid = file.guid;
        close.volume = file.volume;
        close.name = name;
        close.bytes = content.size();
        close.sums = sums.empty()
                         ? std::vector<weir::catalogue::FileSum>{{"adler32", digest::sum(digest::Algorithm::adler32,
                                                                                         as_data(content))
                                                                                 .hex()}}
                         : sums;
        close.at = clock_.wall();
        EXPECT_TRUE(catalogue_->file_closed(close).has_value());
        return catalogue_->file(file.guid).value().value();
    }

    TransferResult run(const std::stop_token& stop = {}) {
        Transfer transfer(*catalogue_, *liar_, backoff_, transfer_options_, clock_);
        return transfer.run(file_, file_.name, row_, stop);
    }
    catalogue::TransferRow stored_row() { return catalogue_->transfers({.guid = file_.guid}).value().at(0); }
    std::vector<std::string> there() {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(folder_ / "there"))
            names.push_back(entry.path().filename().native());
        return names;
    }
    Deletion deletion(double used = 99) {
        return {*catalogue_,
                destinations_,
                [](std::size_t, const catalogue::FileRow& file) -> Result<std::string> { return file.name; },
                std::nullopt,
                {.above_percent = 80, .age = 60s},
                1s,
                clock_,
                [used](const std::string&) -> Result<double> { return used; }};
    }
    DeletionOutcome make_room(double used = 99) { return deletion(used).step({}).value(); }
    bool here() { return fs::exists(folder_ / "here/f.data"); }

    fs::path folder_;
    ManualClock clock_;
    std::unique_ptr<catalogue::Catalogue> catalogue_;
    std::vector<std::unique_ptr<Destination>> destinations_;
    Liar* liar_;
    Backoff backoff_{1s, 10s, 1};
    TransferOptions transfer_options_;
    catalogue::FileRow file_;
    catalogue::TransferRow row_;
};

}  // namespace weir::handoff
