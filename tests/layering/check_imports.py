# SPDX-License-Identifier: Apache-2.0
"""What libsynctrace.so asks of the loader, the allocator, locales, stdio, the environment and threads stands in a table,
with the thread that asks and why it may: nothing that is not listed, and nothing listed that is gone.
Usage: check_imports.py LIBRARY ROOT"""

import pathlib
import re
import sys

import check_exports
import tree

PAGE = "docs/what-a-program-sees.md"
HEADING = "## Functions of the C library that may wait, allocate or change the process"
# In this column stand rows of code that came with the compiler: another version may need fewer of them.
COMPILERS = "compiler's runtime"

FAMILIES = re.compile(r"""^(
    _?dl_?\w+ | _dl_\w+ | __tls_get_addr                                           # the loader
  | malloc | calloc | realloc\w* | free | aligned_alloc | \w*memalign | strn?dup | _Zn[aw]\w+ | _Zd[al]\w+
  | \w*locale\w* | \w*gettext | strerror\w* | perror
  | \w*printf\w* | f?put[cs]\w* | putchar | fwrite\w* | fread\w* | f(open|close|flush|gets)\w* | getline | std(in|out|err)
  | (secure_)?getenv | (un)?setenv | putenv | clearenv | environ
  | pthread_create | pthread_key_\w+ | __pthread_key_create | pthread_[gs]etspecific | \w*atfork | fork | vfork | posix_spawn
  | system | popen | \w*atexit\w* | __cxa_finalize | on_exit | exit | _exit | abort | realpath
)$""", re.VERBOSE)


def find_violations(library, root):
    used = {name.split("@")[0] for name, _ in check_exports.dynamic_symbols(library)[1]}
    used = {name for name in used if FAMILIES.match(name)}
    listed = rows(pathlib.Path(root, PAGE).read_text(encoding="utf-8"))
    violations = [f"{library}: asks for {name}, which is not in {PAGE}" for name in sorted(used - listed.keys())]
    violations += [f"{PAGE}: {name} is listed, and no more asked for" for name in sorted(listed.keys() - used)
                   if COMPILERS not in listed[name]]
    violations += [f"{PAGE}: {name} is of none of the families" for name in sorted(listed) if not FAMILIES.match(name)]
    return violations


def rows(text):
    """The names of the first column, each with the rest of its row. More than one may stand in a row."""
    section = text.partition(HEADING + "\n")[2].partition("\n## ")[0]
    found = {}
    for line in section.splitlines():
        if match := re.match(r"\| (`[^|]+`) \|(.*)\|$", line):
            found.update((name, match.group(2)) for name in re.findall(r"`([^`]+)`", match.group(1)))
    return found


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(*sys.argv[1:])))
