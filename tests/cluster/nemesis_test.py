"""Three members of etcd and three nodes under load, while machines, disks, clocks and cables fail: C1 to C4, C6 and C8.

PERENNIALD names the server, and SHIFTED_CLOCK and SLOW_SYNC the libraries of tests/support. ETCD names etcd, which is otherwise looked
for beside the server, where tests/run unpacks it. CLUSTER_SECONDS is how long the faults go on, and CLUSTER_SEED what draws them;
CLUSTER_FAULTS names some of them, separated by commas, which are then the only ones. OLD_PERENNIALD names a server of an earlier
version, which then runs beside this one; times are only printed then, since it may have faults of its own. As root each process is on a
machine of its own (network.py), with a disk that can be full; otherwise processes fail, and the network does not.

Fields: bodies, notes, in a second load delays, expiries, keys, pauses, tries and rates (timed_load.py), which knows the time, and in a third
jobs that end, are kept and come back (ended_load.py), and in a fourth schedules of every second (schedule_load.py). Doors: the ports for clients of all nodes. Blind to: two faults at once, but for those that are named so; TLS of clients, of etcd and HTTP; errors
of time below the bounds of timed_load.py; two nodes that are damaged at once.
"""

import base64
import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import network  # noqa: E402
from ended_load import EndedLoad  # noqa: E402
from ledger import Load, all_jobs  # noqa: E402
from processes import Cluster  # noqa: E402
from schedule_load import ScheduleLoad  # noqa: E402
from timed_load import TimedLoad  # noqa: E402

