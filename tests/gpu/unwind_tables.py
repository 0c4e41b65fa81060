# SPDX-License-Identifier: Apache-2.0
"""Our unwind tables against elfutils', for the libraries of this machine: C, C++, Python, and where they are the driver,
CUPTI and PyTorch. Usage: unwind_tables.py UNWIND_ORACLE [--every N]. Exit status as the oracle's."""
import ctypes
import glob
import os
import site
import subprocess
import sys
import sysconfig

LOADED = ["libc.so.6", "libstdc++.so.6", "libm.so.6", "libcuda.so.1"]
WHEEL_FILES = ["nvidia/*/lib/libcupti.so.*", "nvidia/*/*/lib/libcupti.so.*", "nvidia/*/lib/libcudart.so.*",
               "nvidia/*/lib/libnccl.so.*", "torch/lib/libtorch_python.so", "torch/lib/libtorch_cpu.so",
               "torch/lib/libtorch_cuda.so", "torch/lib/libc10.so", "torch/lib/libc10_cuda.so"]
SYSTEM_FILES = ["/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*", "/usr/lib/x86_64-linux-gnu/libcupti.so.*"]


def mapped(name):
    """The file that the loader takes for a name; None when there is none."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return None
    with open("/proc/self/maps") as maps:
        stem = name.split(".so")[0] + ".so"  # the file's own name may have a longer version
        paths = {line.split()[-1] for line in maps if "/" + stem in line}
    return min(paths, default=None)


def find_files():
    found = [mapped(name) for name in LOADED]
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    found.append(library if os.path.isfile(library) else os.path.realpath(sys.executable))
    patterns = [os.path.join(folder, name) for folder in site.getsitepackages() for name in WHEEL_FILES] + SYSTEM_FILES
    for pattern in patterns:
        found += glob.glob(pattern)
    real = [os.path.realpath(path) for path in found if path]
    return list(dict.fromkeys(real))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(subprocess.run([*sys.argv[1:], *find_files()]).returncode)
