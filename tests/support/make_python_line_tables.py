# SPDX-License-Identifier: Apache-2.0
"""Prints the line tables that tests/unit/names/python_line_tables.h holds, with what the interpreter that runs it says of
them. Usage, once per version: python3.X make_python_line_tables.py"""
import dis
import sys
import textwrap

SOURCE = '''def subject(a, b, *rest):
    """Text."""
    total = [
        a + b,
        (a
         * b),
    ]; total.append(a)
    for value in rest:
        try:
            total += [value(x)
                      for x in total if x
                      in rest]
        except (ValueError,
                KeyError) as error:
            raise RuntimeError(
                "{}".format(error)) from error
        finally:
            del value
@@    with a as wide_name, b(wide_name, wide_name, wide_name, wide_name, wide_name, wide_name, wide_name, b(wide_name)) as c:
        if c: return {c: a, **b}
        while a: a = a.next; b()
    return (total
            if a else
            b)
'''.replace("@@", "\n" * 300)


def places(code):
    """(end offset in bytes, line, end line, column, end column) of each run of instructions; -1: unknown."""
    size = len(code.co_code)
    if sys.version_info >= (3, 11):
        each = [(2 * i + 2, *(-1 if part is None else part for part in place))
                for i, place in enumerate(code.co_positions())]
    elif sys.version_info >= (3, 10):
        each = [(end, *((-1, -1) if line is None else (line, line)), -1, -1) for _, end, line in code.co_lines()]
    else:
        starts = list(dis.findlinestarts(code)) + [(size, 0)]
        each = [(after[0], line, line, -1, -1) for (_, line), after in zip(starts, starts[1:])]
    runs = []
    for run in each:
        if runs and runs[-1][1:] == run[1:]:
            runs.pop()
        runs.append(run)
    return runs


names = {}
exec(compile(SOURCE, "subject.py", "exec"), names)
subject = names["subject"].__code__
table = subject.co_linetable if sys.version_info >= (3, 10) else subject.co_lnotab
print("// Python {}.{}.{}\n{{0x{:08x}, {},".format(*sys.version_info[:3], sys.hexversion, subject.co_firstlineno))
digits = table.hex()
print("\n".join(' "{}"'.format(digits[at:at + 112]) for at in range(0, len(digits), 112)) + ",")
runs = ["{{{}, {{{}, {}, {}, {}}}}},".format(*run) for run in places(subject)]
print(" {" + textwrap.fill(" ".join(run.replace(" ", "~") for run in runs), 116, initial_indent="",
                           subsequent_indent="  ", break_long_words=False, break_on_hyphens=False).replace("~", " "))
print(" }},")
