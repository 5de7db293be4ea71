"""Whether peers_bench.py measures what it says, in small, and reads what the programs of others print. No time is asserted.

Peers that tests/run does not install take part with PERENNIAL_LONG, where they are there.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import peers_bench  # noqa: E402
from beanstalk_peers import rates_of_report  # noqa: E402
from peer import JOBS, LOADS, Failed, version_in  # noqa: E402
from postgresql_peers import result_of_pgbench  # noqa: E402
from rabbitmq_peer import rates_of_amqp_load  # noqa: E402
from redis_peers import rate_of_redis_benchmark  # noqa: E402

BUILD = os.environ["BUILD"]
KEYS = peers_bench.KEYS if os.environ.get("PERENNIAL_LONG") else ["perennial", "beanstalkd", "redis"]
ENDS_WITHIN_S = 300
SHORT_S, LONG_S = 0.1, 5

REDIS_BENCHMARK = """\
"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"
"LPUSH jobs abcdefgh","28612.30","1.123","0.232","0.879","2.511","3.807","9.999"
"""

PGBENCH = """\
pgbench (15.18 (Debian 15.18-0+deb12u1))
transaction type: /var/tmp/script.sql
scaling factor: 1
query mode: prepared
number of clients: 50
number of threads: 2
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 24000
number of failed transactions: 0 (0.000%)
latency average = 6.104 ms
initial connection time = 91.402 ms
tps = 8000.000000 (without initial connection time)
"""

AMQP_LOAD = [
    '{"work": "put-pipelined 8x64 put", "per_second": 31954, "p50_us": 15100, "p99_us": 30000, "count": 95862}',
    '{"work": "cycle 25+25 cycle", "per_second": 4675, "p50_us": 4900, "p99_us": 9000, "count": 14025}',
    '{"work": "cycle 25+25 put", "per_second": 4700, "p50_us": 4900, "p99_us": 9000, "count": 14100}',
]


def measured(setting, operation, rate):
    return {"setting": setting, "operation": operation, "throughput": {"per_second": rate}}


def figures(report):
    return [loads["lowest"] for peer in report["peers"] for loads in peer["loads"].values()]


class Outputs(unittest.TestCase):
    def test_redis_benchmark(self):
        self.assertEqual(rate_of_redis_benchmark(REDIS_BENCHMARK), 28612.30)
        for text in ("", REDIS_BENCHMARK.splitlines()[0], "Error from server: WRONGTYPE\n", REDIS_BENCHMARK + REDIS_BENCHMARK.splitlines()[1]):
            with self.subTest(text), self.assertRaises(Failed):
                rate_of_redis_benchmark(text)

    def test_pgbench(self):
        self.assertEqual(result_of_pgbench(PGBENCH), (24000, 3.0))
        self.assertEqual(result_of_pgbench(PGBENCH.replace("processed: 24000", "processed: 0"))[0], 0)
        for text in ("", PGBENCH.replace("tps", "rate"), PGBENCH.replace("transactions: 0 (0.000%)", "transactions: 7 (0.029%)")):
            with self.subTest(text), self.assertRaises(Failed):
                result_of_pgbench(text)

    def test_amqp_load(self):
        self.assertEqual(rates_of_amqp_load(AMQP_LOAD), {"put 8x64": 31954, JOBS: 4675})

    def test_report_of_perennial_bench(self):
        report = {"measurements": [measured("50x1", "put", 1.0), measured("200x1", "put", 2.0), measured("8x64", "put", 3.0),
                                   measured("25+25", "cycle", 4.0), measured("25+25", "put", 5.0), measured("25+25", "delete", 6.0)]}
        self.assertEqual(rates_of_report(report), dict(zip(LOADS, (1.0, 2.0, 3.0, 4.0))))

    def test_versions(self):
        for text, version in (("perenniald 1.0.0\n", "1.0.0"), ("beanstalkd 1.12\n", "1.12"), ("v20.20.2\n", "20.20.2"),
                              ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c\n", "7.0.15"),
                              ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", "15.18")):
            self.assertEqual(version_in(text), version)

    def test_cells(self):
        self.assertEqual(peers_bench.cell({"median": 1234.5, "lowest": 999, "highest": 20000}), "1,234 (999..20,000)")
        self.assertEqual(peers_bench.cell(None), "")


class Runs(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        os.chmod(self.folder, 0o711)  # PostgreSQL's user has a folder below it.

    def start(self, peers, folder, *words, build=BUILD, environment=None):
        os.mkdir(folder)
        os.chmod(folder, 0o711)
        run = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "peers_bench.py"), "--peers", peers, "--seconds", str(SHORT_S), "--rounds", "1",
             "--dir", folder, "--build", build, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.addCleanup(self.end, run)
        return run

    def end(self, run):
        run.terminate()
        run.communicate(timeout=ENDS_WITHIN_S)

    def test_each_peer_that_is_installed_has_positive_figures(self):
        # All at once, because the figures do not matter here.
        runs = {key: self.start(key, f"{self.folder}/{key}", "--json", f"{self.folder}/{key}.json") for key in KEYS}
        for key, run in runs.items():
            with self.subTest(key):
                output, report = self.result(key, run)
                if 0 in figures(report):  # A disk can stall for longer than such a round.
                    run = self.start(key, f"{self.folder}/{key}-long", "--json", f"{self.folder}/{key}.json", "--seconds", str(LONG_S))
                    output, report = self.result(key, run)
                self.check(key, output, report)
                self.assertEqual(os.listdir(f"{self.folder}/{key}"), [])

    def result(self, key, run):
        """What it has printed, and its report."""
        output, errors = run.communicate(timeout=ENDS_WITHIN_S)
        self.assertEqual(run.returncode, 0, output + errors)
        with open(f"{self.folder}/{key}.json", encoding="utf-8") as file:
            return output, json.load(file)

    def check(self, key, output, report):
        kinds = {kind.name: kind for kind in peers_bench.PEERS if kind.key == key}
        names = [peer["name"] for peer in report["peers"]]
        self.assertEqual(names + list(report["left_out"]), list(kinds), output)
        if key in ("perennial", "beanstalkd"):
            self.assertEqual(report["left_out"], {})
        for name, why in report["left_out"].items():
            self.assertIn(kinds[name].install, why)
            self.assertIn(f"Left out: {name}: there is no ", output)
            print(f"not installed: {name}", flush=True)
        rows = {line.split("|")[1].strip(): line.split("|")[3:-1] for line in output.splitlines() if line.startswith("| ")}
        for peer in report["peers"]:
            self.assertEqual(list(peer["loads"]), [JOBS] if key == "bullmq" else LOADS)
            for load in peer["loads"]:
                text = rows[peer["name"]][LOADS.index(load)].split()[0]
                self.assertEqual(text, f"{peer['loads'][load]['median']:,.0f}")
        self.assertTrue(all(figure > 0 for figure in figures(report)), output)

    def test_what_is_not_there_is_left_out(self):
        os.mkdir(f"{self.folder}/build")
        environment = {name: value for name, value in os.environ.items() if name not in ("PERENNIALD", "BEANSTALKD")}
        run = self.start("perennial,bullmq,rabbitmq", f"{self.folder}/data", build=f"{self.folder}/build", environment=environment)
        output, errors = run.communicate(timeout=ENDS_WITHIN_S)
        self.assertEqual(run.returncode, 0, output + errors)
        self.assertIn("Left out: Perennial: there is no perenniald, no perennial-bench; ninja -C build", output)
        self.assertIn("Left out: RabbitMQ", output)

    def test_a_signal_ends_the_server_and_empties_the_folder(self):
        run = self.start("perennial", f"{self.folder}/data", "--seconds", "60")
        deadline = time.monotonic() + ENDS_WITHIN_S
        while not self.servers():
            self.assertIsNone(run.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=ENDS_WITHIN_S)
        self.assertEqual(run.returncode, 130)
        self.assertEqual([], self.servers())
        self.assertEqual(os.listdir(f"{self.folder}/data"), [])

    def servers(self):
        """The command lines of processes that name this test's folder, without the program that is tested."""
        found = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
                    words = file.read()
            except OSError:
                continue
            if f"{self.folder}/data/" in words and "peers_bench" not in words:
                found.append(words.replace("\0", " "))
        return found

    def test_a_peer_that_is_not_known_is_refused(self):
        run = self.start("perennial,nats", f"{self.folder}/data")
        _, errors = run.communicate(timeout=ENDS_WITHIN_S)
        self.assertEqual(run.returncode, 2)
        self.assertIn("there is no nats; there are perennial, beanstalkd, ", errors)


if __name__ == "__main__":
    unittest.main()
