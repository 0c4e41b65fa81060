# SPDX-License-Identifier: Apache-2.0
"""What `protoc --decode` prints, as dictionaries: each field's name -> the list of its values."""
import collections
import re
import subprocess

_TOKEN = re.compile(r'\s*(?:(\w+)\s*(\{)|(\w+):\s*("(?:\\.|[^"\\])*"|\S+)|(\}))')
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)


def decode(schema, message, data):
    """`data` as the message type of the schema's file. Fields that the schema lacks have numbers for names."""
    done = subprocess.run(["protoc", f"--proto_path={schema.parent}", f"--decode={message}", str(schema)], input=data,
                          capture_output=True, timeout=120, check=False)
    if done.returncode != 0 or done.stderr:
        raise ValueError(done.stderr.decode())
    root = collections.defaultdict(list)
    open_messages = [root]
    text = done.stdout.decode()
    at = 0
    while match := _TOKEN.match(text, at):
        at = match.end()
        nested, _, field, value, end = match.groups()
        if nested:
            child = collections.defaultdict(list)
            open_messages[-1][nested].append(child)
            open_messages.append(child)
        elif end:
            open_messages.pop()
        else:
            open_messages[-1][field].append(_value(value))
    if text[at:].strip() or len(open_messages) != 1:
        raise ValueError(f"not understood: {text[at:at + 80]!r}")
    return root


def _value(text):
    if not text.startswith('"'):
        return int(text) if text.lstrip("-").isdigit() else text
    raw = _ESCAPE.sub(_unescape, text[1:-1].encode())
    return raw.decode("utf-8")


def _unescape(match):
    code = match.group(1)
    if code[:1] == b"x":
        return bytes([int(code[1:], 16)])
    if code.isdigit():
        return bytes([int(code, 8)])
    return {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(code, code)
