# SPDX-License-Identifier: Apache-2.0
"""Commands that stand within a sentence of a page, or in an example of a manual page, are not run: they name verbs and options that there
are. Usage: known_options.py SYNCTRACE ROOT"""
import functools
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import doc_blocks  # noqa: E402

SPAN = re.compile(r"`(synctrace [^`]+)`")
EXAMPLE = re.compile(r"^\.EX\n(.*?)^\.EE", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"\bsynctrace [a-z].*")
OPTION = re.compile(r"(?<= )--[a-z][\w-]*")
OTHER_PROGRAM = re.compile(r"\$\([^)]*\)| -- .*")  # within the command, or run by it
PROGRAM = re.compile(r"python3?|torchrun|\S*[/.]\S*")  # stands for `run -- PROGRAM`


def commands(root):
    """(where it stands, the command)"""
    for page in doc_blocks.pages(root):
        text = doc_blocks.FENCE.sub("", pathlib.Path(root, page).read_text(encoding="utf-8"))
        yield from ((page, " ".join(span.split())) for span in SPAN.findall(text))
    for page in sorted(pathlib.Path(root).glob("docs/man/*.1")):
        for example in EXAMPLE.findall(page.read_text(encoding="utf-8").replace("\\-", "-")):
            yield from ((page.relative_to(root), line) for line in COMMAND.findall(example))


class Known:
    def __init__(self, synctrace):
        self.synctrace = synctrace
        self.verbs = set(re.findall(r"^  ([a-z]+) +\w", self.ask("--help"), re.MULTILINE))

    def ask(self, *words):
        return subprocess.run([self.synctrace, *words], capture_output=True, text=True, check=True).stdout

    @functools.cache  # noqa: B019  one object, for the life of the test
    def options(self, verb):
        return set(re.findall(r"--[a-z][\w-]*", self.ask("help", verb)))

    def why_wrong(self, command):
        verb = command.split()[1]
        if verb.startswith("--") or verb == "help" or PROGRAM.fullmatch(verb):
            return None
        if verb not in self.verbs:
            return f"there is no synctrace {verb}"
        unknown = [option for option in OPTION.findall(OTHER_PROGRAM.sub("", command)) if option not in self.options(verb)]
        return f"synctrace {verb} has no {unknown[0]}" if unknown else None


def main(synctrace, root):
    known = Known(synctrace)
    found = list(commands(root))
    wrong = [f"{page}: `{command}`: {reason}" for page, command in found if (reason := known.why_wrong(command))]
    print("\n".join(wrong), f"{len(found)} commands, {len(wrong)} wrong", sep="\n" if wrong else "")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
