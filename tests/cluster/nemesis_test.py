"""Three members of etcd and three nodes under load, while machines, disks, clocks and cables fail: C1 to C4, C6 and C8.

PERENNIALD names the server, and SHIFTED_CLOCK the library of tests/support/shifted_clock.cc. ETCD names etcd, which is otherwise looked
for beside the server, where tests/run unpacks it. CLUSTER_SECONDS is how long the faults go on, and CLUSTER_SEED what
draws them. As root each process is on a machine of its own (network.py), with a disk that can be full; otherwise
processes fail, and the network does not.
"""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import network  # noqa: E402
from ledger import Load, all_jobs  # noqa: E402
from processes import Cluster  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))
SHIFTED_CLOCK = os.environ["SHIFTED_CLOCK"]
SECONDS = float(os.environ.get("CLUSTER_SECONDS", "60"))
EXIT_NO_SPACE = 75
EXIT_NOT_LEADER = 76
# Killed, stopped, out of space, or no longer the leader.
EXPECTED = {-signal.SIGKILL, 0, EXIT_NO_SPACE, EXIT_NOT_LEADER}
MACHINES = [f"{kind}{number}" for kind in "mn" for number in range(3)]


class Faults:
    """What can fail. Each begins and ends a fault, except that ended nodes stay so: a supervisor starts them again."""

    def __init__(self, jobs, rng):
        self.jobs = jobs
        self.random = rng
        self.of_processes = [
            self.kill_leader, self.kill_standby, self.stop_leader, self.stop_standby, self.kill_member, self.stop_member,
            self.slow_member, self.lose_directory, self.kill_leader_and_member, self.kill_leader_and_stop_member,
            self.hand_over, self.restart_one_by_one, self.lose_majority, self.set_clock,
        ]  # fmt: skip
        self.of_machines = [
            self.pull_cable_of_leader, self.pull_cable_of_standby, self.pull_cable_of_member, self.cut_leader_from_etcd,
            self.hear_but_not_speak, self.speak_but_not_hear, self.split, self.flap, self.fill_disk,
        ]  # fmt: skip

    def all(self):
        return self.of_processes + (self.of_machines if self.jobs.network else [])

    def node(self, is_leader):
        leader = self.jobs.leader()
        if is_leader and leader is not None:
            return leader
        return self.random.choice([n for n in range(len(self.jobs.nodes)) if n != leader])

    def wait(self, seconds):
        time.sleep(self.random.random() * seconds)

    # -- Processes.

    def kill_leader(self):
        self.jobs.nodes[self.node(True)].kill()

    def kill_standby(self):
        self.jobs.nodes[self.node(False)].kill()

    def stop(self, process, seconds):
        process.signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.signal(signal.SIGCONT)

    def stop_leader(self):
        """Longer than its lease, or not."""
        self.stop(self.jobs.nodes[self.node(True)], self.random.choice([1, 4.5, 8, 16]))

    def stop_standby(self):
        self.stop(self.jobs.nodes[self.node(False)], 8)

    def kill_member(self):
        member = self.random.choice(self.jobs.members)
        member.kill()
        self.wait(3)
        member.start()

    def stop_member(self):
        self.stop(self.random.choice(self.jobs.members), self.random.random() * 4)

    def slow_member(self):
        """Each of its answers is late."""
        member = self.random.choice(self.jobs.members)
        for _ in range(10):
            self.stop(member, 0.3)
            time.sleep(0.1)

    def kill_leader_and_member(self):
        self.kill_leader()
        self.kill_member()

    def kill_leader_and_stop_member(self):
        self.kill_leader()
        self.stop_member()

    def lose_majority(self):
        members = self.random.sample(self.jobs.members, 2)
        for member in members:
            member.kill()
        self.wait(8)
        for member in members:
            member.start()

    def hand_over(self):
        config = f"{self.jobs.folder}/n0.yaml"
        # Whether it can be done now is no matter.
        subprocess.run(
            [self.jobs.tool(), "cluster", "handover", "--config", config], capture_output=True, timeout=60, check=False
        )

    def restart_one_by_one(self):
        for node in self.jobs.nodes:
            if not node.is_running():
                continue
            node.signal(signal.SIGTERM)
            code = node.wait(60)
            # One that has just been started may not handle the signal yet.
            assert code in (0, EXIT_NOT_LEADER, -signal.SIGTERM), f"a stop ended with {code}:\n{self.jobs.logs()}"
            node.start()
            self.wait(1)

    def lose_directory(self):
        """Of a standby: it gets everything again."""
        number = self.node(False)
        self.jobs.nodes[number].kill()
        subprocess.run(["find", self.jobs.data_dir(number), "-mindepth", "1", "-delete"], check=True)

    def set_clock(self):
        """A node starts again, up to three days before or after the others."""
        node = self.jobs.nodes[self.random.randrange(3)]
        node.kill()
        offset = self.random.choice([-3 * 86400, -3600, -30, 0, 30, 3600, 3 * 86400])
        node.environment = {"LD_PRELOAD": SHIFTED_CLOCK, "SHIFT_CLOCK_S": str(offset)}
        node.start()

    # -- Machines.

    def pull_cable(self, machine, seconds):
        self.jobs.network.pull_cable(machine)
        time.sleep(seconds)
        self.jobs.network.mend()

    def pull_cable_of_leader(self):
        """Longer than its lease, or not."""
        self.pull_cable(f"n{self.node(True)}", self.random.choice([1, 4.5, 8, 16]))

    def pull_cable_of_standby(self):
        self.pull_cable(f"n{self.node(False)}", self.random.choice([1, 8]))

    def pull_cable_of_member(self):
        self.pull_cable(f"m{self.random.randrange(3)}", self.random.choice([1, 8]))

    def cut_leader_from_etcd(self):
        """Its clients reach it."""
        leader = self.node(True)
        for member in range(3):
            self.jobs.network.cut(f"n{leader}", f"m{member}")
        self.wait(12)
        self.jobs.network.mend()

    def hear_but_not_speak(self):
        """What the leader sends to etcd is lost."""
        leader = self.node(True)
        for member in range(3):
            self.jobs.network.drop(f"n{leader}", f"m{member}")
        self.wait(12)
        self.jobs.network.mend()

    def speak_but_not_hear(self):
        """What the leader sends reaches etcd, and what etcd answers is lost: outcomes are unknown."""
        leader = self.node(True)
        for member in range(3):
            self.jobs.network.drop(f"m{member}", f"n{leader}")
        self.wait(12)
        self.jobs.network.mend()

    def split(self):
        """Two halves of the cluster, drawn at random: one has a majority of etcd, and perhaps not the leader."""
        half = self.random.sample(MACHINES, 3)
        for one in half:
            for other in set(MACHINES) - set(half):
                self.jobs.network.cut(one, other)
        self.wait(12)
        self.jobs.network.mend()

    def flap(self):
        """A bad contact."""
        machine = self.random.choice(MACHINES)
        for _ in range(8):
            self.pull_cable(machine, self.random.random() * 0.5)
            self.wait(0.5)

    def fill_disk(self):
        path = os.path.join(self.jobs.data_dir(self.random.randrange(3)), "other-data")
        fill = ["dd", "if=/dev/zero", f"of={path}", "bs=1M"]  # Ends when there is no space.
        subprocess.run(fill, stderr=subprocess.DEVNULL, check=False)
        self.wait(6)
        os.remove(path)


