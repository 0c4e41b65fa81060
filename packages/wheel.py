# SPDX-License-Identifier: Apache-2.0
"""Packs the installed tree as a wheel. It has no compiled extension, so one serves every Python 3.8 or later."""
import base64
import hashlib
import time
import zipfile

METADATA = """\
Metadata-Version: 2.1
Name: synctrace
Version: {version}
Summary: Finds the host code that makes a GPU wait
License: Apache-2.0
Keywords: cuda,gpu,profiler,pytorch,jax
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Software Development :: Debuggers
Classifier: Framework :: Pytest
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{readme}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: synctrace\nRoot-Is-Purelib: false\nTag: {tag}\n"
ENTRY_POINTS = """\
[console_scripts]
synctrace = synctrace:_main

[pytest11]
synctrace = synctrace
"""
MAIN = '''\
# SPDX-License-Identifier: Apache-2.0
"""python -m synctrace"""
from synctrace import _main

_main()
'''
# glibc 2.28, which is what the recorder is linked for: packages/glibc.
FLOOR = "manylinux_2_28"


def make(tree, out, version, machine, seconds):
    tag = f"py3-none-{FLOOR}_{machine}"
    info, data = f"synctrace-{version}.dist-info", f"synctrace-{version}.data/data"
    module = tree / "share/synctrace/python/synctrace.py"
    files = {"synctrace/__init__.py": (module.read_bytes(), False), "synctrace/__main__.py": (MAIN.encode(), False)}
    for folder in ("bin", "lib"):
        for path in sorted((tree / folder).rglob("*")):
            if path.is_file():
                executable = path.stat().st_mode & 0o100 != 0
                files[f"synctrace/_native/{path.relative_to(tree)}"] = (path.read_bytes(), executable)
    # pip puts these below the environment's folder, where `man` and the shells look.
    for folder in ("share/man", "share/bash-completion", "share/zsh", "share/fish"):
        for path in sorted((tree / folder).rglob("*")):
            if path.is_file():
                files[f"{data}/{path.relative_to(tree)}"] = (path.read_bytes(), False)
    documents = tree / "share/doc/synctrace"
    metadata = METADATA.format(version=version, readme=(documents / "README.md").read_text())
    files[f"{info}/METADATA"] = (metadata.encode(), False)
    files[f"{info}/WHEEL"] = (WHEEL.format(tag=tag).encode(), False)
    files[f"{info}/entry_points.txt"] = (ENTRY_POINTS.encode(), False)
    files[f"{info}/LICENSE"] = ((documents / "LICENSE").read_bytes(), False)
    record = f"{info}/RECORD"
    lines = [f"{name},sha256={digest(content)},{len(content)}\n" for name, (content, _) in files.items()]
    files[record] = ("".join([*lines, f"{record},,\n"]).encode(), False)
    with zipfile.ZipFile(out / f"synctrace-{version}-{tag}.whl", "w") as archive:
        for name, (content, executable) in files.items():
            entry = zipfile.ZipInfo(name, time.gmtime(seconds)[:6])
            entry.create_system = 3  # Unix: the mode is meant
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
