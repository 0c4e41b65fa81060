# SPDX-License-Identifier: Apache-2.0
"""The command lines of README.md, docs/ and examples/. A block of code says in a comment above it how it is tried:

  <!-- run -->                   on the simulated GPU and stored traces (tests/docs/run_blocks.py); of YAML its commands
  <!-- run if: PROGRAM -->       where that program is installed
  <!-- file: NAME -->            the blocks of the page below find it as a file of that name
  <!-- needs: gpu -->            by tests/gpu/doc_blocks.py
  <!-- needs: packages -->       with the packages (tests/packages/doc_blocks.py)
  <!-- needs: measuring -->      takes minutes or hours of certain machines: its scripts and their options are looked up
  <!-- needs: build: REASON -->  the whole build; likewise root, which changes the machine, and service
  <!-- screen: FILE -->          what a program prints (tests/layering/check_docs.py)

A block in one of the languages of `NO_COMMANDS` has no command lines, and needs no mark."""
import pathlib
import re
import shutil
from dataclasses import dataclass

NO_COMMANDS = {"text", "python", "cpp", "toml", "json", "hexdump", "cmake"}
WITH_REASON = {"build", "root", "service"}
WITHOUT_REASON = {"gpu", "packages", "measuring"}

FENCE = re.compile(r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"needs: (\w+)(?:: (.+))?")
# `run: COMMAND`, `script: COMMAND`, and `run: |` with lines below that are set in.
YAML_COMMANDS = re.compile(r"^ *(?:- )?(?:run|script): *(?:\|\n(?P<lines>(?P<pad> +)[^\n]*\n(?:(?P=pad)[^\n]*\n)*)|(?P<line>[^\n|]+)\n)", re.MULTILINE)


@dataclass
class Block:
    page: str
    line: int  # where its mark or its fence is
    mark: str
    language: str
    text: str

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def needs(self):
        found = NEEDS.fullmatch(self.mark)
        return found[1] if found else ""

    @property
    def reason(self):
        found = NEEDS.fullmatch(self.mark)
        return (found[2] or "") if found else ""

    @property
    def file(self):
        return self.mark.removeprefix("file: ") if self.mark.startswith("file: ") else ""

    @property
    def is_run(self):
        return self.mark == "run" or self.mark.startswith("run if: ")

    @property
    def missing_program(self):
        """What `run if:` asks for and is not installed."""
        program = self.mark.removeprefix("run if: ") if self.mark.startswith("run if: ") else ""
        return program if program and not shutil.which(program) else ""

    @property
    def commands(self):
        if self.language != "yaml":
            return self.text
        return "\n".join(each["line"] or re.sub(r"^ +", "", each["lines"], flags=re.MULTILINE) for each in YAML_COMMANDS.finditer(self.text))

    def why_wrong(self):
        """What is wrong with its mark, or None."""
        if not self.mark:
            return None if self.language in NO_COMMANDS else "a block of command lines without a mark (tests/support/doc_blocks.py)"
        if self.needs:
            known = self.needs in WITHOUT_REASON or (self.needs in WITH_REASON and self.reason)
            return None if known else f"<!-- {self.mark} -->: one of {', '.join(sorted(WITHOUT_REASON))}, or with a reason {', '.join(sorted(WITH_REASON))}"
        if self.is_run and not self.commands.strip():
            return "nothing in it is run"
        known = self.is_run or self.file or self.mark.startswith("screen: ")
        return None if known else f"<!-- {self.mark} -->: no such mark (tests/support/doc_blocks.py)"


def pages(root):
    root = pathlib.Path(root)
    found = [root / "README.md", *sorted(root.glob("docs/**/*.md")), *sorted(root.glob("examples/**/*.md"))]
    return [page.relative_to(root).as_posix() for page in found if page.is_file()]


def blocks(root, page):
    text = pathlib.Path(root, page).read_text(encoding="utf-8")
    return [Block(page, text.count("\n", 0, found.start()) + 1, found["mark"] or "", found["language"], found["text"]) for found in FENCE.finditer(text)]


def all_blocks(root):
    return [block for page in pages(root) for block in blocks(root, page)]