class Nemesis(unittest.TestCase):
    def setUp(self):
        seed = int(os.environ.get("CLUSTER_SEED", time.time_ns() % 10**6))
        print(f"CLUSTER_SEED={seed}")
        self.random = random.Random(seed)

    def begin(self):
        machines = network.Network(MACHINES) if network.is_inside() else None
        # So little of the log is kept that a node which has lost its directory needs another one's copy.
        jobs = Cluster(ETCD, PERENNIALD, network=machines, settings="  log_keep_bytes: 1MiB\n")
        self.addCleanup(jobs.__exit__, None, None, None)
        for number in range(3):
            os.mkdir(jobs.data_dir(number))
            if machines:
                # A disk of its own.
                network.run("mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", jobs.data_dir(number))
                self.addCleanup(network.run, "umount", "-l", jobs.data_dir(number))
        jobs.start()
        jobs.wait_for_leader()
        return jobs

    def restart_ended_nodes(self, jobs):
        """As a supervisor does, as long as there is a reason for each end."""
        for node in jobs.nodes:
            if not node.is_running():
                code = node.process.returncode
                self.assertIn(code, EXPECTED, f"{node.log}:\n" + "\n".join(node.output().splitlines()[-30:]))
        codes = jobs.restart_ended_nodes()
        self.assertLessEqual(set(codes), EXPECTED, jobs.logs())  # One may have ended since.
        return codes

    def test_nothing_acknowledged_is_lost(self):
        jobs = self.begin()
        faults = Faults(jobs, self.random)
        load = Load(jobs.addresses)
        self.addCleanup(load.stop)
        counts, codes = {}, []
        deadline = time.monotonic() + SECONDS
        left = []
        while time.monotonic() < deadline:
            self.random.shuffle(left := left or faults.all())
            fault = left.pop()  # Each once, before any comes again.
            print(f"{SECONDS - deadline + time.monotonic():.1f} s: {fault.__name__}", flush=True)
            fault()
            counts[fault.__name__] = counts.get(fault.__name__, 0) + 1
            codes += self.restart_ended_nodes(jobs)
            time.sleep(self.random.random() * 2)
        codes += self.restart_ended_nodes(jobs)
        jobs.wait_for_leader(60)
        time.sleep(3)
        load.stop()
        codes += self.restart_ended_nodes(jobs)
        jobs.wait_for_leader(60)
        stored = len(load.ledger.stored)
        found = all_jobs(jobs.addresses)
        wrong = load.ledger.judge(found)
        print(f"{stored} stored, {len(load.ledger.deleted)} deleted, {len(found)} left; {counts}; "
              f"exit codes {({code: codes.count(code) for code in sorted(set(codes))})}")  # fmt: skip
        self.assertEqual(wrong, [], jobs.logs())
        jobs.wait_until_equal()
        verified = subprocess.run(
            [jobs.tool(), "cluster", "verify", "--config", f"{jobs.folder}/n0.yaml"],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr + jobs.logs())
        print(verified.stdout.strip())
        contents = jobs.contents()
        for number, content in enumerate(contents):
            self.assertEqual(content, contents[0], f"n{number} and n0 hold different rows (C3)")
        self.assertGreater(stored, 100)


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    network.enter()
    unittest.main(verbosity=2)
