#!/usr/bin/env python3
"""The metrics of the real server as the programs of Prometheus read them. PERENNIALD names the server.

Needs promtool and prometheus, of Debian's package prometheus, and python3-prometheus-client.
"""

import json
import os
import signal
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

from port import Port, free_port, unpacked

# Where Debian's packages are for a Python of another origin, too.
sys.path.append("/usr/lib/python3/dist-packages")
RULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc/prometheus/perennial.rules.yml")


class Formats(Port):
    settings = 'metrics_tube_histograms: ["*"]\n'

    def test_promtool_has_no_complaint(self):
        promtool = unpacked("promtool", "prometheus")
        self.put_some_work()
        # The old names are those of stats, and two keys of stats have microseconds in them.
        deliberate = "".join(f"{name} metric names should not contain abbreviated units\n"
                             for name in ("loop_lag_us", "sync_us_p99"))
        for path, want in (("/metrics", (0, "")), ("/metrics?names=beanstalkd", (3, deliberate))):
            text = self.ask(path)[1]
            checked = subprocess.run([promtool, "check", "metrics"], input=text, text=True, capture_output=True, timeout=60)
            self.assertEqual((checked.returncode, checked.stderr), want, path)
        # Else the test would say nothing.
        checked = subprocess.run([promtool, "check", "metrics"], input=text.replace("# HELP", "# NO"), text=True,
                                 capture_output=True, timeout=60)
        self.assertIn("no help text", checked.stderr)

    def test_open_metrics_are_strictly_right(self):
        try:
            from prometheus_client.openmetrics import parser
        except ImportError:
            self.skipTest("prometheus_client is not here: it is in Debian's package python3-prometheus-client")
        self.put_some_work()
        text = self.ask("/metrics", Accept="application/openmetrics-text; version=1.0.0")[1]
        families = {family.name: family for family in parser.text_string_to_metric_families(text)}
        for name, family in families.items():
            self.assertTrue(name.startswith("perennial_"), name)
            self.assertIn(family.type, ("counter", "gauge", "info", "histogram"), name)
            self.assertTrue(family.documentation.endswith("."), name)
            if name.endswith(("_seconds", "_bytes")):
                self.assertEqual(family.unit, name.rpartition("_")[2])
        stats = self.stats()
        states = {sample.labels["state"]: sample.value for sample in families["perennial_jobs"].samples}
        self.assertEqual(states, {state: float(stats[f"current-jobs-{state}"])
                                  for state in ("ready", "reserved", "delayed", "buried")})
        for name in ("perennial_tube_puts", "perennial_tube_wait_seconds", "perennial_tube_run_seconds"):
            tubes = {sample.labels["tube"] for sample in families[name].samples}
            self.assertEqual(tubes, {"default", "mail", "a.b", "odd+/;.$_()-tube"}, name)
        # The old format has the same families, by the names of their samples.
        old = {line.split()[2] for line in self.ask("/metrics")[1].splitlines() if line.startswith("# TYPE ")}
        suffixes = {"counter": "_total", "info": "_info"}
        self.assertEqual(old, {name + suffixes.get(family.type, "") for name, family in families.items()})


class Prometheus(Port):
    """A real Prometheus, which scrapes every second and has the rules."""

    def start_prometheus(self):
        program = unpacked("prometheus", "prometheus")
        self.own_port = free_port()
        settings = os.path.join(self.folder, "prometheus.yml")
        with open(settings, "w") as file:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                       "rule_files": [os.path.abspath(RULES)],
                       "scrape_configs": [{"job_name": "perennial", "static_configs": [
                           {"targets": [f"127.0.0.1:{self.port}"]}]}]}, file)
        log = open(os.path.join(self.folder, "prometheus.log"), "w+")
        self.addCleanup(log.close)
        self.prometheus = subprocess.Popen(
            [program, f"--config.file={settings}", f"--storage.tsdb.path={self.folder}/series",
             f"--web.listen-address=127.0.0.1:{self.own_port}", "--log.level=warn"], stdout=log, stderr=log)
        self.addCleanup(self.end_prometheus)

    def end_prometheus(self):
        self.prometheus.terminate()
        try:
            self.prometheus.wait(20)
        except subprocess.TimeoutExpired:
            self.prometheus.kill()
            self.prometheus.wait()

    def get(self, path, **query):
        url = f"http://127.0.0.1:{self.own_port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def query(self, expression, label):
        """The values by a label."""
        return {row["metric"].get(label, ""): float(row["value"][1])
                for row in self.get("/api/v1/query", query=expression)["result"]}

    def await_query(self, expression, label, want):
        """Asks again until it is so, because scrapes and evaluations take their time."""
        end, got = time.monotonic() + 60, None
        while got != want and time.monotonic() < end:
            self.assertIsNone(self.prometheus.poll(), "prometheus has ended")
            try:
                got = self.query(expression, label)
            except OSError as error:  # Not listening, or not ready yet.
                got = error
            if got != want:
                time.sleep(0.2)
        self.assertEqual(got, want, expression)

    def test_it_stores_what_stats_says(self):
        self.start_prometheus()
        self.put_some_work()
        stats, mail = self.stats(), self.stats(b"stats-tube mail")
        self.await_query("up", "job", {"perennial": 1.0})
        self.await_query("perennial_jobs", "state", {state: float(stats[f"current-jobs-{state}"])
                                                     for state in ("ready", "reserved", "delayed", "buried")})
        self.await_query('perennial_commands_total{command=~"put|bury|peek"}', "command",
                         {command: float(stats[f"cmd-{command}"]) for command in ("put", "bury", "peek")})
        self.await_query('sum by (tube) (perennial_tube_jobs{tube="mail"})', "tube",
                         {"mail": float(mail["current-jobs-ready"]) + float(mail["current-jobs-delayed"])})
        # A tube that ends leaves at once, and with it its series.
        self.assertEqual(self.speak(b"delete 4\r\n"), b"DELETED\r\n")
        self.await_query('perennial_tube_puts_total{tube=~"odd.*"}', "tube", {})
        # It asks for OpenMetrics, and takes that.
        self.assertEqual(self.query('perennial_http_requests_total{route="/metrics",code!="200"}', "code"), {})

    def test_it_evaluates_the_alerts(self):
        self.start_prometheus()
        self.put_some_work()
        self.await_query("perennial_draining", "job", {"perennial": 0.0})
        self.process.send_signal(signal.SIGUSR1)
        # Both have a time for which it must be so, and so they are pending.
        self.await_query('count by (alertname) (ALERTS{alertstate="pending"})', "alertname",
                         {"PerennialNotReady": 1.0, "PerennialNoConsumers": 2.0})
        rules = self.get("/api/v1/rules")["groups"][0]["rules"]
        self.assertEqual({rule["name"]: (rule["health"], rule.get("lastError", "")) for rule in rules},
                         {rule["name"]: ("ok", "") for rule in rules})


if __name__ == "__main__":
    unittest.main(verbosity=2)  # With the reason where a test is skipped.
