// SPDX-License-Identifier: Apache-2.0
// A command of an engine: what it gives, what it is given, and how it ends.
#include "engines_fixture.hpp"

namespace weir::control {
namespace {

using testing::HasSubstr;

class EngineCommandTest : public EnginesTest {};

TEST_F(EngineCommandTest, ACommandGivesWhatItPrintsOrTheLastLineOfItsComplaint) {
    EXPECT_EQ(*run({"cat"}, "a line\n"), "a line\n");
    EXPECT_EQ(run({"sh", "-c", "echo first >&2; echo the last >&2; exit 3"}).error().message(), "sh: the last");
    EXPECT_EQ(run({"sh", "-c", "exit 3"}).error().message(), "sh: ended with code 3");
    EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}).error().message(), "sh: was killed by signal 9");
    EXPECT_THAT(run({"weir-has-no-such-program"}).error().message(),
                HasSubstr("cannot start weir-has-no-such-program"));
    EXPECT_EQ(run({"sh", "-c", "head -c 1000000 /dev/zero; echo end"})->size(), std::size_t{16} << 10)
        << "it is bounded";
}

TEST_F(EngineCommandTest, ACommandThatHangsIsKilledWithWhatItStarted) {
    const auto end = run({"sh", "-c", "sleep 1000 & echo $!; wait"}, {}, 50ms);
    EXPECT_EQ(end.error().message(), "sh did not end within 50ms");
}

TEST_F(EngineCommandTest, TheEnvironmentOfAJobHasNoSecretsOfThisProcess) {
    ::setenv("WEIR_TEST_SECRET", "secret", 1);
    ::setenv("SLURM_TEST", "kept", 1);
    auto narrow = EngineCommand::start({"env"}, {}, Environment::narrow, engine_patience, system_clock());
    ASSERT_TRUE(narrow);
    const auto shown = *awaited([&] { return narrow->ended(); });
    ::unsetenv("SLURM_TEST");
    ::unsetenv("WEIR_TEST_SECRET");
    EXPECT_THAT(*shown,
                testing::AllOf(HasSubstr("PATH="), HasSubstr("SLURM_TEST=kept"), testing::Not(HasSubstr("secret"))));
}

TEST_F(EngineCommandTest, AWordForAShellIsThatWord) {
    for (const std::string word : {"a b", "it's", "$(date)", "`date`", "a\nb", "\"", "\\", "*", "", "''"})
        EXPECT_EQ(*run({"sh", "-c", "printf %s " + shell_word(word)}), word);
}

}  // namespace
}  // namespace weir::control
