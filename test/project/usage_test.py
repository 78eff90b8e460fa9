# SPDX-License-Identifier: Apache-2.0
"""What users read when they ask for help, and when they type something wrong."""
import re
import subprocess

import weir_program
from weir_program import ProgramTest, run

COMMANDS = [line.split()[0] for line in run("--help").out.splitlines() if re.match(r"  [a-z]+  ", line)]
LOOKING = ["ls", "show", "cat", "verify", "recover"]


class Help(ProgramTest):
    def test_every_help_fits_a_screen_of_80_columns_and_24_lines_and_the_list_of_commands_40(self):
        for command in [[], *([c] for c in COMMANDS)]:
            with self.subTest(command=command):
                shown = self.assertEnds(run(*command, "--help"), 0)
                self.assertEqual(shown.err, "")
                lines = shown.out.splitlines()
                self.assertLessEqual(len(lines), 24 if command else 40, shown.out)
                for line in lines:
                    self.assertLessEqual(len(line), 80, line)
                    self.assertEqual(line, line.rstrip())

    def test_every_help_begins_with_its_command_and_ends_with_an_example(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                lines = run(command, "--help").out.splitlines()
                self.assertTrue(lines[0].startswith(f"weir {command}: "), lines[0])
                self.assertTrue(lines[-1].startswith(f"example: weir {command}"), lines[-1])

    def test_lists_the_commands_that_look_at_files(self):
        self.assertEqual([c for c in COMMANDS if c in LOOKING], LOOKING)

    def test_every_command_has_json(self):
        for command in COMMANDS:
            if not re.search(r"^  [a-z]+  ", run(command, "--help").out, re.M):  # not one with commands of its own
                with self.subTest(command=command):
                    self.assertIn("--json", run(command, "--help").out)

    def test_the_help_of_run_has_its_options_and_its_commands(self):
        shown = run("run", "--help").out
        for word in ("PARTITION", "--source", "--events", "--wait", "--json", "status", "start", "stop", "log"):
            self.assertIn(word, shown)

    def test_names_the_default(self):
        self.assertIn("(default fragments)", run("verify", "--help").out)

    def test_the_version_is_a_word_and_a_number(self):
        self.assertRegex(self.assertEnds(run("--version"), 0).out, r"^weir \d+\.\d+\.\d+\n$")


class Usage(ProgramTest):
    def test_no_command_is_an_error(self):
        self.assertOneLine(run(), 2, "no command", "weir --help")

    def test_an_unknown_command_names_the_nearest(self):
        self.assertOneLine(run("verfy", "data"), 2, "unknown command weir verfy; did you mean verify?")

    def test_a_command_that_resembles_none_points_to_the_list(self):
        self.assertOneLine(run("xyzzyxyzzy"), 2, "unknown command weir xyzzyxyzzy; weir --help lists them")

    def test_an_unknown_option_names_the_nearest(self):
        self.assertOneLine(run("verify", "--dept", "none", "."), 2, "unknown option --dept of weir verify; did you mean --depth?")

    def test_an_unknown_option_is_reported_before_what_is_missing(self):
        self.assertOneLine(run("show", "--evnt", "3"), 2, "unknown option --evnt of weir show; did you mean --event?")

    def test_an_unknown_option_with_a_value_is_named_without_it(self):
        self.assertOneLine(run("ls", "--rnu=7"), 2, "unknown option --rnu of weir ls; did you mean --run?")

    def test_a_missing_file_argument_is_named(self):
        self.assertOneLine(run("show"), 2, "FILE is missing", "weir show --help")

    def test_a_missing_value_is_named(self):
        self.assertOneLine(run("ls", "--run"), 2, "option --run needs a value")

    def test_an_option_given_twice_is_refused(self):
        self.assertOneLine(run("ls", "--run", "1", "--run", "2"), 2, "--run was given more than once")

    def test_a_value_that_is_no_number_is_quoted(self):
        for text in ["seven", "-1", "4294967296", "7x", " 7"]:
            with self.subTest(text=text):
                self.assertOneLine(run("ls", f"--run={text}"), 2, "--run", "is not a whole number from 0 to 4294967295")

    def test_a_word_that_is_no_choice_names_the_nearest(self):
        self.assertOneLine(run("verify", "--depth", "headr", "."), 2, "none, header, fragments", 'did you mean "header"?')

    def test_a_surplus_argument_is_named(self):
        self.assertOneLine(run("show", "a", "b"), 2, '"b"', "weir show --help")

    def test_a_stream_without_its_type_is_refused(self):
        (self.folder / "weir.catalogue").touch()
        self.assertOneLine(run("ls", "--stream", "Main", self.folder), 2, "Main")

    def test_a_directory_may_be_called_like_a_command(self):
        self.assertOneLine(run("ls", "demo", cwd=self.folder), 3, "demo has no catalogue")

    def test_control_characters_never_reach_the_terminal(self):
        ended = run("ls", "--\x1b[31mred")
        self.assertOneLine(ended, 2, r"\x1b[31mred")
        self.assertNotIn("\x1b", ended.err)

    def test_an_error_is_one_line_whatever_the_name(self):
        self.assertOneLine(run("show", "two\nlines"), 3, r"two\x0alines")

    def test_output_that_does_not_arrive_is_an_error(self):
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([weir_program.PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"cannot write to stdout", ended.stderr)


if __name__ == "__main__":
    weir_program.main()
