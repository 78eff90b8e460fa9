// SPDX-License-Identifier: Apache-2.0
// What only a server can do to a catalogue: go away, come back, hang, belong to another program.
#include <gmock/gmock.h>

#include "catalogue_fixture.hpp"
#include "opening.hpp"

namespace weir::catalogue {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Postgres : public CatalogueTest {
protected:
    /// Ends every connection to the server but the one that calls this.
    static void cut_connections() {
        ASSERT_TRUE(
            the_cluster().sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                              "AND application_name = 'weir'"));
    }
};

TEST_F(Postgres, AConnectionThatWasLostIsMadeAnewByTheNextCall) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(1)).has_value());
    cut_connections();
    EXPECT_EQ(catalogue->runs().value().size(), 1U);
    cut_connections();
    EXPECT_TRUE(catalogue->open_run(start(2)).has_value());
}

TEST_F(Postgres, AServerThatIsAwayIsAnErrorAndItsReturnIsNoticed) {
    auto catalogue = open();
    ASSERT_TRUE(catalogue->open_run(start(1)).has_value());
    the_cluster().stop_at_once();
    const auto away = catalogue->open_run(start(2));
    const auto not_opened = try_to_open();
    ASSERT_TRUE(the_cluster().start_again());
    ASSERT_FALSE(away.has_value());
    EXPECT_EQ(away.error().code, Errc::io);
    EXPECT_THAT(away.error().context, HasSubstr("cannot be reached"));
    EXPECT_FALSE(not_opened.has_value());
    EXPECT_EQ(catalogue->open_run(start(2)).value(), RunOpening::fresh);
    EXPECT_EQ(catalogue->runs().value().size(), 2U);
}

TEST_F(Postgres, AConnectionLostInAChangeDoesTheChangeOnce) {
    auto opened = open_postgres(uri_, {});
    ASSERT_TRUE(opened.has_value());
    auto& catalogue = **opened;
    ASSERT_TRUE(catalogue.open_run(start(17)).has_value());
    int runs = 0;
    const auto added = catalogue.change([&]() -> Result<> {
        WEIR_TRY(catalogue.add_to_ledger(ledger_of(17, 2, 2)));
        if (++runs == 1) cut_connections();
        return catalogue.add_to_ledger(ledger_of(17, 1, 1));
    });
    ASSERT_TRUE(added.has_value()) << added.error().message();
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(catalogue.ledgers(RunNumber{17}).value(), std::vector{ledger_of(17, 3, 3)});
}

TEST_F(Postgres, ACommitWhoseAnswerWasLostIsAskedForAndNotMadeTwice) {
    auto opened = open_postgres(uri_, {});
    ASSERT_TRUE(opened.has_value());
    auto& catalogue = **opened;
    ASSERT_TRUE(catalogue.open_run(start(17)).has_value());
    int runs = 0;
    const auto added = catalogue.change([&]() -> Result<> {
        WEIR_TRY(catalogue.add_to_ledger(ledger_of(17, 2, 2)));
        if (++runs > 1) return {};
        // The first time the commit happens behind our back, and its answer is the end of the connection.
        auto& database = catalogue.database();
        if (auto kept =
                database.execute("INSERT INTO writers SELECT writer, 2, 0 FROM writers WHERE writer LIKE 'handle %' "
                                 "ON CONFLICT (writer) DO UPDATE SET change = excluded.change");
            !kept)
            return std::unexpected(kept.error());
        WEIR_TRY(database.script("COMMIT"));
        cut_connections();
        return {};
    });
    ASSERT_TRUE(added.has_value()) << added.error().message();
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(catalogue.ledgers(RunNumber{17}).value(), std::vector{ledger_of(17, 2, 2)});
}

TEST_F(Postgres, AChangeWithANameIsMadeOnceHoweverOftenItIsAskedFor) {
    auto opened = open_postgres(uri_, {});
    ASSERT_TRUE(opened.has_value());
    auto& catalogue = **opened;
    ASSERT_TRUE(catalogue.open_run(start(17)).has_value());
    const auto add = [&](std::uint64_t change) {
        return catalogue.once({"a recorder", change}, [&] { return catalogue.add_to_ledger(ledger_of(17, 1, 1)); });
    };
    for (const std::uint64_t change : {1U, 1U, 2U, 1U, 2U, 5U, 4U}) ASSERT_TRUE(add(change).has_value());
    EXPECT_EQ(catalogue.ledgers(RunNumber{17}).value(), std::vector{ledger_of(17, 3, 3)});
}

