#!/usr/bin/env python3
"""The rules of etc/prometheus and the dashboard of etc/grafana: they are valid, and name what the real server shows.

PERENNIALD names the server. promtool is in Debian's package prometheus.
"""

import collections
import json
import os
import re
import socket
import subprocess
import unittest

from port import Port, free_port, unpacked

ETC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../etc")
RULES = os.path.join(ETC, "prometheus/perennial.rules.yml")
RULES_TEST = os.path.join(ETC, "prometheus/perennial.rules.test.yml")
DASHBOARD = os.path.join(ETC, "grafana/perennial.json")
PARTS = ("_bucket", "_sum", "_count")


def text_of(path):
    with open(path) as file:
        return file.read()


def dashboard():
    with open(DASHBOARD) as file:
        return json.load(file)


def expressions():
    """Each expression of the dashboard with the title of its panel."""
    return [(panel["title"], target["expr"]) for panel in dashboard()["panels"] for target in panel.get("targets", [])]


def probes():
    """The commands of the probes in the document, by the path that they ask."""
    text = text_of(os.path.join(ETC, "docs/http.md"))
    section = text[text.index("livenessProbe:"):]
    section = section[:section.index("```")]
    commands = [re.sub(r"^ {8}", "", each, flags=re.MULTILINE) for each in re.findall(r"- \|\n((?: {8}.*\n)+)", section)]
    return {re.search(r"GET (/\w+)", each)[1]: each for each in commands}


class Probes(Port):
    def run_probe(self, path):
        command = probes()[path].replace("/11380", f"/{self.port}")
        return subprocess.run(["bash", "-c", command], timeout=30).returncode

    def test_the_probes_of_the_document_need_nothing_but_bash(self):
        for path in ("/livez", "/readyz"):
            self.assertNotIn("curl", probes()[path])
            self.assertEqual(self.run_probe(path), 0, path)
        with socket.create_connection(("127.0.0.1", self.queue), timeout=30) as client:
            client.sendall(b"drain\r\n")
            self.assertEqual(client.recv(100), b"DRAINING\r\n")
        self.assertEqual(self.run_probe("/livez"), 0)
        self.assertNotEqual(self.run_probe("/readyz"), 0)


class Names(Port):
    # Without TLS there is no certificate that expires.
    settings = """metrics_tube_histograms: ["*"]
listeners:
  - {{address: "127.0.0.1:{https}", tls: {{certificate: {folder}/cert.pem, key: {folder}/key.pem}}}}
"""

    def setUp(self):
        self.https = free_port()
        super().setUp()

    def start(self):
        self.make_certificate()
        super().start()

    def test_every_metric_is_one_that_the_server_shows(self):
        self.put_some_work()
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", self.ask("/metrics")[1], re.MULTILINE))
        histograms = {name for name, kind in types.items() if kind == "histogram"}
        known = (set(types) - histograms) | {name + part for name in histograms for part in PARTS}
        variables = [v["query"]["query"] for v in dashboard()["templating"]["list"] if v["type"] == "query"]
        rules = re.sub(r"#.*|perennial\.rules", "", text_of(RULES))
        for where, text in (("the rules", rules), ("the dashboard", " ".join(e for _, e in expressions())),
                            ("its variables", " ".join(variables))):
            # tests/cluster/standby_test.py has a server that shows those of a cluster.
            used = set(re.findall(r"\bperennial_(?!cluster_)\w+", text))
            self.assertEqual(used - known, set(), where)
            self.assertTrue(used, where)


class Rules(unittest.TestCase):
    def promtool(self, *words):
        checked = subprocess.run([unpacked("promtool", "prometheus"), *words], capture_output=True, text=True, timeout=120)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        return checked.stdout

    def test_promtool_accepts_them(self):
        count = len(re.findall(r"- alert: ", text_of(RULES)))
        self.assertIn(f"{count} rules found", self.promtool("check", "rules", RULES))
        self.assertIn("SUCCESS", self.promtool("test", "rules", RULES_TEST))

    def test_each_alert_is_seen_to_fire_and_not_to_fire(self):
        alerts = re.findall(r"- alert: (\w+)", text_of(RULES))
        self.assertEqual(len(alerts), len(set(alerts)))
        cases = re.findall(r"alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:( \[\])?\n", text_of(RULES_TEST))
        self.assertEqual({name for name, none in cases if not none}, set(alerts))
        self.assertEqual({name for name, none in cases if none}, set(alerts))

    def test_each_alert_has_a_runbook_whose_url_leads_to_a_section(self):
        base = "file:///usr/share/doc/perennial/etc/docs/operations.md#"
        headings = re.findall(r"^#+ (.*)$", text_of(os.path.join(ETC, "docs/operations.md")), re.MULTILINE)
        # As sites that show Markdown name a heading.
        anchors = {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-"): each for each in headings}
        for rule in text_of(RULES).split("- alert: ")[1:]:
            with self.subTest(rule.split("\n")[0]):
                runbook, url = re.search(r"runbook: '(.*)'\n +runbook_url: '(.*)'", rule).groups()
                self.assertTrue(url.startswith(base))
                self.assertEqual(anchors.get(url[len(base):]), runbook)


class Dashboard(unittest.TestCase):
    def test_it_has_the_form_that_grafana_reads(self):
        board = dashboard()
        self.assertIsNone(board["id"])  # Grafana gives one when it is imported.
        self.assertGreaterEqual(board["schemaVersion"], 36)
        panels = board["panels"]
        ids = [panel["id"] for panel in panels]
        self.assertEqual(len(ids), len(set(ids)))
        titles = collections.Counter(panel["title"] for panel in panels)
        self.assertEqual([title for title, count in titles.items() if count > 1], [])
        self.assertEqual([panel["title"] for panel in panels if panel["type"] == "row"],
                         ["Work", "Ages", "Latency", "Disk and sync", "Clients", "Security", "Tubes"])
        # No plugins.
        self.assertEqual({panel["type"] for panel in panels}, {"row", "stat", "timeseries"})
        variables = {variable["name"]: variable["type"] for variable in board["templating"]["list"]}
        self.assertEqual(variables, {"datasource": "datasource", "instance": "query", "tube": "query"})

    def test_no_panel_covers_another(self):
        taken = set()
        for panel in dashboard()["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    def test_every_panel_asks_the_chosen_source(self):
        source = {"type": "prometheus", "uid": "${datasource}"}
        for panel in dashboard()["panels"]:
            if panel["type"] == "row":
                continue
            self.assertEqual(panel["datasource"], source, panel["title"])
            references = [target["refId"] for target in panel["targets"]]
            self.assertTrue(references)
            self.assertEqual(len(references), len(set(references)), panel["title"])
            for target in panel["targets"]:
                self.assertEqual(target["datasource"], source, panel["title"])
                self.assertIn('instance=~"$instance"', target["expr"], panel["title"])
                self.assertEqual("perennial_tube_" in target["expr"], 'tube=~"$tube"' in target["expr"], target["expr"])

    def test_promtool_accepts_every_expression(self):
        promtool = unpacked("promtool", "prometheus")
        rules = [{"record": f"expression:{number}", "expr": expression.replace("$__rate_interval", "1m")}
                 for number, (_, expression) in enumerate(expressions())]
        # A document in JSON is one in YAML.
        checked = subprocess.run([promtool, "check", "rules", "/dev/stdin"], capture_output=True, text=True, timeout=120,
                                 input=json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        self.assertIn(f"{len(rules)} rules found", checked.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # With the reason where a test is skipped.
