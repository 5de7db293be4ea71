"""`perennial cluster` with real members of etcd and real nodes.

PERENNIALD names the server, beside which `perennial` and etcd are looked for. ETCD names etcd.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ledger import Client, Load, all_jobs  # noqa: E402
from processes import Cluster, Process, free_port  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
PERENNIAL = os.path.join(os.path.dirname(PERENNIALD), "perennial")
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))
SKIPPED_IDS = 2**40


def run(*arguments):
    return subprocess.run([PERENNIAL, "cluster", *arguments], capture_output=True, text=True, timeout=60)


def config_of(jobs, number):
    return f"{jobs.folder}/n{number}.yaml"


class ToolTest(unittest.TestCase):
    def succeed(self, *arguments):
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def refuse(self, *arguments, code=2):
        """What it says."""
        done = run(*arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def put(self, ports, bodies):
        """Their ids."""
        client = Client(ports)
        ids = []
        for body in bodies:
            answer = client.ask(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body))
            self.assertEqual(answer[0], b"INSERTED")
            ids.append(int(answer[1]))
        client.close()
        return ids

    def wait_until(self, holds, seconds=30):
        deadline = time.monotonic() + seconds
        while not holds():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)

    def serves(self, port):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            return False

    def wait_for_etcd(self, jobs):
        """Until it answers the tool, which then says that there is no cluster."""
        self.wait_until(lambda: "etcd holds no cluster" in run("status", "-c", config_of(jobs, 0)).stderr)

    def wait_for_no_leader(self, jobs):
        def is_gone():
            status = json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)
            return status["leader"] is None and not status["nodes"]

        self.wait_until(is_gone)


class Status(ToolTest):
    def test_it_shows_a_healthy_cluster_and_one_without_nodes(self):
        with Cluster(ETCD, PERENNIALD, members=3, nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            self.put(jobs.ports, [b"a", b"b", b"c"])

            def is_followed():
                status = json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)
                roles = {node["role"] for node in status["nodes"] if node["applied"] == status["log"]["last"]}
                return roles == {"leader", "standby"}

            self.wait_until(is_followed)
            status = json.loads(self.succeed("status", "-c", config_of(jobs, 0), "--json"))
            self.assertEqual(status["leader"]["node"], f"n{leader}")
            self.assertEqual(status["leader"]["epoch"], status["epoch"])
            roles = {node["node"]: node["role"] for node in status["nodes"]}
            self.assertEqual(roles, {f"n{leader}": "leader", f"n{1 - leader}": "standby"})
            self.assertEqual(status["warnings"], [])
            self.assertEqual(len(status["members"]), 3)
            self.assertEqual([member["is_leader"] for member in status["members"]].count(True), 1)
            self.assertGreaterEqual(status["log"]["entries"], 3)
            table = self.succeed("status", "--name", "jobs", *(f"--etcd={url}" for url in jobs.endpoints))
            self.assertIn(f"leader   n{leader} at 127.0.0.1:{jobs.ports[leader]}", table)
            self.assertRegex(table, rf"n{1 - leader} +standby +[1-9]")

            jobs.members[0].kill()
            status = run("status", "-c", config_of(jobs, 0))
            self.assertEqual(status.returncode, 1)
            self.assertIn("warning: a member of etcd does not answer: " + jobs.endpoints[0], status.stdout)
            jobs.members[0].start()

            for node in jobs.nodes:
                node.kill()
            self.wait_for_no_leader(jobs)
            status = run("status", "-c", config_of(jobs, 0))
            self.assertEqual(status.returncode, 1)
            self.assertIn("warning: no node leads", status.stdout)
            self.assertIn("no node is there", status.stdout)
            self.assertIn("no node leads", self.refuse("handover", "-c", config_of(jobs, 0), code=1))

    def test_it_warns_of_leaders_that_follow_each_other(self):
        """A cluster whose leader changed every minute looked healthy."""
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1, settings="  copies_min: 1\n") as jobs:
            jobs.start()
            for count in range(1, 4):
                jobs.wait_for_leader()
                self.wait_until(lambda: jobs.status()["leader"] and jobs.status()["leader"]["puts"] == "accepted")
                status = jobs.status()
                self.assertEqual(status["elections"]["count"], count)
                self.assertEqual(len(status["warnings"]), 1 if count == 3 else 0, status["warnings"])
                jobs.nodes[0].kill()
                jobs.nodes[0].start()
            self.assertIn("3 nodes were elected in the last ten minutes", status["warnings"][0])

    def test_it_names_the_endpoints_of_a_silent_etcd(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            closed = f"http://127.0.0.1:{free_port()}"
            said = self.refuse("status", "--name", "jobs", "--etcd", url, "--etcd", closed, code=1)
            self.assertIn("etcd does not answer", said)
            self.assertIn(f"{url}, {closed}", said)

    def test_it_says_what_is_missing(self):
        self.assertIn("/nowhere.yaml", self.refuse("status", "--config", "/nowhere.yaml"))
        self.assertIn("--etcd: 'a'", self.refuse("status", "--name", "jobs", "--etcd", "a"))
        self.assertIn("--name: 'a/b'", self.refuse("status", "--name", "a/b", "--etcd", "http://127.0.0.1:1"))


class Handover(ToolTest):
    def test_it_refuses_what_cannot_be(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            jobs.nodes[0].start()
            jobs.members[0].start()
            leader = jobs.wait_for_leader()
            config = config_of(jobs, 0)
            self.assertIn("no standby that may lead is up to date", self.refuse("handover", "-c", config, code=1))
            jobs.nodes[1].start()
            self.wait_until(lambda: run("status", "-c", config).stdout.count(" standby ") == 1)
            self.assertIn("there is no node x; there are: n0, n1", self.refuse("handover", "-c", config, "--to", "x"))
            self.assertIn("n0 leads already", self.refuse("handover", "-c", config, "--to", f"n{leader}"))
            # A leader that does not look.
            jobs.nodes[0].signal(signal.SIGSTOP)
            said = self.refuse("handover", "-c", config, "--to", "n1", "--wait", "1", code=1)
            self.assertIn("n0 has not taken the request within 1 s, so it was withdrawn", said)
            jobs.nodes[0].signal(signal.SIGCONT)


class Init(ToolTest):
    def single_server(self, jobs):
        """A server without a cluster, on the directory of the first node."""
        arguments = [
            PERENNIALD, "-b", jobs.data_dir(0), "-l", "127.0.0.1", "-p", str(jobs.ports[0]),
        ]  # fmt: skip
        return Process(arguments, f"{jobs.folder}/single.log")

    def test_a_single_servers_jobs_are_the_clusters(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1) as jobs:
            jobs.members[0].start()
            server = self.single_server(jobs)
            server.start()
            self.addCleanup(server.kill)
            self.wait_until(lambda: self.serves(jobs.ports[0]))
            bodies = [b"%03d" % i for i in range(50)]
            ids = self.put(jobs.ports, bodies)
            arguments = ("init", "-c", config_of(jobs, 0), "--data-dir", jobs.data_dir(0))
            self.wait_for_etcd(jobs)
            self.assertIn("is in use by another process", self.refuse(*arguments, code=1))
            server.signal(signal.SIGTERM)
            server.wait(20)
            # Its node is refused before, and names the way.
            jobs.nodes[0].start()
            self.assertNotEqual(jobs.nodes[0].wait(20), 0)
            self.assertIn("perennial cluster init", jobs.nodes[0].output())

            done = json.loads(self.succeed(*arguments, "--json"))
            self.assertEqual((done["cluster"], done["data_dir"]), ("jobs", jobs.data_dir(0)))
            self.assertGreaterEqual(done["last_batch"], len(bodies))
            self.assertIn("already: start its node", self.refuse(*arguments))
            jobs.nodes[0].start()
            jobs.wait_for_leader()
            more = self.put(jobs.ports, [b"more"])
            self.assertEqual(more, [ids[-1] + 1])
            found = all_jobs(jobs.ports)
            self.assertEqual(found, dict(zip(ids + more, bodies + [b"more"])))

    def test_an_interrupted_init_is_finished_by_the_next(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            jobs.members[0].start()
            server = self.single_server(jobs)
            server.start()
            self.addCleanup(server.kill)
            self.wait_until(lambda: self.serves(jobs.ports[0]))
            ids = self.put(jobs.ports, [b"a", b"b"])
            server.signal(signal.SIGTERM)
            server.wait(20)
            # As it is when etcd has the cluster and the directory has nothing yet.
            before = f"{jobs.folder}/before"
            shutil.copytree(jobs.data_dir(0), before)
            self.wait_for_etcd(jobs)
            arguments = ("init", "-c", config_of(jobs, 0), "--data-dir")
            first = self.succeed(*arguments, jobs.data_dir(0))
            again = self.succeed(*arguments, before)
            self.assertEqual([line for line in first.splitlines() if line.startswith("id")],
                             [line for line in again.splitlines() if line.startswith("id")])  # fmt: skip
            shutil.rmtree(jobs.data_dir(0))
            shutil.move(before, jobs.data_dir(0))
            jobs.nodes[0].start()
            jobs.wait_for_leader()
            self.assertEqual(all_jobs(jobs.ports), dict(zip(ids, [b"a", b"b"])))
            # Another directory with jobs is another matter.
            other = f"{jobs.folder}/other"
            server = Process([PERENNIALD, "-b", other, "-l", "127.0.0.1", "-p", str(jobs.ports[1])],
                             f"{jobs.folder}/other.log")  # fmt: skip
            server.start()
            self.addCleanup(server.kill)
            self.wait_until(lambda: self.serves(jobs.ports[1]))
            self.put([jobs.ports[1]], [b"x"])
            server.signal(signal.SIGTERM)
            server.wait(20)
            self.assertIn("etcd holds a cluster jobs already", self.refuse(*arguments, other))

    def test_a_directory_must_be_there(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1) as jobs:
            jobs.members[0].start()
            self.wait_for_etcd(jobs)
            missing = f"{jobs.folder}/missing"
            self.refuse("init", "-c", config_of(jobs, 0), "--data-dir", missing, code=1)
            self.assertFalse(os.path.exists(missing))
            self.wait_for_etcd(jobs)  # Nothing was put there.


class Recover(ToolTest):
    def test_a_directory_begins_a_new_log_after_etcd_was_lost(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            jobs.start()
            jobs.wait_for_leader()
            bodies = [b"%03d" % i for i in range(50)]
            ids = self.put(jobs.ports, bodies)
            arguments = ("recover", "-c", config_of(jobs, 0), "--data-dir", jobs.data_dir(0))
            self.assertIn("nodes of the cluster are there", self.refuse(*arguments, "--yes"))

            def is_followed():
                status = json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)
                return {node["flushed"] for node in status["nodes"]} == {status["log"]["last"]}

            self.wait_until(is_followed)
            for node in jobs.nodes:
                node.kill()
            self.wait_for_no_leader(jobs)
            self.assertIn("nothing is lost, so start its node", self.refuse(*arguments, "--yes"))

            jobs.members[0].kill()
            shutil.rmtree(f"{jobs.folder}/m0")
            jobs.members[0].start()
            self.wait_for_etcd(jobs)
            plan = run(*arguments)
            self.assertEqual(plan.returncode, 2)
            self.assertIn("run it again with --yes", plan.stderr)
            self.assertIn("etcd       holds no cluster jobs", plan.stdout)
            plan = run(*arguments, "--json")
            self.assertEqual(plan.returncode, 2)
            plan = json.loads(plan.stdout)
            self.assertEqual((plan["cluster"], plan["recovered"], plan["deleted_log"]), ("jobs", False, None))
            self.assertEqual(int(plan["next_id"]), int(plan["former_next_id"]) + SKIPPED_IDS)
            self.wait_for_etcd(jobs)  # Nothing was put there.
            self.assertIn("Done: the id of the cluster is", self.succeed(*arguments, "--yes"))
            self.assertIn("nothing is lost, so start its node", self.refuse(*arguments, "--yes"))

            jobs.nodes[0].start()
            jobs.wait_for_leader()
            # A directory of the former log is refused.
            jobs.nodes[1].start()
            self.assertNotEqual(jobs.nodes[1].wait(20), 0)
            self.assertIn("belongs to another cluster", jobs.nodes[1].output())
            more = self.put(jobs.ports, [b"more"])
            self.assertGreater(more[0], ids[-1] + SKIPPED_IDS)
            self.assertEqual(all_jobs([jobs.ports[0]]), dict(zip(ids + more, bodies + [b"more"])))

    def test_an_etcd_that_was_restored_from_an_older_snapshot(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1) as jobs:
            jobs.start()
            jobs.wait_for_leader()
            ids = self.put(jobs.ports, [b"a"])
            snapshot = f"{jobs.folder}/snapshot"
            jobs.members[0].kill()
            shutil.copytree(f"{jobs.folder}/m0", snapshot)
            jobs.members[0].start()
            jobs.nodes[0].kill()
            jobs.nodes[0].start()
            jobs.wait_for_leader()
            ids += self.put(jobs.ports, [b"b"])
            jobs.nodes[0].kill()
            copy = f"{jobs.folder}/copy"
            shutil.copytree(jobs.data_dir(0), copy)
            jobs.nodes[0].start()
            jobs.wait_for_leader()
            ids += self.put(jobs.ports, [b"c"])
            jobs.nodes[0].signal(signal.SIGTERM)
            jobs.nodes[0].wait(20)
            jobs.members[0].kill()
            shutil.rmtree(f"{jobs.folder}/m0")
            shutil.move(snapshot, f"{jobs.folder}/m0")
            jobs.members[0].start()
            self.wait_until(lambda: run("status", "-c", config_of(jobs, 0)).stdout != "")
            old_epoch = json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)["epoch"]
            jobs.nodes[0].start()
            self.assertEqual(jobs.nodes[0].wait(20), 65)
            self.assertIn("perennial cluster recover", jobs.nodes[0].output())
            self.wait_for_no_leader(jobs)
            # The directory of a node that was away since then.
            older = f"{jobs.folder}/older"
            shutil.copytree(copy, older)
            said = self.refuse("recover", "-c", config_of(jobs, 0), "--data-dir", older, "--yes")
            self.assertIn("node n0 has told that it holds batch", said)
            said = self.succeed("recover", "-c", config_of(jobs, 0), "--data-dir", jobs.data_dir(0), "--yes")
            self.assertIn("holds a log of this cluster up to batch", said)
            status = json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)
            self.assertEqual(status["log"]["entries"], 0)
            self.assertGreater(status["epoch"], old_epoch)
            jobs.nodes[0].start()
            jobs.wait_for_leader()
            self.assertEqual(all_jobs(jobs.ports), dict(zip(ids, [b"a", b"b", b"c"])))


class GoBack(ToolTest):
    def test_a_cluster_goes_back_to_a_checkpoint(self):
        """As cluster.md says, "Go back to a checkpoint"."""
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            jobs.start()
            leader = jobs.wait_for_leader()
            self.wait_until(lambda: run("status", "-c", config_of(jobs, 0)).returncode == 0)
            ids = self.put(jobs.ports, [b"%d" % number for number in range(20)])
            # By way of the standby.
            made = subprocess.run(
                [jobs.tool(), "checkpoint", "create", "--server", f"127.0.0.1:{jobs.ports[1 - leader]}"],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            self.assertEqual(made.returncode, 0, made.stderr)
            made_by = f"{jobs.data_dir(leader)}/checkpoints"
            checkpoint = f"{jobs.folder}/backup"
            shutil.copytree(f"{made_by}/{os.listdir(made_by)[0]}", checkpoint)
            self.put(jobs.ports, [b"a mistake"])
            for node in jobs.nodes:
                node.signal(signal.SIGTERM)
                node.wait(30)
            self.wait_for_no_leader(jobs)
            for number in range(2):
                shutil.move(jobs.data_dir(number), f"{jobs.data_dir(number)}.before")
            restored = subprocess.run(
                [jobs.tool(), "restore", "--from", checkpoint, "--to", jobs.data_dir(0)],
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            self.assertEqual(restored.returncode, 0, restored.stderr)
            self.assertIn(f"perennial cluster recover --data-dir {jobs.data_dir(0)} --go-back --yes", restored.stdout)
            arguments = ("recover", "-c", config_of(jobs, 0), "--data-dir", jobs.data_dir(0))
            self.assertIn("--go-back gives up what came after", self.refuse(*arguments, "--yes"))
            self.assertIn("Done: the id of the cluster is", self.succeed(*arguments, "--go-back", "--yes"))
            jobs.nodes[0].start()
            jobs.wait_for_leader()
            jobs.nodes[1].start()
            # Not without a warning: three were elected in ten minutes.
            self.wait_until(lambda: [node["role"] for node in jobs.status()["nodes"]] == ["leader", "standby"])
            self.assertEqual(all_jobs(jobs.ports), {job: b"%d" % number for number, job in enumerate(ids)})


class Verify(ToolTest):
    def test_it_compares_all_nodes_while_they_serve(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=3) as jobs:
            jobs.start()
            jobs.wait_for_leader()
            self.wait_until(lambda: run("status", "-c", config_of(jobs, 0)).returncode == 0)
            self.put(jobs.ports, [b"%d" % number for number in range(300)])
            said = self.succeed("verify", "-c", config_of(jobs, 0))
            self.assertRegex(said, r"^3 nodes hold the same [0-9,]+ rows after batch [0-9,]+\n$")
            load = Load(jobs.ports)
            self.addCleanup(load.stop)
            time.sleep(2)
            report = json.loads(self.succeed("verify", "-c", config_of(jobs, 0), "--json"))
            load.stop()
            self.assertTrue(report["equal"])
            self.assertEqual([node["node"] for node in report["nodes"]], ["n0", "n1", "n2"])
            families = [node["families"] for node in report["nodes"]]
            self.assertGreater(families[0]["bodies"]["rows"], 100)
            self.assertEqual(families, [families[0]] * 3)
            # Nothing of it is left.
            for number in range(3):
                self.assertFalse(os.path.exists(jobs.data_dir(number) + "/peer"))

    def test_it_needs_all_nodes(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=1) as jobs:
            jobs.start()
            jobs.wait_for_leader()
            self.wait_until(lambda: json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)["nodes"])
            said = self.refuse("verify", "-c", config_of(jobs, 0), code=1)
            self.assertIn("one node only", said)


class HandoverOverHttp(ToolTest):
    """By the button of the console: tests/store/cluster has the refusals of the node itself."""

    def post(self, jobs, number):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", jobs.http_ports[number], timeout=10)) as connection:
            connection.request("POST", "/api/v1/cluster/handover", "{}", {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def test_the_leader_hands_over_once_a_standby_may_lead(self):
        with Cluster(ETCD, PERENNIALD, members=1, nodes=2) as jobs:
            jobs.members[0].start()
            jobs.nodes[0].start()
            self.assertEqual(jobs.wait_for_leader(), 0)
            status, answer = self.post(jobs, 0)
            self.assertEqual((status, answer["error"]), (409, "conflict"))
            jobs.nodes[1].start()
            self.wait_until(lambda: run("status", "-c", config_of(jobs, 0)).stdout.count(" standby ") == 1)
            self.wait_until(lambda: self.post(jobs, 0)[0] == 202)
            self.assertEqual(jobs.nodes[0].wait(20), 76)
            self.assertEqual(jobs.wait_for_leader(), 1)


class HandoverUnderLoad(ToolTest):
    def test_nothing_is_lost_and_the_named_node_leads(self):
        with Cluster(ETCD, PERENNIALD, members=3, nodes=3) as jobs:
            jobs.start()
            jobs.wait_for_leader()
            self.wait_until(lambda: run("status", "-c", config_of(jobs, 0)).returncode == 0)
            load = Load(jobs.ports)
            self.addCleanup(load.stop)
            for _ in range(3):
                leader = jobs.wait_for_leader()
                target = (leader + 1) % len(jobs.nodes)

                def is_standby(name=f"n{target}"):
                    status = json.loads(run("status", "-c", config_of(jobs, 0), "--json").stdout)
                    return any(node["node"] == name and node["role"] == "standby" for node in status["nodes"])

                self.wait_until(is_standby)
                time.sleep(1)
                said = self.succeed("handover", "-c", config_of(jobs, 0), "--to", f"n{target}")
                print(said.strip())
                self.assertIn(f"n{target} leads, epoch", said)
                # Its supervisor starts it again, as a standby.
                self.assertEqual(jobs.nodes[leader].wait(20), 76)
                jobs.nodes[leader].start()
            jobs.wait_for_leader()
            time.sleep(1)
            load.stop()
            found = all_jobs(jobs.ports)
            self.assertEqual(load.ledger.judge(found), [], jobs.logs())
            self.assertGreater(len(load.ledger.stored), 100)



if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    unittest.main(verbosity=2)
