"""Prints how long all of the doctor's checks take on a loaded snapshot, in milliseconds: the median of several runs.

Started by scripts/bench with the installed wheel's Python: `python bench_checks.py SNAPSHOT`. Reading the snapshot and
importing are left out, so the checks run once before the clock does.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from ctk.doctor.checks import ALL_CHECKS
from ctk.doctor.report import judge
from ctk.facts.codec import snapshot_from_document

RUNS = 21


def main() -> None:
    snapshot = snapshot_from_document(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    judge(snapshot, ALL_CHECKS, ALL_CHECKS)
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        judge(snapshot, ALL_CHECKS, ALL_CHECKS)
        seconds.append(time.perf_counter() - start)
    print(f"{statistics.median(seconds) * 1000:.2f}")


if __name__ == "__main__":
    main()
