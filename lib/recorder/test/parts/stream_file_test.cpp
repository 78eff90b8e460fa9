// SPDX-License-Identifier: Apache-2.0
#include "volume/stream_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "answers.hpp"
#include "disk/disk_watch.hpp"
#include "volume/volume.hpp"
#include "weir/datafile/directory_lock.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recorder/block_writer.hpp"
#include "weir/recorder/segment_pool.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recorder {
namespace {

class StreamFileTest : public testing::RecordingFixture {
protected:
    static constexpr std::uint64_t start_size = 200, end_size = 40;

    std::shared_ptr<StreamFile> create(std::size_t size = start_size) {
        datafile::FileOpened opened;
        opened.guid = Guid::random();
        opened.start.assign(size, std::byte{1});
        auto file = File::open(directory_ / "x.writing", File::Mode::create_new).value();
        return std::make_shared<StreamFile>(opened, std::move(file), false, true, pool_, *writer_, watch_, settlement_,
                                            clock_.now());
    }

    void put_event(StreamFile& file, std::uint64_t length) {
        CopyRequest request;
        request.length = length;
        request.ticket = std::make_shared<Ticket>();
        Place place;
        ASSERT_TRUE(file.assign(request, place));
        for (auto piece : place.pieces) std::ranges::fill(piece, std::byte{2});
        file.complete(place, {});
    }

    SegmentPool pool_{64_KiB, 8_KiB};
    std::unique_ptr<BlockWriter> writer_ = make_thread_writer(1);
    DiskWatch watch_{real_file_system(), clock_};
    OperatorReports reports_{{}};
    Answers answers_;
    Settlement settlement_{{}, answers_, reports_};
};

TEST_F(StreamFileTest, AFileThatEndsOnTheBoundaryOfABlockIsDurableThoughThePoolIsEmpty) {
    const auto file = create();
    put_event(*file, pool_.segment_size() - start_size - event::separator_size_bytes - end_size);
    std::vector<std::byte*> taken;
    ASSERT_TRUE(pool_.try_take(pool_.free_count(), taken));
    const auto closed = file->finish([](auto, auto) { return std::vector(end_size, std::byte{3}); });
    ASSERT_TRUE(closed.has_value());
    ASSERT_EQ(closed->size, pool_.segment_size());
    file->wait_quiet();  // its only block is written and back in the pool
    while (pool_.free_count() > 0) ASSERT_TRUE(pool_.try_take(1, taken));
    const auto flush = file->flush();
    EXPECT_TRUE(flush.has_value());
    if (flush) {
        EXPECT_TRUE(file->wait_written(flush->target).has_value());
        std::vector<PlacedCopy> durable;
        EXPECT_TRUE(file->made_durable(*flush, durable));
        EXPECT_EQ(durable.size(), 1U);
        EXPECT_EQ(file->durable().size, closed->size);
    }
    for (auto* segment : taken) pool_.release(segment);
}

TEST_F(StreamFileTest, TheLongestStartIsWrittenWhole) {
    const auto file = create(StreamFile::start_size_max);
    put_event(*file, 5000);
    const auto closed = file->finish([](auto, auto) { return std::vector(end_size, std::byte{3}); });
    ASSERT_TRUE(closed.has_value());
    const auto flush = file->flush();
    ASSERT_TRUE(flush.has_value());
    ASSERT_TRUE(file->wait_written(flush->target).has_value());
    const auto bytes = datafile::read_records(directory_ / "x.writing").value();
    ASSERT_GE(bytes.size(), closed->size);
    EXPECT_EQ(std::ranges::count(ConstData(bytes).first(StreamFile::start_size_max), std::byte{1}),
              static_cast<std::ptrdiff_t>(StreamFile::start_size_max));
    std::vector<PlacedCopy> durable;
    ASSERT_TRUE(file->made_durable(*flush, durable));
}

TEST_F(StreamFileTest, AVolumeRefusesAStartThatIsLongerAndGoesOn) {
    auto lock = datafile::DirectoryLock::take(directory_).value();
    Volume::Callbacks callbacks;
    callbacks.changed = [] {};
    const auto volume =
        Volume::open({.directory = directory_}, std::move(lock), pool_, settlement_, reports_, callbacks, clock_)
            .value();
    datafile::FileOpened opened;
    opened.guid = Guid::random();
    opened.name = "x";
    opened.start.assign(StreamFile::start_size_max + 1, std::byte{1});
    const auto refused = volume->create(opened, true);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message().find("its start would have 4096 bytes"), std::string::npos)
        << refused.error().message();
    opened.start.pop_back();
    auto created = volume->create(opened, true);
    ASSERT_TRUE(created.has_value()) << created.error().message();
    volume->discard(*created);
}

}  // namespace
}  // namespace weir::recorder
