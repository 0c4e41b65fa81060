# SPDX-License-Identifier: Apache-2.0
"""Whether each of these files compiles by itself: what is compiled as one with others may lack an include of its own.

  compile_alone.py ROOT PLAIN BUILT FILE...

PLAIN: a build folder without joined files and precompiled headers, which needs only to be configured. BUILT: one with the headers that
are made by a build. Exit status: 1 when a file does not compile."""
import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def main():
    root, plain, built = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
    wanted = {str(root / file) for file in sys.argv[4:]}
    commands = {}
    for entry in json.loads((plain / "compile_commands.json").read_text(encoding="utf-8")):
        if entry["file"] in wanted:
            words = shlex.split(entry["command"].replace(str(plain), str(built)))
            commands[entry["file"]] = [*words[:words.index("-o")], "-O0", "-fsyntax-only", entry["file"]]

    def compile_one(command):
        return subprocess.run(command, cwd=built, capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [done.stderr for done in pool.map(compile_one, commands.values()) if done.returncode != 0]
    print(*failed, sep="\n", end="")
    print(f"{len(commands) - len(failed)} of {len(commands)} changed files compile by themselves.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
