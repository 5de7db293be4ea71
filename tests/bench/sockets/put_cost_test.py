"""Whether put_cost.py measures both a server and the bare loop. No time is asserted."""

import os
import subprocess
import sys
import tempfile

BUILD = os.environ["BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))

with tempfile.TemporaryDirectory() as folder:
    output = subprocess.run(
        [sys.executable, os.path.join(HERE, "put_cost.py"), "--build", BUILD, "--folder", folder, "--rounds", "1",
         "--seconds", "0.2", "--connections", "5,20",
         f"ours={BUILD}/perenniald -l 127.0.0.1 -p {{port}} -b {{dir}}/data --io-threads 0",
         f"threads={BUILD}/perenniald -l 127.0.0.1 -p {{port}} -b {{dir}}/data --io-threads 1",
         f"bare={BUILD}/bare_loop {{port}}"],
        check=True, capture_output=True, text=True).stdout

rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines() if line]
assert [row[0] for row in rows] == ["5x1", "---", "ours", "threads", "bare", "20x1", "---", "ours", "threads", "bare"], output
for row in rows:
    if row[0] not in ("ours", "threads", "bare"):
        continue
    per_second, user, system, io_threads, others, client = (float(cell.replace(",", "")) for cell in row[1:])
    assert per_second > 0 and user + system > 0 and client > 0, row
    # The bare loop is one thread, and a server that keeps jobs has others.
    assert (others > 0) == (row[0] != "bare"), row
    assert (io_threads > 0) == (row[0] == "threads"), row
