// SPDX-License-Identifier: Apache-2.0
#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

class CatalogueLedger : public CatalogueTest {
protected:
    CatalogueLedger() : catalogue_(open()) { EXPECT_TRUE(catalogue_->open_run(start(17)).has_value()); }
    std::unique_ptr<Catalogue> catalogue_;
};

TEST_F(CatalogueLedger, AddingSumsUpAndSettingReplaces) {
    ASSERT_TRUE(catalogue_->add_to_ledger(ledger_of(17, 10, 8, {{"malformed", 1}, {"late", 1}})).has_value());
    ASSERT_TRUE(catalogue_->add_to_ledger(ledger_of(17, 5, 4, {{"late", 1}})).has_value());
    EXPECT_EQ(catalogue_->ledgers(RunNumber{17}).value(),
              std::vector<LedgerRow>{ledger_of(17, 15, 12, {{"malformed", 1}, {"late", 2}})});
    ASSERT_TRUE(catalogue_->set_ledger(ledger_of(17, 3, 2, {{"duplicate", 1}})).has_value());
    EXPECT_EQ(catalogue_->ledgers(RunNumber{17}).value(),
              std::vector<LedgerRow>{ledger_of(17, 3, 2, {{"duplicate", 1}})});
}

TEST_F(CatalogueLedger, EachStreamHasItsOwn) {
    auto other = ledger_of(17, 1, 0, {{"too large", 1}});
    other.stream_name = "Delayed";
    ASSERT_TRUE(catalogue_->set_ledger(ledger_of(17, 2, 2)).has_value());
    ASSERT_TRUE(catalogue_->set_ledger(other).has_value());
    EXPECT_EQ(catalogue_->ledgers(RunNumber{17}).value(), (std::vector<LedgerRow>{other, ledger_of(17, 2, 2)}));
}

TEST_F(CatalogueLedger, ACountThatCannotBeKeptIsALimitNotAWrap) {
    EXPECT_EQ(code_of(catalogue_->set_ledger(ledger_of(17, 0x8000'0000'0000'0000, 0))), Errc::limit);
    ASSERT_TRUE(catalogue_->set_ledger(ledger_of(17, 0x7fff'ffff'ffff'ffff, 0)).has_value());
    EXPECT_FALSE(catalogue_->add_to_ledger(ledger_of(17, 1, 1)).has_value());
    EXPECT_EQ(catalogue_->ledgers(RunNumber{17}).value(),
              std::vector<LedgerRow>{ledger_of(17, 0x7fff'ffff'ffff'ffff, 0)});
}

TEST_F(CatalogueLedger, MarksOutliveTheFilesAndAreReplacedBySession) {
    ASSERT_TRUE(catalogue_->set_marks(std::vector{mark_of(17, 0, "1-5"), mark_of(17, 1, "")}).has_value());
    ASSERT_TRUE(catalogue_->set_marks(std::vector{mark_of(17, 0, "1-9,12")}).has_value());
    EXPECT_EQ(open()->marks(RunNumber{17}).value(), (std::vector{mark_of(17, 0, "1-9,12"), mark_of(17, 1, "")}));
    EXPECT_TRUE(catalogue_->marks(RunNumber{18}).value().empty());
}

TEST_F(CatalogueLedger, MarksOfAnUnknownRunAreRefusedTogether) {
    const auto written = catalogue_->set_marks(std::vector{mark_of(17, 0, "1-5"), mark_of(18, 0, "1-5")});
    ASSERT_FALSE(written.has_value());
    EXPECT_EQ(written.error().code, Errc::refused);
    EXPECT_TRUE(catalogue_->marks(RunNumber{17}).value().empty());
}

TEST_F(CatalogueLedger, OverlapsAreSummedOverTheFilesWhicheverOfTwoCountedThem) {
    const auto close = [&](const std::string& name, std::uint32_t sequence, SharedEvents shared) {
        auto file = file_of(17, sequence);
        file.name += name;
        file.stream_type = file.stream_name = name;
        ASSERT_TRUE(catalogue_->file_opened(file).has_value());
        auto closing = close_of(file);
        closing.name = file.name + ".data";
        closing.events = 10 + sequence;
        closing.shared = std::move(shared);
        ASSERT_TRUE(catalogue_->file_closed(closing).has_value());
        ASSERT_TRUE(catalogue_->file_closed(closing).has_value());  // again, which changes nothing
        ASSERT_TRUE(catalogue_->put_file(catalogue_->file(file.guid).value().value()).has_value());  // as by a rebuild
        EXPECT_EQ(catalogue_->shared_events(file.guid).value(), closing.shared);
    };
    close("a", 1, {});
    close("b", 2, {{"a_a", 3}});
    close("b", 3, {{"a_a", 4}, {"c_c", 1}});
    close("c", 4, {{"b_b", 5}});
    const RunNumber run{17};
    EXPECT_EQ(catalogue_->overlaps(run).value(),
              (std::vector<StreamOverlap>{{run, "a_a", "b_b", 11, 25, 7}, {run, "b_b", "c_c", 25, 14, 6}}));
    EXPECT_TRUE(catalogue_->overlaps(RunNumber{18}).value().empty());
}

}  // namespace
}  // namespace weir::catalogue