PERENNIALD = os.environ["PERENNIALD"]
ETCD = os.environ.get("ETCD", os.path.join(os.path.dirname(PERENNIALD), "etcd-server/usr/bin/etcd"))
SHIFTED_CLOCK = os.environ["SHIFTED_CLOCK"]
SLOW_SYNC = os.environ["SLOW_SYNC"]
SECONDS = float(os.environ.get("CLUSTER_SECONDS", "60"))
ONLY = os.environ.get("CLUSTER_FAULTS")
OLD_PERENNIALD = os.environ.get("OLD_PERENNIALD")
DAY_S = 86_400
# A wall clock that is within clock_offset_max_s (2) of the cluster's time is believed.
CLOCK_OFFSETS_S = [-DAY_S, -3600, -30, -1, 0, 1, 30, 3600, 3 * DAY_S, 10 * DAY_S]
EXIT_DAMAGED = 65
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
        self.on_all_stopped = lambda: None
        self.of_processes = [
            self.kill_leader, self.kill_standby, self.stop_leader, self.stop_standby, self.kill_member, self.stop_member,
            self.slow_member, self.lose_directory, self.kill_leader_and_member, self.kill_leader_and_stop_member,
            self.hand_over, self.restart_one_by_one, self.lose_majority, self.set_clock, self.clock_jumps, self.damage_standby,
            self.restore_etcd, self.alarm, self.compact_etcd, self.slow_disk, self.wrong_peer_address, self.swap_directories,
            self.clone_directory, self.damage_leader, self.rotate_password,
        ]  # fmt: skip
        if OLD_PERENNIALD:
            self.of_processes.append(self.change_version)
        self.of_machines = [
            self.pull_cable_of_leader, self.pull_cable_of_standby, self.pull_cable_of_member, self.cut_leader_from_etcd,
            self.hear_but_not_speak, self.speak_but_not_hear, self.split, self.flap, self.fill_disk,
            self.leader_resets_and_is_cut_from_etcd, self.leader_drops_its_peers,
        ]  # fmt: skip

    def all(self):
        faults = self.of_processes + (self.of_machines if self.jobs.network else [])
        return [fault for fault in faults if not ONLY or fault.__name__ in ONLY.split(",")]

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
        """As cluster.md says: the next one when the last one is ready. Where two had not joined yet, the third took the time of the
        cluster with it, and a start of all nodes believes most clocks, of which two may be wrong here."""
        for number, node in enumerate(self.jobs.nodes):
            if node.is_running():
                self.restart(node)
                self.wait_until_ready(number)
                self.wait(1)

    def wait_until_ready(self, number, seconds=30):
        deadline = time.monotonic() + seconds
        while self.jobs.ask(number, "/readyz")[0] != 200:
            assert time.monotonic() < deadline, f"n{number} is not ready:\n{self.jobs.describe()}"
            time.sleep(0.1)

    def restart(self, node):
        node.signal(signal.SIGTERM)
        code = node.wait(60)
        # One that has just been started may not handle the signal yet.
        assert code in (0, EXIT_NOT_LEADER, -signal.SIGTERM), f"a stop ended with {code}:\n{self.jobs.logs()}"
        node.start()

    def change_version(self):
        """Of one node, up or down: the other two go on with the one that they have."""
        node = self.jobs.nodes[self.random.randrange(3)]
        if not node.is_running():
            return
        at = next(at for at, word in enumerate(node.arguments) if word in (PERENNIALD, OLD_PERENNIALD))
        node.arguments[at] = OLD_PERENNIALD if node.arguments[at] == PERENNIALD else PERENNIALD
        print(f"  {node.log}: {node.arguments[at]}")
        self.restart(node)

    def lose_directory(self):
        """Of a standby: it gets everything again."""
        number = self.node(False)
        self.jobs.nodes[number].kill()
        self.empty(number)

    def set_clock(self):
        """A node starts again, with another clock."""
        number = self.random.randrange(3)
        self.jobs.nodes[number].kill()
        self.write_clock(number)
        self.jobs.nodes[number].start()

    def clock_jumps(self):
        """Of a node that runs, the leader perhaps, which may be followed by another one."""
        number = self.random.randrange(3)
        self.write_clock(number)
        if self.random.random() < 0.5:
            self.wait(2)
            self.kill_leader()
            self.wait(6)

    def write_clock(self, number):
        offset = self.random.choice(CLOCK_OFFSETS_S)
        print(f"  n{number}: {offset:+} s")
        with open(f"{self.jobs.folder}/n{number}.clock.new", "w", encoding="ascii") as file:
            file.write(str(offset))
        os.replace(f"{self.jobs.folder}/n{number}.clock.new", f"{self.jobs.folder}/n{number}.clock")

    def slow_disk(self):
        """Each sync takes a fifth of a second."""
        number = self.random.randrange(3)
        with open(f"{self.jobs.folder}/n{number}.slow", "w", encoding="ascii"):
            pass
        self.wait(12)
        os.remove(f"{self.jobs.folder}/n{number}.slow")

    def flip(self, number, names):
        """A bit in one of a node's files with such a name."""
        files = [
            os.path.join(folder, name)
            for folder, _, names_there in os.walk(self.jobs.data_dir(number))
            for name in names_there
            if re.search(names, name)
        ]
        if not files:
            return
        path = self.random.choice(files)
        with contextlib.suppress(FileNotFoundError), open(path, "r+b") as file:  # A compaction may delete it.
            size = os.path.getsize(path)
            if size:
                at = self.random.randrange(size)
                file.seek(at)
                byte = file.read(1)
                file.seek(at)
                file.write(bytes([byte[0] ^ (1 << self.random.randrange(8))]))
        print(f"  {path}")

    def damage_leader(self):
        """A flipped bit in a table while it serves, which a worker, a compaction or the scrub may meet."""
        number = self.node(True)
        self.flip(number, r"\.sst$")
        self.wait(12)
        self.jobs.nodes[number].kill()
        self.empty(number)
        self.jobs.nodes[number].start()

    def damage_standby(self):
        """A flipped bit in a file of a standby, which is then the only one to follow the leader."""
        number = self.node(False)
        self.jobs.nodes[number].kill()
        self.flip(number, r"MANIFEST|CURRENT|\.log$|\.sst$|durable|newest")
        self.jobs.nodes[number].start()
        self.wait(3)
        self.kill_leader()
        self.wait(6)
        # As an operator does in the end, whether it has noticed or not.
        self.jobs.nodes[number].kill()
        self.empty(number)
        self.jobs.nodes[number].start()

    def empty(self, number):
        subprocess.run(["find", self.jobs.data_dir(number), "-mindepth", "1", "-delete"], check=True)

    def rewrite(self, number, old, new):
        path = f"{self.jobs.folder}/n{number}.yaml"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert old in text, text
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def wrong_peer_address(self):
        """The others cannot reach this node, which leads perhaps."""
        number = self.node(False)
        right = f"peer_address: {self.jobs.host(f'n{number}')}:{self.jobs.peer_ports[number]}\n"
        wrong = f"peer_address: {self.jobs.host(f'n{number}')}:1\n"
        self.jobs.nodes[number].kill()
        self.rewrite(number, right, wrong)
        self.jobs.nodes[number].start()
        self.wait(3)
        self.kill_leader()
        self.wait(10)
        self.jobs.nodes[number].kill()
        self.rewrite(number, wrong, right)
        self.jobs.nodes[number].start()

    def swap_directories(self):
        """Of two nodes."""
        one, other = self.random.sample(range(3), 2)
        directories = [f"data_dir: {self.jobs.data_dir(number)}\n" for number in (one, other)]
        for number in (one, other):
            self.jobs.nodes[number].kill()
        self.jobs.directories[one], self.jobs.directories[other] = self.jobs.directories[other], self.jobs.directories[one]
        self.rewrite(one, *directories)
        self.rewrite(other, *reversed(directories))
        for number in (one, other):
            self.jobs.nodes[number].start()

    def clone_directory(self):
        """A standby gets a copy of another node's directory, made with cp, while that node is down for a moment."""
        source, target = self.random.sample(range(3), 2)
        for number in (source, target):
            self.jobs.nodes[number].kill()
        self.empty(target)
        subprocess.run(["cp", "-a", f"{self.jobs.data_dir(source)}/.", self.jobs.data_dir(target)], check=True)
        for number in (source, target):
            self.jobs.nodes[number].start()
        self.wait(20)
        self.jobs.nodes[target].kill()
        self.empty(target)
        self.jobs.nodes[target].start()

    # -- etcd.

    def etcd(self, path, request):
        def ask():
            token = call_etcd(self.jobs, "auth/authenticate", {"name": "root", "password": "root"})["token"]
            return call_etcd(self.jobs, path, request, token)

        return until_it_answers(self.jobs, ask)

    def rotate_password(self):
        """At the nodes first, as the document says, or at etcd first, or at neither for some seconds."""
        password = f"password{self.random.randrange(10**6)}"
        steps = [
            lambda: write_password(self.jobs, password),
            lambda: self.etcd("auth/user/changepw", {"name": "perennial", "password": password}),
        ]
        if self.random.random() < 0.5:
            steps.reverse()
        for step in steps:
            step()
            self.wait(4)

    def alarm(self):
        """As if a quota was used up: no entry can be written."""
        member = self.etcd("maintenance/status", {})["header"]["member_id"]
        self.etcd("maintenance/alarm", {"action": "ACTIVATE", "alarm": "NOSPACE", "memberID": member})
        self.wait(8)
        self.etcd("maintenance/alarm", {"action": "DEACTIVATE", "alarm": "NOSPACE", "memberID": member})

    def compact_etcd(self):
        key = base64.b64encode(b"/perennial/jobs/id").decode()
        revision = self.etcd("kv/range", {"key": key})["header"]["revision"]
        self.etcd("kv/compaction", {"revision": revision})

    def restore_etcd(self):
        """From a snapshot of some seconds ago, and the nodes' operator does what their messages say."""
        self.replace_members(lambda member: shutil.copytree(member, f"{member}.snapshot"))
        self.jobs.restart_ended_nodes()
        self.jobs.wait_for_leader(60)
        time.sleep(1)
        self.wait(8)

        def go_back(member):
            shutil.rmtree(member)
            os.rename(f"{member}.snapshot", member)

        self.replace_members(go_back)
        ends = time.monotonic() + 40
        while any(node.is_running() for node in self.jobs.nodes) and time.monotonic() < ends:
            for node in self.jobs.nodes:
                if not node.is_running() and node.process.returncode != EXIT_DAMAGED:
                    node.start()
            time.sleep(0.2)
        for node in self.jobs.nodes:  # What had not followed further than the snapshot waits for ever.
            node.kill()
        self.on_all_stopped()
        self.recover()

    def replace_members(self, change):
        for member in self.jobs.members:
            member.kill()
        for number, member in enumerate(self.jobs.members):
            change(f"{self.jobs.folder}/m{number}")
            member.start()

    def recover(self):
        """`perennial cluster recover` with the directory whose last batch is the highest."""
        lasts = {}
        for number in range(3):
            plan = self.run_recover(number)
            if "nothing is lost" in plan.stderr:  # It had followed no further than the snapshot.
                lasts[number] = 0
                continue
            found = re.search(r"last batch ([\d,]+)", plan.stdout)
            assert found, plan.stdout + plan.stderr + self.jobs.logs()
            lasts[number] = int(found[1].replace(",", ""))
        best = max(lasts, key=lasts.get)
        if lasts[best]:  # Else nothing was written since the snapshot.
            done = self.run_recover(best, "--yes")
            assert done.returncode == 0, done.stdout + done.stderr
            for number in range(3):
                if number != best:
                    self.empty(number)
        print(f"  recovered n{best} of {lasts}")
        for number in [best] + [number for number in range(3) if number != best]:
            self.jobs.nodes[number].start()
        self.jobs.wait_for_leader(60)

    def run_recover(self, number, *more):
        command = [self.jobs.tool(), "cluster", "recover", "--config", f"{self.jobs.folder}/n{number}.yaml",
                   "--data-dir", self.jobs.data_dir(number), *more]  # fmt: skip
        ends = time.monotonic() + 60
        while True:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            # The leases of the snapshot end.
            if "nodes of the cluster are there" not in done.stderr or time.monotonic() > ends:
                return done
            time.sleep(1)

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

    def leader_resets_and_is_cut_from_etcd(self):
        """A firewall answers with a reset, and the process goes on behind it: that is no proof of its end."""
        leader = self.node(True)
        for member in range(3):
            self.jobs.network.cut(f"n{leader}", f"m{member}")
        self.jobs.network.reset(f"n{leader}", self.jobs.http_ports[leader])
        self.wait(12)
        self.jobs.network.mend()

    def leader_drops_its_peers(self):
        """Its port for other nodes is filtered, and it reaches etcd and its clients."""
        leader = self.node(True)
        self.jobs.network.filter(f"n{leader}", self.jobs.http_ports[leader])
        self.wait(12)
        self.jobs.network.mend()

    def flap(self):
        """A bad contact."""
        machine = self.random.choice(MACHINES)
        for _ in range(8):
            self.pull_cable(machine, self.random.random() * 0.5)
            self.wait(0.5)

    def fill_disk(self):
        # A node that starts meanwhile would refuse a directory with a file of another name.
        folder = os.path.join(self.jobs.data_dir(self.random.randrange(3)), "lost+found")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "other-data")
        fill = ["dd", "if=/dev/zero", f"of={path}", "bs=1M"]  # Ends when there is no space.
        subprocess.run(fill, stderr=subprocess.DEVNULL, check=False)
        self.wait(6)
        os.remove(path)


