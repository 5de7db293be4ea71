"""Whether watched_puts.py measures both servers, and whether the second one is watched. No time is asserted."""

import os
import re
import subprocess
import sys
import tempfile

BUILD = os.environ["BUILD"]
HERE = os.path.dirname(os.path.abspath(__file__))

with tempfile.TemporaryDirectory() as folder:
    output = subprocess.run(
        [sys.executable, os.path.join(HERE, "watched_puts.py"), "--build", BUILD, "--folder", folder, "--rounds", "1",
         "--seconds", "1", "--tubes", "600", "--consoles", "2"],
        check=True, capture_output=True, text=True).stdout  # fmt: skip

rates = {name: int(rate.replace(",", "")) for name, rate in re.findall(r"(\w+): ([\d,]+) puts a second", output)}
assert set(rates) == {"alone", "watched"} and min(rates.values()) > 0, output
scrapes, size, frames = re.search(r"(\d+) scrapes of ([\d,]+) bytes.* at least (\d+) frames", output).groups()
# A series for each tube and state.
assert int(scrapes) > 0 and int(size.replace(",", "")) > 600 * 4 * 30 and int(frames) > 0, output
