# SPDX-License-Identifier: Apache-2.0
"""Fetches what drives the browser (playwright-core, by the committed lock file) into the build folder, once, and runs
the page_*test.mjs. Where browser, Node or npm is absent, or nothing can be fetched, the test is skipped with one line that says so;
with PAGE_REQUIRES_BROWSER set that is a failure."""
import filecmp
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODULES = pathlib.Path(os.environ["PAGE_MODULES"])
SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OLDEST_NODE = 20


def skip(why):
    required = os.environ.get("PAGE_REQUIRES_BROWSER")
    print(f"{'FAIL' if required else 'SKIP'}: the page was not opened in a browser: {why}")
    return 1 if required else SKIPPED


def fetched():
    """None once node_modules is what the lock file says; else why not."""
    stamp = MODULES / "fetched-lock.json"
    lock = HERE / "package-lock.json"
    if stamp.exists() and filecmp.cmp(stamp, lock, shallow=False):
        return None
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, MODULES / name)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=MODULES, capture_output=True, text=True)
    if done.returncode != 0:
        return "npm cannot fetch playwright-core: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    shutil.copy(lock, stamp)
    return None


def main():
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        return skip("no chromium here")
    if shutil.which("npm") is None or shutil.which("node") is None:
        return skip("no node and npm here")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    if int(version.lstrip("v").split(".")[0] or 0) < OLDEST_NODE:
        return skip(f"node {version.strip()} is older than {OLDEST_NODE}")
    if (why := fetched()) is not None:
        return skip(why)
    command = ["node", "--test", "--test-reporter=spec", *(str(HERE / name) for name in ("page_test.mjs", "page_answer_test.mjs", "page_job_test.mjs", "page_controls_test.mjs"))]
    return subprocess.run(command, env={**os.environ, "PAGE_BROWSER": browser}).returncode


if __name__ == "__main__":
    sys.exit(main())
