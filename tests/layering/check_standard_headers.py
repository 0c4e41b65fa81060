# SPDX-License-Identifier: Apache-2.0
"""Who uses a name of a header that precompile.cmake compiles once includes that header, or a header of ours that does: most
builds of continuous integration would not notice. Usage: check_standard_headers.py ROOT"""

import functools
import pathlib
import re
import sys

import tree

# Not every name, but what is used here. One more header in precompile.cmake needs its names here.
NAMES = {
    "algorithm": "all_of any_of clamp copy copy_if copy_n count count_if equal_range erase_if fill fill_n find find_if find_if_not for_each generate "
                 "inplace_merge is_sorted lower_bound max max_element merge min min_element minmax_element mismatch none_of nth_element "
                 "partial_sort partition partition_point remove_if replace reverse rotate search shuffle sort stable_partition stable_sort "
                 "transform unique upper_bound",
    "array": "array to_array",
    "atomic": "atomic atomic_bool atomic_flag atomic_ref atomic_thread_fence memory_order_acquire memory_order_relaxed memory_order_release",
    "charconv": "chars_format from_chars to_chars",
    "cmath": "ceil exp fabs floor isfinite isinf isnan llround log log10 log2 lround pow round sqrt",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "cstring": "memchr memcmp memcpy memmove memset strchr strcmp strerror strlen strncmp strrchr strstr",
    "fstream": "fstream ifstream ofstream",
    "functional": "bind function greater hash invoke less not_fn plus reference_wrapper",
    "map": "map multimap",
    "memory": "addressof enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "numeric": "accumulate gcd inner_product iota lcm partial_sum reduce",
    "optional": "make_optional nullopt optional",
    "random": "bernoulli_distribution discrete_distribution mt19937 mt19937_64 normal_distribution uniform_int_distribution "
              "uniform_real_distribution",
    "set": "multiset set",
    "sstream": "istringstream ostringstream stringstream",
    "string": "getline stod stoi stoll stoul stoull string to_string u16string u32string",
    "string_view": "string_view",
    "thread": "jthread this_thread thread",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_multiset unordered_set",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
USES = {header: re.compile(rf"\bstd::(?:{'|'.join(names.split())})\b") for header, names in NAMES.items()}
USES["fmt/core.h"] = re.compile(r"\bfmt::")
USES["cupti.h"] = re.compile(r"\bCU(?:pti|PTI)_?\w+")
FOLDERS = ("libsynctrace", "cli", "tests")
# Programs that are users': nothing is precompiled for them. The simulated GPU has CUDA's headers by one of its own.
ELSEWHERE = ("tests/programs", "tests/unit/simgpu")
NOT_IN = {"cupti.h": "tests/simgpu"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
NO_CODE = re.compile(r'//[^\n]*|R"\w*\(.*?\)\w*"|"(?:[^"\\\n]|\\.)*"', re.DOTALL)


def find_violations(root):
    root = pathlib.Path(root)
    recipe = root / "precompile.cmake"
    precompiled = re.findall(r"<([^>]+)>", recipe.read_text(encoding="utf-8")) if recipe.exists() else []
    unknown = [f"precompile.cmake: <{header}> is not in {pathlib.Path(__file__).name}" for header in precompiled
               if header not in USES]

    @functools.cache
    def text_of(path):
        return path.read_text(encoding="utf-8")

    @functools.cache
    def included_by(path):
        """All headers that are not ours, and that a file gets through ours."""
        found = set()
        for bracket, header in INCLUDE.findall(text_of(path)):
            ours = [file for folder in (root / "libsynctrace", root / "cli", root / "tests", root / "tests/simgpu", path.parent)
                    if (file := folder / header).is_file()] if bracket == '"' else []
            found |= included_by(ours[0]) if ours else {header}
        return found

    violations = []
    for path in tree.files(root, ".h", ".cpp"):
        if path.parts[0] not in FOLDERS or path.as_posix().startswith(ELSEWHERE):
            continue
        code = NO_CODE.sub("", text_of(root / path))
        for header, uses in USES.items():
            use = uses.search(code)
            if header in NOT_IN and path.as_posix().startswith(NOT_IN[header]):
                continue
            if use and header not in included_by(root / path):
                violations.append(f"{path}: uses {use.group(0)} and does not include <{header}>")
    return unknown + violations


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(sys.argv[1])))
