// SPDX-License-Identifier: Apache-2.0
// A recorder dies, and its journal is damaged before the recovery: whatever is done to it, no acknowledged event
// is gone unreported. WEIR_DAMAGES=1000 WEIR_SEED=7 tries more of them than the tests do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "weir/base/testing/number_in_environment.hpp"
#include "weir/base/testing/sanitized.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/datafile/testing/journal_damage.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recovery {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t damages_by_default = testing::sanitized ? 60 : 240;
constexpr std::uint64_t rounds = 8;

std::vector<std::byte> bytes_of(const fs::path& path) { return datafile::read_records(path).value(); }

std::size_t count_in(ConstData all, ConstData part) {
    std::size_t count = 0;
    while (!all.empty()) {  // memmem may not be given nothing
        const auto* at = static_cast<const std::byte*>(::memmem(all.data(), all.size(), part.data(), part.size()));
        if (at == nullptr) break;
        ++count;
        all = all.subspan(static_cast<std::size_t>(at - all.data()) + part.size());
    }
    return count;
}

class DamagedJournal : public testing::RecordingFixture {
protected:
    /// The directory of a recorder that died: two streams, each round acknowledged; an older copy of its journal too,
    /// from before the second stream began.
    void SetUp() override {
        options_.direct = recorder::DirectIo::off;
        dead_ = directory_ / "dead";
        options_.directories = {dead_};
        fs::create_directory(dead_);
        const auto recorder = start();
        const auto sender = connect(*recorder);
        std::uint64_t id = 0;
        for (std::uint64_t round = 1; round <= rounds; ++round) {
            for (std::uint64_t n = 1 + round % 3; n > 0; --n) {
                ++id;
                const auto bytes = event(id, 600 + 100 * (id % 4));
                std::vector tags{stream("physics_Main")};
                if (round > rounds / 2 && id % 3 != 0) tags.push_back(stream("express_express"));
                acknowledged_.push_back({bytes, tags.size()});
                ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, tags}, bytes).has_value());
            }
            ASSERT_TRUE(flushed(*sender));
            if (round == rounds / 2) older_ = bytes_of(journal_in(dead_));
        }
    }

    static fs::path journal_in(const fs::path& directory) { return datafile::JournalWriter::path_of(directory, 1); }

    /// One of the open files, with what it held.
    static std::pair<fs::path, std::vector<std::byte>> take_one_away(const fs::path& directory,
                                                                     std::mt19937_64& random) {
        std::vector<fs::path> open;
        for (const auto& entry : fs::directory_iterator(directory)) {
            const auto name = entry.path().filename().native();
            if (name.ends_with(".writing") && !name.ends_with(".index.writing")) open.push_back(entry.path());
        }
        std::ranges::sort(open);
        const auto taken = open.at(random() % open.size());
        auto bytes = bytes_of(taken);
        fs::remove(taken);
        return {taken, std::move(bytes)};
    }

    /// Every acknowledged copy is in a closed file, once; where that is not so, recovery has reported it, and the
    /// bytes are still there, or `taken` away.
    void expect_nothing_lost_in_silence(const fs::path& directory, const RecoveryResult& result,
                                        const std::vector<std::byte>& taken) const {
        std::vector<std::byte> closed, aside = taken;
        for (const auto& entry : fs::directory_iterator(directory)) {
            const auto name = entry.path().filename().native();
            auto* const to = name.ends_with(".data")                                ? &closed
                             : name.contains(".cut-") || name.ends_with(".writing") ? &aside
                                                                                    : nullptr;
            if (to == nullptr) continue;
            const auto bytes = bytes_of(entry.path());
            to->insert(to->end(), bytes.begin(), bytes.end());
        }
        std::size_t missing = 0;
        for (const auto& [bytes, copies] : acknowledged_) {
            const auto found = count_in(closed, bytes);
            EXPECT_LE(found, copies) << "stored more than once";
            if (found >= copies) continue;
            ++missing;
            EXPECT_GE(found + count_in(aside, bytes), copies) << "an acknowledged event is nowhere";
        }
        if (missing > 0) {
            EXPECT_TRUE(reported(result)) << missing << " acknowledged events are in no file, and there is no report";
        }
    }

    static bool reported(const RecoveryResult& result) {
        return !result.failed.empty() || !result.doubts.empty() || !result.vanished.empty() || !result.gone.empty();
    }

    struct Acknowledged {
        std::vector<std::byte> bytes;
        std::size_t copies = 0;
    };
    fs::path dead_;
    std::vector<Acknowledged> acknowledged_;
    std::vector<std::byte> older_;
};

TEST_F(DamagedJournal, OfAnyKindLosesNoAcknowledgedEventInSilence) {
    const auto seed = testing::number_in("WEIR_SEED").value_or(1);
    const auto damages = testing::number_in("WEIR_DAMAGES").value_or(damages_by_default);
    std::uint64_t bad = 0;
    for (auto n = seed; n < seed + damages; ++n) {
        std::mt19937_64 random(n);
        const auto here = directory_ / "here";
        fs::remove_all(here);
        fs::copy(dead_, here);
        auto what = testing::damage_journal(journal_in(here), older_, random);
        const auto also = random() % 4;
        fs::path index_of_taken;
        std::vector<std::byte> taken;
        if (also == 1) {
            const auto [path, bytes] = take_one_away(here, random);
            what += ", and " + path.filename().native() + " is gone";
            taken = bytes;
            index_of_taken = path;
            index_of_taken.replace_extension(".index.writing");
        }
        if (also == 0) {  // as after a power failure: what was not synced is gone too
            what += ", no index either";
            for (const auto& entry : fs::directory_iterator(dead_)) {
                if (entry.path().native().ends_with(".index.writing")) fs::remove(here / entry.path().filename());
            }
        }
        SCOPED_TRACE(fmt::format("WEIR_SEED={}: {}", n, what));
        const auto result = recover_directory(here, clock_);
        ASSERT_TRUE(result.has_value()) << result.error().message();
        const auto before = ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
        expect_nothing_lost_in_silence(here, *result, taken);
        if (!index_of_taken.empty()) {
            EXPECT_TRUE(fs::exists(index_of_taken)) << "without it the senders of these events are unknown";
        }
        if (::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() != before) ++bad;
    }
    EXPECT_EQ(bad, 0U) << "of " << damages << " damages";
}

}  // namespace
}  // namespace weir::recovery