TEST_F(Postgres, AProgramThatHoldsTheLockTooLongIsAnErrorThatNamesIt) {
    auto holder = open_postgres(uri_, {});
    ASSERT_TRUE(holder.has_value());
    PostgresCatalogueOptions impatient;
    impatient.answer_timeout = std::chrono::milliseconds{4000};
    auto other = open_postgres_catalogue(uri_, impatient);
    ASSERT_TRUE(other.has_value());
    const auto held = (*holder)->change([&]() -> Result<> {
        const auto opened = (*other)->open_run(start(1));
        EXPECT_FALSE(opened.has_value());
        if (!opened) {
            EXPECT_EQ(opened.error().os_errno, EBUSY);
            EXPECT_THAT(opened.error().context, HasSubstr("locked by another process"));
        }
        EXPECT_TRUE((*other)->runs().has_value());  // readers do not wait
        return {};
    });
    EXPECT_TRUE(held.has_value());
    EXPECT_TRUE((*other)->open_run(start(1)).has_value());
}

TEST_F(Postgres, AProcessThatIsStoppedInATransactionLosesItsLock) {
    PostgresCatalogueOptions impatient;
    impatient.answer_timeout = std::chrono::milliseconds{4000};
    auto holder = open_postgres(uri_, impatient);
    ASSERT_TRUE(holder.has_value());
    auto other = open();  // waits longer than the holder may hold it
    int runs = 0;
    const auto held = (*holder)->change([&]() -> Result<> {
        if (++runs == 1) {
            EXPECT_TRUE(other->open_run(start(1)).has_value());
        }
        return (*holder)->set_run_parameter(RunNumber{1}, "a", "b");
    });
    EXPECT_TRUE(held.has_value());
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(other->run_parameters(RunNumber{1}).value().size(), 1U);
}

TEST_F(Postgres, ATextThatIsNotUtf8IsRefusedWithTheReason) {
    auto catalogue = open();
    const auto opened = catalogue->open_run(start(1, "\xff\xfe"));
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Errc::usage);
    EXPECT_THAT(opened.error().context, HasSubstr("not UTF-8"));
}

TEST_F(Postgres, ADatabaseOfSomebodyElseIsNotTouched) {
    const auto schema = the_cluster().new_schema();
    ASSERT_TRUE(the_cluster().sql("CREATE TABLE " + schema + ".runs (theirs TEXT)"));
    const auto opened = open_postgres_catalogue(the_cluster().uri(schema));
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, Errc::corrupt);
    EXPECT_TRUE(the_cluster().sql("INSERT INTO " + schema + ".runs VALUES ('still there')"));
}

TEST_F(Postgres, AnotherVersionIsRefusedAndNothingIsMadeForAReader) {
    PostgresCatalogueOptions reader;
    reader.create = false;
    EXPECT_EQ(code_of(open_postgres_catalogue(uri_, reader)), Errc::io);
    const auto schema = the_cluster().new_schema();
    const auto uri = the_cluster().uri(schema);
    ASSERT_TRUE(open_postgres_catalogue(uri).has_value());
    ASSERT_TRUE(the_cluster().sql("UPDATE " + schema + ".weir_catalogue SET version = 99"));
    const auto newer = open_postgres_catalogue(uri, reader);
    ASSERT_FALSE(newer.has_value());
    EXPECT_EQ(newer.error().code, Errc::unsupported);
    EXPECT_THAT(newer.error().context, HasSubstr("newer program"));
}

TEST_F(Postgres, NoMessageRepeatsAPassword) {
    for (const char* uri :
         {"postgresql://me:secret@127.0.0.1:1/x?connect_timeout=2", "postgresql://me:secret@h:p:q/x",
          "postgresql://me@127.0.0.1:1/x?password=secret&connect_timeout=2", "postgresql://u:se@cret@127.0.0.1:1/x"}) {
        const auto opened = open_postgres_catalogue(uri);
        ASSERT_FALSE(opened.has_value()) << uri;
        EXPECT_THAT(opened.error().message(), AllOf(Not(HasSubstr("secret")), Not(HasSubstr("se@cret")))) << uri;
    }
    EXPECT_EQ(code_of(open_postgres_catalogue("/some/path")), Errc::usage);
}

}  // namespace
}  // namespace weir::catalogue
