# SPDX-License-Identifier: Apache-2.0
"""Reads the JSON that `synctrace export --format chrome` writes, and says where it breaks what viewers rely on. Knows the
format's conventions and nothing of synctrace: exact in nanoseconds, standard library only."""
import collections
import decimal
import json

GPU_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset"}
CALL_CATEGORIES = {"cuda_runtime", "cuda_driver"}
RANK_CATEGORIES = {"collective", "rank_wait", "transfer"}
CATEGORIES = GPU_CATEGORIES | CALL_CATEGORIES | RANK_CATEGORIES | {"user_annotation", "host_wait", "overhead"}


def load(path):
    """The document; numbers with a point are exact decimals. ValueError where it is no strict JSON."""
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_float=decimal.Decimal, parse_constant=_refuse, object_pairs_hook=_object)


def _refuse(word):
    raise ValueError(f"{word} is no JSON")


def _object(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError(f"a key twice in one object: {[key for key, _ in pairs]}")
    return result


def ns(microseconds):
    value = decimal.Decimal(microseconds) * 1000
    if value != int(value):
        raise ValueError(f"{microseconds} us is no whole number of ns")
    return int(value)


class Slice:
    def __init__(self, event):
        self.row = (event["pid"], event["tid"])
        self.begin, self.end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
        self.name, self.category, self.args = event["name"], event["cat"], event["args"]

    def __repr__(self):
        return f"{self.name} [{self.begin}, {self.end}) on {self.row}"


def slices(document, categories=CATEGORIES):
    """In file order."""
    return [Slice(event) for event in document["traceEvents"] if event["ph"] == "X" and event["cat"] in categories]


def violations(document):
    events = document["traceEvents"]
    return (_kinds(events) + _rows(document) + _names(events) + _nesting(slices(document)) + _arrows(events, slices(document))
            + _async_pairs(events))


def _kinds(events):
    found = []
    for event in events:
        if event["ph"] not in "MXistfbe":
            found.append(f"an event of kind {event['ph']}")
        if event["ph"] == "X" and event["cat"] not in CATEGORIES:
            found.append(f"the category {event['cat']}")
        if ns(event["ts"]) < 0 or ns(event.get("dur", 0)) < 0:
            found.append(f"a negative time: {event}")
    return found


def _rows(document):
    """GPU work tells its stream, device and call; nothing else tells a stream, or it would pass for GPU work."""
    found = []
    callers = collections.Counter()
    for one in slices(document):
        if one.category in GPU_CATEGORIES:
            found += [f"{one}: no {key}" for key in ("stream", "device", "context") if key not in one.args]
        elif "stream" in one.args:
            found.append(f"{one}: a stream")
        if one.category in CALL_CATEGORIES and "correlation" in one.args:
            callers[one.args["correlation"]] += 1
    return found + [f"correlation {key}: {count} calls" for key, count in callers.items() if count > 1]


def _names(events):
    """Every row that holds a slice has a name, and so has its process; none has two."""
    named = collections.Counter((event["name"], event["pid"], event["tid"]) for event in events if event["ph"] == "M")
    found = [f"{key} twice" for key, count in named.items() if count > 1]
    for event in events:
        if event["ph"] != "X":
            continue
        if ("thread_name", event["pid"], event["tid"]) not in named:
            found.append(f"the row ({event['pid']}, {event['tid']}) has no name")
        if ("process_name", event["pid"], 0) not in named:
            found.append(f"the process {event['pid']} has no name")
    return sorted(set(found))


def _nesting(all_slices):
    """Slices of one row nest or are disjoint, and come in the order of their begins."""
    found = []
    rows = collections.defaultdict(list)
    for one in all_slices:
        row = rows[one.row]
        if row and row[-1].begin > one.begin:
            found.append(f"{one} comes after {row[-1]}")
        row.append(one)
    for row in rows.values():
        open_slices = []
        for one in sorted(row, key=lambda s: (s.begin, -s.end)):
            while open_slices and open_slices[-1].end <= one.begin:
                open_slices.pop()
            if open_slices and one.end > open_slices[-1].end:
                found.append(f"{one} cuts into {open_slices[-1]}")
            open_slices.append(one)
    return found


def _arrows(events, all_slices):
    """Every arrow has one begin and one end, forward in time, and all points between them; each at the begin of a slice of
    its row."""
    begins = {(one.row, one.begin) for one in all_slices}
    ends = collections.defaultdict(dict)
    between = collections.defaultdict(list)
    found = []
    for event in events:
        if event["ph"] not in "stf":
            continue
        arrow = ends[event["cat"], event["id"]]
        if event["ph"] == "t":
            between[event["cat"], event["id"]].append(ns(event["ts"]))
        elif event["ph"] in arrow:
            found.append(f"arrow {event['id']}: {event['ph']} twice")
        else:
            arrow[event["ph"]] = event
        if ((event["pid"], event["tid"]), ns(event["ts"])) not in begins:
            found.append(f"arrow {event['id']}: {event['ph']} is at no slice's begin")
        if event["ph"] == "f" and event.get("bp") != "e":
            found.append(f"arrow {event['id']}: its end would bind to the next slice")
    for whole, arrow in ends.items():
        key, points = whole[1], sorted(between[whole])
        if set(arrow) != {"s", "f"}:
            found.append(f"arrow {key}: has {sorted(arrow)} alone")
        elif any(earlier > later for earlier, later in zip([ns(arrow["s"]["ts"]), *points],
                                                           [*points, ns(arrow["f"]["ts"])])):
            found.append(f"arrow {key}: leads back in time")
    return found


def _async_pairs(events):
    ranges = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "be":
            ranges[event["cat"], event["id"]].append(event)
    return [f"asynchronous range {key}: {[event['ph'] for event in pair]}" for key, pair in ranges.items()
            if [event["ph"] for event in pair] != ["b", "e"] or ns(pair[0]["ts"]) > ns(pair[1]["ts"])]
