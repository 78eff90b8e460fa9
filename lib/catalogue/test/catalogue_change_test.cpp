// SPDX-License-Identifier: Apache-2.0
#include "queued/catalogue_change.hpp"

#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

class CatalogueChanges : public CatalogueTest {
protected:
    /// One of each kind, in their order.
    static std::vector<CatalogueChange> one_of_each() {
        auto file = file_of(17);
        file.sums = {{"adler32", "00000abc"}};
        file.closed = time_of(-1);
        TransferRow transfer;
        transfer.guid = file.guid;
        transfer.destination = "eos";
        transfer.state = CopyState::unverified;
        transfer.next_try = time_of(4);
        auto closing = close_of(file);
        closing.shared = {{"express_express", 0xffff'ffff'ffff'ffff}};
        auto again = start(17);
        again.again = true;
        return {OpenRun{again},
                CloseRun{RunNumber{17}, "recorder-1", time_of(2)},
                PutRun{{RunNumber{17}, "r", OpenState::closed, "receipt", "no sync", time_of(1), time_of(2)}},
                SetRunParameter{RunNumber{17}, "beam", std::string("o'dd \xff\n", 7)},
                CloseBlocks{{RunNumber{17}, "r", 8, {{"physics", "Main", LumiBlock{0xffff'ffff}}}, time_of(3)}},
                FileOpening{file},
                FileClosing{closing, {mark_of(17, 3, "1-9")}, {ledger_of(17, 5, 3, {{"late", 1}, {"malformed", 1}})}},
                FileTransferred{file.guid},
                FileDeleted{file.guid, "/data/2", "name"},
                SetFileHealth{file.guid, FileHealth::quarantined},
                FileMoved{file.guid, "/data/2", "name"},
                RemoveOpenedFile{file.guid},
                PutFile{file, {{"express_express", 2}}},
                SetTransfer{transfer},
                SetMarks{{mark_of(17, 0, ""), mark_of(17, 1, "1-2")}},
                SetLedger{ledger_of(17, 1, 1)},
                AddToLedger{ledger_of(17, 1, 0, {{"late", 1}})}};
    }
};

TEST_F(CatalogueChanges, EachKindIsReadBackAsItWasWritten) {
    const auto changes = one_of_each();
    ASSERT_EQ(changes.size(), std::variant_size_v<CatalogueChange>);
    for (std::size_t kind = 0; kind < changes.size(); ++kind) {
        ASSERT_EQ(changes[kind].index(), kind);
        const auto text = encode(changes[kind]);
        const auto read = decode_change(text);
        ASSERT_TRUE(read.has_value()) << kind << ": " << read.error().message();
        EXPECT_EQ(read->index(), kind);
        EXPECT_EQ(encode(*read), text);
    }
    EXPECT_EQ(std::get<PutFile>(*decode_change(encode(changes[12]))).file, std::get<PutFile>(changes[12]).file);
}

TEST_F(CatalogueChanges, TheBytesAreThoseOfTheDocument) {
    std::string guid;
    for (const char digit : to_string(Guid{})) guid += digit == '-' ? "2d" : "30";
    EXPECT_EQ(encode(RemoveOpenedFile{Guid{}}),
              "0200000000000000"
              "0b00000000000000"
              "2400000000000000" +
                  guid);
}

TEST_F(CatalogueChanges, CutShortAnywhereOrWithMoreBehindItIsCorruptNeverMisread) {
    for (const auto& change : one_of_each()) {
        const auto text = encode(change);
        for (std::size_t size = 16; size < text.size(); ++size)
            ASSERT_EQ(code_of(decode_change(text.substr(0, size))), Errc::corrupt) << change.index() << " at " << size;
        EXPECT_EQ(code_of(decode_change(text + "00")), Errc::corrupt);
    }
}

TEST_F(CatalogueChanges, ADigitThatChangedIsRefusedOrAnotherChangeNeverACrash) {
    for (const auto& change : one_of_each()) {
        const auto text = encode(change);
        for (std::size_t at = 0; at < text.size(); ++at) {
            for (const char digit : {'0', '8', 'f', 'x'}) {
                auto damaged = text;
                damaged[at] = digit;
                if (const auto read = decode_change(damaged)) {
                    EXPECT_EQ(encode(*read), damaged);
                }
            }
        }
    }
    EXPECT_EQ(code_of(decode_change("0100000000000000")), Errc::unsupported);
}

}  // namespace
}  // namespace weir::catalogue
