# SPDX-License-Identifier: Apache-2.0
"""The rule by which Meta's Holistic Trace Analysis sorts a stream's idle time, written anew from its published
description: the whole gap before a piece of work is
  host_wait    when the call that issued the work began after the work before it had ended;
  kernel_wait  else, when the gap is shorter than a threshold;
  other        else.
Work of one stream in the order of its starts; a gap is the start less the end of the one before, and negative where the two
overlap. docs/attribution.md says what ours does differently."""
import collections

CATEGORIES = ("host_wait", "kernel_wait", "other")
THRESHOLD_NS = 30_000  # the tool's default is 30, on times in microseconds

# One piece of GPU work; `issued` is the begin of its call, or None where that is not known.
Work = collections.namedtuple("Work", "device stream begin end issued")


def idle_split(work, threshold_ns=THRESHOLD_NS):
    """Stream -> category -> ns."""
    return {stream: _split(sorted(group, key=lambda w: w.begin), threshold_ns) for stream, group in by_stream(work).items()}


def _split(stream, threshold_ns):
    result = dict.fromkeys(CATEGORIES, 0)
    for before, after in zip(stream, stream[1:]):
        gap = after.begin - before.end
        if after.issued is not None and after.issued > before.end:
            result["host_wait"] += gap
        else:
            result["kernel_wait" if gap < threshold_ns else "other"] += gap
    return result


def by_stream(work):
    groups = collections.defaultdict(list)
    for one in work:
        groups[one.stream].append(one)
    return groups


def union_ns(spans):
    """The time that is covered by any of the spans."""
    total, reached = 0, None
    for begin, end in sorted(spans):
        if reached is None or begin > reached:
            total, reached = total + end - begin, end
        elif end > reached:
            total, reached = total + end - reached, end
    return total


def clipped(spans, window):
    low, high = window
    return [(max(begin, low), min(end, high)) for begin, end in spans if end > low and begin < high]


def idle_ns(work, windows):
    """The time inside the windows, which are disjoint, in which none of the work runs."""
    spans = [(one.begin, one.end) for one in work]
    return sum(high - low - union_ns(clipped(spans, (low, high))) for low, high in windows)


def stream_gaps_ns(stream):
    """The gaps of the rule in one stream's work, overlaps left out, and the time from its first start to its last end."""
    ordered = sorted(stream, key=lambda w: w.begin)
    gaps = sum(max(0, after.begin - before.end) for before, after in zip(ordered, ordered[1:]))
    return gaps, (ordered[0].begin, max(one.end for one in ordered))