def call_etcd(jobs, path, request, token=None):
    request = urllib.request.Request(f"{jobs.endpoints[0]}/v3/{path}", json.dumps(request).encode())
    if token:
        request.add_header("Authorization", token)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def until_it_answers(jobs, ask):
    """Members that were away elect first."""
    ends = time.monotonic() + 30
    while True:
        try:
            return ask()
        except OSError:
            assert time.monotonic() < ends, jobs.describe()
            time.sleep(0.1)


def write_password(jobs, password):
    path = f"{jobs.folder}/password"
    with open(f"{path}.new", "w", encoding="ascii") as file:
        os.chmod(file.fileno(), 0o600)
        file.write(password)
    os.replace(f"{path}.new", path)


def ask_for_passwords(jobs):
    """The members of etcd want to know who asks, and have a user for the nodes."""
    write_password(jobs, "first")
    for number in range(len(jobs.nodes)):
        with open(f"{jobs.folder}/n{number}.yaml", encoding="utf-8") as file:
            text = file.read()
        with open(f"{jobs.folder}/n{number}.yaml", "w", encoding="utf-8") as file:
            file.write(text.replace("cluster:\n", f"cluster:\n  etcd_user: perennial\n  etcd_password_file: {jobs.folder}/password\n"))
    until_it_answers(jobs, lambda: call_etcd(jobs, "kv/range", {"key": "YQ=="}))
    keys = {"key": base64.b64encode(b"/perennial/jobs/").decode(), "range_end": base64.b64encode(b"/perennial/jobs0").decode()}
    for path, request in (
        ("user/add", {"name": "root", "password": "root"}),
        ("user/grant", {"user": "root", "role": "root"}),
        ("role/add", {"name": "perennial"}),
        ("role/grant", {"name": "perennial", "perm": {"permType": "READWRITE", **keys}}),
        ("user/add", {"name": "perennial", "password": "first"}),
        ("user/grant", {"user": "perennial", "role": "perennial"}),
        ("enable", {}),
    ):
        call_etcd(jobs, f"auth/{path}", request)


