# SPDX-License-Identifier: Apache-2.0
"""The records of a trace, read from the text that `synctrace dump` prints."""
import collections
import re

_FIELD = re.compile(r'(\w+)=("(?:\\.|[^"\\])*"|\S+)')
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|.)", re.DOTALL)


def _unescape(match):
    code = match.group(1)
    if code[:1] == b"x" and len(code) == 3:
        return bytes([int(code[1:], 16)])
    return {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(code, code)


def _value(text):
    if text.startswith('"'):
        # Bytes that are no UTF-8 (a line table's) come back with encode("utf-8", "surrogateescape").
        return _ESCAPE.sub(_unescape, text[1:-1].encode()).decode("utf-8", "surrogateescape")
    return int(text)


class Records:
    """A trace's records by kind: of("kernel") is the list of the kernels, each a dictionary of its fields."""

    def __init__(self, text):
        self._by_kind = collections.defaultdict(list)
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind and kind[0] != "#" and kind not in ("synctrace-text", "chunk", "schema"):
                self._by_kind[kind].append({name: _value(value) for name, value in _FIELD.findall(rest)})
        self.strings = {record["id"]: record["text"] for record in self.of("string")}
        self.api_names = {record["api"]: record["name"] for record in self.of("api_name")}
        self.facts = {record["key"]: record["value"] for record in self.of("fact")}

    def of(self, kind):
        return self._by_kind[kind]

    def windows(self):
        """Openings and closings of recording windows in order of time: the file keeps the order of each thread only."""
        return sorted(self.of("window"), key=lambda window: window["time_ns"])

    def calls(self, name):
        """The calls of a CUDA function, in order of time."""
        return sorted((call for call in self.of("call") if self.api_names[call["api"]] == name),
                      key=lambda call: call["begin_ns"])

    def launches(self, *names):
        return [launch for launch in self.of("launch") if not names or self.api_names[launch["api"]] in names]

    def losses(self):
        """Name to count, of what the recorder itself says that it lost."""
        result = collections.Counter()
        for loss in self.of("loss"):
            result[loss["name"]] += loss["count"]
        return dict(result)

    def lost_events(self):
        """The same without samples: a busy machine always costs some of those."""
        return {name: count for name, count in self.losses().items() if not name.startswith("sample-")}

    def ranges(self):
        """Complete push/pop ranges of all threads: (text, thread, begin, end), in order of their beginning."""
        events = sorted([(push["time_ns"], 0, index, push) for index, push in enumerate(self.of("nvtx_push"))]
                        + [(pop["time_ns"], 1, index, pop) for index, pop in enumerate(self.of("nvtx_pop"))],
                        key=lambda event: event[:3])
        open_ranges = collections.defaultdict(list)
        complete = []
        for time, is_pop, _, record in events:
            stack = open_ranges[record["thread"], record["domain"]]
            if not is_pop:
                stack.append((self.strings[record["text"]], time))
            elif stack:
                text, begin = stack.pop()
                complete.append((text, record["thread"], begin, time))
        return sorted(complete, key=lambda item: item[2])

    def calls_in(self, range_):
        """The calls of the range's thread that lie inside it."""
        _, thread, begin, end = range_
        return [call for call in self.of("call")
                if call["thread"] == thread and begin <= call["begin_ns"] and call["begin_ns"] + call["duration_ns"] <= end]
