"""Whether beside_bench.py measures puts beside each of the others, with and without a thread. No time is asserted."""

import os
import subprocess
import sys
import tempfile

BUILD = os.environ["BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))
OTHERS = ["nobody", "handshakes", "scrapes", "listings"]

if not {0, 1} <= os.sched_getaffinity(0):
    print("skipped: it needs the processors 0 and 1")
    sys.exit(0)
with tempfile.TemporaryDirectory() as folder:
    output = subprocess.run(
        [sys.executable, os.path.join(HERE, "beside_bench.py"), "--build", BUILD, "--folder", folder, "--rounds", "1",
         "--seconds", "0.5", "--tubes", "20", "none=--io-threads 0", "one=--io-threads 1"],
        check=True, capture_output=True, text=True).stdout

rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines()[2:]]
assert [row[:2] for row in rows] == [[others, name] for others in OTHERS for name in ("none", "one")], output
for others, _, p50, p99, did in rows:
    assert 0 < float(p50.replace(",", "")) <= float(p99.replace(",", "")), output
    assert (did == "") == (others == "nobody"), output