class Nemesis(unittest.TestCase):
    def setUp(self):
        seed = int(os.environ.get("CLUSTER_SEED", time.time_ns() % 10**6))
        print(f"CLUSTER_SEED={seed}")
        self.random = random.Random(seed)

    def begin(self):
        machines = network.Network(MACHINES) if network.is_inside() else None
        # So little of the log is kept that a node which has lost its directory needs another one's copy.
        settings = "  log_keep_bytes: 1MiB\n  clock_offset_max_s: 2\n"
        if not OLD_PERENNIALD:  # Which may not know it.
            settings += "scrub_bytes_per_second: 1GiB\n"
        jobs = Cluster(ETCD, PERENNIALD, network=machines, settings=settings)
        self.addCleanup(jobs.__exit__, None, None, None)
        for number in range(3):
            os.mkdir(jobs.data_dir(number))
            jobs.nodes[number].environment = {
                "LD_PRELOAD": f"{SHIFTED_CLOCK}:{SLOW_SYNC}",
                "SHIFT_CLOCK_FILE": f"{jobs.folder}/n{number}.clock",
                "SLOW_SYNC_US": "200000",
                "SLOW_SYNC_IF": f"{jobs.folder}/n{number}.slow",
            }
            if machines:
                # A disk of its own.
                network.run("mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", jobs.data_dir(number))
                self.addCleanup(network.run, "umount", "-l", jobs.data_dir(number))
        for member in jobs.members:
            member.start()
        ask_for_passwords(jobs)
        for node in jobs.nodes:
            node.start()
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

    @staticmethod
    def clocks(jobs):
        """Whose clock counted when, by each node's log."""
        lines = [
            f"n{number}: {line}"
            for number, node in enumerate(jobs.nodes)
            for line in node.output().splitlines()
            if re.search(r"at=cluster\.(clock|leader|standby|join)|at=store.recovered", line)
        ]
        return "\n".join(lines)

    def test_nothing_acknowledged_is_lost(self):
        jobs = self.begin()
        faults = Faults(jobs, self.random)
        load = Load(jobs.addresses, notes=not OLD_PERENNIALD)
        self.addCleanup(load.stop)
        timed = TimedLoad(jobs.addresses, print if OLD_PERENNIALD else load.ledger.fault)
        self.addCleanup(timed.stop)
        # An earlier version knows no job that has ended.
        ended = EndedLoad(jobs.addresses, load.ledger.fault, clients=0 if OLD_PERENNIALD else 2)
        self.addCleanup(ended.stop)
        schedules = ScheduleLoad(jobs.addresses, load.ledger.fault, schedules=0 if OLD_PERENNIALD else 3)
        self.addCleanup(schedules.stop)
        faults.on_all_stopped = lambda: (timed.all_stopped(), schedules.all_stopped())
        counts, codes = {}, []
        deadline = time.monotonic() + SECONDS
        left = []
        while time.monotonic() < deadline:
            self.random.shuffle(left := left or faults.all())
            fault = left.pop()  # Each once, before any comes again.
            print(f"{SECONDS - deadline + time.monotonic():.1f} s: {fault.__name__}", flush=True)
            # Jobs that have ended go while the disk of the leader is short.
            ended.may_lose_ended |= fault == faults.fill_disk
            fault()
            counts[fault.__name__] = counts.get(fault.__name__, 0) + 1
            codes += self.restart_ended_nodes(jobs)
            for text in load.ledger.faults[:20]:
                print(f"  FOUND: {text}", flush=True)
            if load.ledger.faults:
                print(self.clocks(jobs), flush=True)
            self.assertEqual(load.ledger.faults, [], jobs.logs())
            time.sleep(self.random.random() * 2)
        codes += self.restart_ended_nodes(jobs)
        jobs.wait_for_leader(60)
        time.sleep(3)
        timed.stop()
        ended.stop()
        schedules.stop()
        load.stop()
        codes += self.restart_ended_nodes(jobs)
        jobs.wait_for_leader(60)
        timed.clean()
        ended.judge()
        planned = schedules.judge()
        stored = len(load.ledger.stored)
        found = all_jobs(jobs.addresses)
        wrong = load.ledger.judge(found)
        print(f"{stored} stored, {len(load.ledger.deleted)} deleted, {len(found)} left; {counts}; "
              f"exit codes {({code: codes.count(code) for code in sorted(set(codes))})}; "
              f"timed {timed.counts}, of what is allowed {timed.worst}; {ended.counts}; planned seconds {planned}")  # fmt: skip
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
        if not OLD_PERENNIALD:
            self.assertGreater(load.ledger.notes_seen, 100)
            self.assertGreater(ended.counts["restored"], 10)
            for name, count in planned.items():
                self.assertGreater(count, SECONDS / 4, name)


if __name__ == "__main__":
    if not os.access(ETCD, os.X_OK):
        print(f"skipped: there is no etcd at {ETCD}")
        sys.exit(77)
    network.enter()
    unittest.main(verbosity=2)
