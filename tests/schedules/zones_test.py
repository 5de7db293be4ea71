#!/usr/bin/env python3
"""A time zone that is gone after a restart: the start says so, the time that is known puts its job, and the zone's return ends it.

PERENNIALD and PERENNIAL name the programs. The system's tzdata is that of TZDIR, a folder with two zones of which one goes.

It is blind to a zone whose rules change, which tests/engine has with a calendar of its own.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from ports import free_port  # noqa: E402

PERENNIALD = os.environ.get("PERENNIALD", "build/perenniald")
PERENNIAL = os.environ.get("PERENNIAL", "build/perennial")
SYSTEM = "/usr/share/zoneinfo"
GOES = "Europe/Berlin"


class Zones(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perennial-zones-", dir=os.environ.get("TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.zones = self.folder + "/zoneinfo"
        os.makedirs(self.zones + "/Europe")
        for zone in (GOES, "Europe/London"):
            shutil.copy(f"{SYSTEM}/{zone}", f"{self.zones}/{zone}")
        self.address = f"127.0.0.1:{free_port()}"

    def tool(self, *words):
        done = subprocess.run([PERENNIAL, *words, "--server", self.address], capture_output=True, text=True, timeout=20,
                              env=os.environ | {"TZDIR": SYSTEM})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def schedule(self, name):
        return json.loads(self.tool("schedule", "show", name, "--json"))

    def until(self, condition, what):
        end = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.05)

    def start(self):
        host, port = self.address.split(":")
        with open(self.folder + "/log", "w") as log:
            server = subprocess.Popen([PERENNIALD, "-l", host, "-p", port, "-b", self.folder + "/data"], stdout=log,
                                      stderr=log, env=os.environ | {"TZDIR": self.zones})

        def stop():
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
                server.wait(20)

        self.addCleanup(stop)
        self.until(lambda: "at=listen" in self.log() or server.poll() is not None, "it does not start")
        return stop

    def log(self):
        with open(self.folder + "/log") as file:
            return file.read()

    def test_one_that_is_gone_is_said_and_its_return_ends_it(self):
        stop = self.start()
        for name, zone in ("berlin", GOES), ("london", "Europe/London"):
            self.tool("schedule", "set", name, "x", "--cron", "* * * * * *", "--zone", zone, "--missed", "all")
        self.tool("schedule", "set", "yearly", "x", "--cron", "0 0 1 1 *", "--zone", GOES)
        self.until(lambda: self.schedule("berlin")["fired"] > 0, "it puts no jobs")
        stop()
        self.assertNotIn("at=schedules.zone", self.log())
        os.rename(f"{self.zones}/{GOES}", self.folder + "/gone")
        stop = self.start()
        self.assertIn(f"level=warning at=schedules.zone unknown={GOES} schedules=2\n", self.log())
        self.until(lambda: self.schedule("berlin")["state"] == "no-zone", "it goes on without its zone")
        fired = self.schedule("berlin")["fired"]
        london = self.schedule("london")["fired"]
        self.until(lambda: self.schedule("london")["fired"] > london + 1, "the other one has ended, too")
        self.assertEqual(self.schedule("berlin")["fired"], fired)
        self.assertEqual(self.schedule("berlin")["missed-times"], 0)
        self.assertEqual(self.schedule("yearly")["state"], "active")
        stop()
        os.rename(self.folder + "/gone", f"{self.zones}/{GOES}")
        self.start()
        self.assertNotIn("at=schedules.zone", self.log())
        self.until(lambda: self.schedule("berlin")["fired"] > fired, "it does not go on")
        self.assertEqual(self.schedule("berlin")["state"], "active")


if __name__ == "__main__":
    unittest.main()
