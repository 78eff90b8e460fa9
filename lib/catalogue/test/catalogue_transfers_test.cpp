// SPDX-License-Identifier: Apache-2.0
#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

class CatalogueTransfers : public CatalogueTest {
protected:
    CatalogueTransfers() : catalogue_(open()) { EXPECT_TRUE(catalogue_->open_run(start(17)).has_value()); }

    FileRow closed_file(std::uint32_t sequence = 1) {
        const auto file = file_of(17, sequence);
        EXPECT_TRUE(catalogue_->file_opened(file).has_value());
        EXPECT_TRUE(catalogue_->file_closed(close_of(file)).has_value());
        return file;
    }

    static TransferRow transfer_of(const FileRow& file, std::string destination = "eos") {
        TransferRow row;
        row.guid = file.guid;
        row.destination = std::move(destination);
        row.state = CopyState::copying;
        row.attempts = 1;
        row.url = "root://eos//raw/f";
        row.first_try = row.changed = time_of(5);
        return row;
    }

    std::unique_ptr<Catalogue> catalogue_;
};

TEST_F(CatalogueTransfers, ARowIsReadBackAsItWasWrittenAndReplacedByTheNext) {
    const auto file = closed_file();
    auto row = transfer_of(file);
    ASSERT_TRUE(catalogue_->set_transfer(row).has_value());
    EXPECT_EQ(open()->transfers().value(), std::vector{row});
    row.state = CopyState::failed;
    row.next_try = time_of(60);
    row.error = "cannot write: no space left";
    ASSERT_TRUE(catalogue_->set_transfer(row).has_value());
    EXPECT_EQ(open()->transfers().value(), std::vector{row});
}

TEST_F(CatalogueTransfers, ADestinationsSumIsKeptInItsNormalForm) {
    auto row = transfer_of(closed_file());
    row.state = CopyState::transferred;
    row.algorithm = "adler32";
    row.checksum = "ABC";
    row.bytes = 4'000'000'000;
    row.verified = time_of(9);
    ASSERT_TRUE(catalogue_->set_transfer(row).has_value());
    row.checksum = "00000abc";
    EXPECT_EQ(catalogue_->transfers().value(), std::vector{row});
}

TEST_F(CatalogueTransfers, ASumThatIsNoneIsRefused) {
    auto row = transfer_of(closed_file());
    row.checksum = "abc";
    EXPECT_EQ(code_of(catalogue_->set_transfer(row)), Errc::usage);  // of what?
    row.algorithm = "adler32";
    row.checksum = "not hex";
    EXPECT_EQ(code_of(catalogue_->set_transfer(row)), Errc::usage);
    EXPECT_TRUE(catalogue_->transfers().value().empty());
}

TEST_F(CatalogueTransfers, TransferredIsFinal) {
    auto row = transfer_of(closed_file());
    row.state = CopyState::transferred;
    ASSERT_TRUE(catalogue_->set_transfer(row).has_value());
    ASSERT_TRUE(catalogue_->set_transfer(row).has_value());
    for (const auto state : {CopyState::pending, CopyState::copying, CopyState::unverified, CopyState::failed}) {
        auto other = row;
        other.state = state;
        EXPECT_EQ(code_of(catalogue_->set_transfer(other)), Errc::refused) << name(state);
    }
    EXPECT_EQ(catalogue_->transfers().value(), std::vector{row});
}

TEST_F(CatalogueTransfers, AFileThatIsUnknownOrStillOpenIsRefused) {
    auto open_file = file_of(17);
    EXPECT_EQ(code_of(catalogue_->set_transfer(transfer_of(open_file))), Errc::refused);
    ASSERT_TRUE(catalogue_->file_opened(open_file).has_value());
    EXPECT_EQ(code_of(catalogue_->set_transfer(transfer_of(open_file))), Errc::refused);
}

TEST_F(CatalogueTransfers, WhatIsAskedForMustMatch) {
    const auto one = transfer_of(closed_file(1));
    auto two = transfer_of(closed_file(2), "tape");
    two.state = CopyState::unverified;
    ASSERT_TRUE(catalogue_->set_transfer(one).has_value());
    ASSERT_TRUE(catalogue_->set_transfer(two).has_value());
    EXPECT_EQ(catalogue_->transfers({.guid = one.guid}).value(), std::vector{one});
    EXPECT_EQ(catalogue_->transfers({.destination = "tape"}).value(), std::vector{two});
    EXPECT_EQ(catalogue_->transfers({.state = CopyState::copying}).value(), std::vector{one});
    EXPECT_TRUE(catalogue_->transfers({.guid = one.guid, .destination = "tape"}).value().empty());
}

TEST_F(CatalogueTransfers, RowsStayWhenTheRowOfTheirFileIsWrittenAnew) {
    const auto file = closed_file();
    ASSERT_TRUE(catalogue_->set_transfer(transfer_of(file)).has_value());
    ASSERT_TRUE(catalogue_->put_file(catalogue_->file(file.guid).value().value()).has_value());
    EXPECT_EQ(catalogue_->transfers().value(), std::vector{transfer_of(file)});
    EXPECT_TRUE(catalogue_->check().has_value());
}

TEST_F(CatalogueTransfers, WhatIsTransferredOrTruncatedStaysSoWhenItsRowIsRebuiltFromTheFile) {
    const auto file = closed_file();
    const auto found = catalogue_->file(file.guid).value().value();
    ASSERT_TRUE(catalogue_->set_file_health(file.guid, FileHealth::truncated).has_value());
    ASSERT_TRUE(catalogue_->file_transferred(file.guid).has_value());
    ASSERT_TRUE(catalogue_->put_file(found).has_value());
    const auto row = catalogue_->file(file.guid).value().value();
    EXPECT_EQ(row.transfer_state, TransferState::transferred);
    EXPECT_EQ(row.file_health, FileHealth::truncated);
    auto other = found;  // another file under that GUID: nothing is known of it
    other.bytes += 1;
    ASSERT_TRUE(catalogue_->put_file(other).has_value());
    EXPECT_EQ(catalogue_->file(file.guid).value()->transfer_state, TransferState::on_disk);
}

}  // namespace
}  // namespace weir::catalogue
