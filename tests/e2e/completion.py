# SPDX-License-Identifier: Apache-2.0
"""What a shell offers behind a half-typed command is what --help lists, and the scripts for bash, zsh and fish show it."""
import pathlib
import re
import shutil
import unittest

import harness

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "completions"

# What is typed behind `synctrace`, and all that is offered.
OFFERED = [
    (["re"], ["report"]),
    (["help", "ex"], ["explain", "export"]),
    (["report", "--format", ""], ["text", "json", "md", "csv", "agent"]),
    (["report", "--format=j"], ["--format=json"]),
    (["report", "--format", "=", "j"], ["json"]),  # bash takes the word apart like this
    (["report", "--format", "="], ["text", "json", "md", "csv", "agent"]),
    (["report", "x.synctrace", "--sou"], ["--source-root"]),
    (["report", "--output", ""], [":files"]),
    (["report", ""], [":files"]),
    (["report", "--", "--fo"], [":files"]),
    (["report", "--source-root", ""], [":folders"]),
    (["report", "--steps", ""], []),
    (["export", "-o", "x", "--weight", "w"], ["waits"]),
    (["baseline", "c"], ["create"]),
    (["baseline", "update", "--acc"], ["--accept-new"]),
    (["run", "--level", "s"], ["syncs"]),
    (["run", "--sim"], ["--simgpu"]),
    (["run", "--level", "syncs", "--", "pyth"], [":program 4"]),
    (["run", "--level", "syncs", "python3", "--fo"], [":program 3"]),
    (["run", "pyth"], [":program 1"]),
    (["--", "pyth"], [":program 1"]),
    (["no-such-command", ""], []),
]


class Completion(harness.CliTest):
    def offered(self, *words):
        done = self.run_cli("complete-words", *words)
        self.assertEqual(done.stderr, "")
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    def commands(self):
        return re.findall(r"^  ([a-z]+) ", self.run_cli("--help").stdout, re.MULTILINE)

    def test_words(self):
        for typed, offers in OFFERED:
            with self.subTest(typed):
                self.assertEqual(self.offered(*typed), offers)

    def test_every_option_of_every_command(self):
        commands = self.commands()
        self.assertGreaterEqual(len(commands), 10)
        self.assertEqual(self.offered(""), [*commands, "help", "--help", "--version"])
        for command in commands:
            with self.subTest(command):
                names = re.findall(r"^  (-\S+)", self.run_cli(command, "--help").stdout, re.MULTILINE)
                told = [name for one in names for name in one.split(",") if name.startswith("--")]
                self.assertEqual(sorted(self.offered(command, "--")), sorted(told))

    def through(self, shell, script):
        if not shutil.which(shell[0]):
            self.skipTest(f"no {shell[0]} here")
        (self.folder / "here.synctrace").touch()
        folder = pathlib.Path(harness.SYNCTRACE).parent
        done = self.run_program(*shell, f"PATH={folder}:$PATH\n{script}" if shell[0] != "fish" else f"set -x PATH {folder} $PATH\n{script}")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.splitlines()

    def test_bash(self):
        def offers(words, current):
            return self.through(["bash", "--norc", "-c"], f"source {SCRIPTS}/synctrace.bash; COMP_WORDS=({words}); COMP_CWORD={current}\n"
                                "_synctrace; [[ ${#COMPREPLY[@]} == 0 ]] || printf '%s\\n' \"${COMPREPLY[@]}\"")
        self.assertEqual(offers("synctrace rep", 1), ["report"])
        self.assertEqual(offers("synctrace report --format = j", 4), ["json"])
        self.assertEqual(offers("synctrace report --format =", 3), ["text", "json", "md", "csv", "agent"])
        self.assertEqual(offers("synctrace report ''", 2), [])
        self.assertIn("synctrace", offers("synctrace run synctrac", 2))
        (self.folder / "inside").mkdir()
        self.assertEqual(offers("synctrace report --source-root ins", 3), ["inside"])

    def test_zsh(self):
        def offers(words, current):
            return self.through(["zsh", "-f", "-c"], "compdef() { }; _files() { print files $* }; _normal() { print program $CURRENT $words }\n"
                                f"_describe() {{ print -rl -- ${{(P)2}} }}; source {SCRIPTS}/_synctrace\n"
                                f"words=({words}); CURRENT={current}; _synctrace")
        self.assertEqual([line.split(":")[0] for line in offers("synctrace rep", 2)], ["report"])
        self.assertEqual(offers("synctrace report --format=j", 3), ["--format=json:"])
        self.assertEqual(offers("synctrace report ''", 3), ["files"])
        self.assertEqual(offers("synctrace report --source-root ''", 4), ["files -/"])
        self.assertEqual(offers("synctrace run -q -- python3 --he", 6), ["program 2 python3 --he"])

    def test_fish(self):
        def offers(line):
            return [one.split("\t")[0] for one in self.through(["fish", "--no-config", "-c"], f"source {SCRIPTS}/synctrace.fish; complete -C '{line}'")]
        self.assertEqual(offers("synctrace rep"), ["report"])
        self.assertEqual(offers("synctrace report --format "), ["csv", "json", "md", "text"])
        self.assertEqual(offers("synctrace report --format=j"), ["--format=json"])
        self.assertIn("here.synctrace", offers("synctrace report he"))
        self.assertIn("synctrace", offers("synctrace run -q synctrac"))


if __name__ == "__main__":
    harness.main()
