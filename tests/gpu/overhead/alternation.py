# SPDX-License-Identifier: Apache-2.0
"""Windows of several modes in turns, and what may be said of their ratios. Python's standard library only."""
import math
import random
import statistics
import time

MOST_ROUNDS = 200  # unless told
FEWEST_ROUNDS = 6  # below it the range of all ratios is no interval of 95 %


def alternate(windows, seconds, most_rounds=MOST_ROUNDS, seed=20261122):
    """Runs each of `windows` (mode -> function that gives the ms of a step) once a round, in a random order, until `seconds`
    are over; mode -> its times, one for each round."""
    order_of = random.Random(seed)
    times = {mode: [] for mode in windows}
    end = time.monotonic() + seconds
    rounds = 0
    while rounds < FEWEST_ROUNDS or (time.monotonic() < end and rounds < most_rounds):
        order = list(windows)
        order_of.shuffle(order)
        for mode in order:
            times[mode].append(windows[mode]())
        rounds += 1
    return times


def interval_of_median(values):
    """(low, high): between these two of the values the median lies with 95 % or more, whatever their distribution."""
    ordered = sorted(values)
    count = len(ordered)
    outside, rank = 0.0, 0  # the probability, on each side, that the median lies beyond ordered[rank]
    while rank < count // 2:
        outside += math.comb(count, rank) / 2**count
        if outside > 0.025:
            break
        rank += 1
    rank = max(0, rank - 1)
    return ordered[rank], ordered[count - 1 - rank]


def compare(times, base):
    """mode -> median time and the median of its ratios to `base` of the same round, with its interval."""
    result = {}
    for mode, values in times.items():
        ratios = [value / other for value, other in zip(values, times[base])]
        low, high = interval_of_median(ratios)
        result[mode] = {"median_ms": round(statistics.median(values), 4), "ratio": round(statistics.median(ratios), 4), "low": round(low, 4),
                        "high": round(high, 4), "rounds": len(values)}
    return result
