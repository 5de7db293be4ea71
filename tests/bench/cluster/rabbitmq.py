"""Nodes of a RabbitMQ cluster, as processes on loopback."""

import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../cluster"))
sys.path.insert(0, os.path.join(HERE, "../../support"))
from ports import free_port  # noqa: E402
from processes import Process  # noqa: E402

START_S = 120  # A node starts within this time, also on a machine whose processors are busy.
COMMAND_S = 60


class RabbitCluster:
    """Three nodes, and an epmd of their own, which is how Erlang's nodes find each other. Use it in a with statement.

    Nothing of it is outside of its folder: neither the cookie that the nodes show each other, nor settings.
    """

    def __init__(self, rabbitmq, nodes=3, folder=None):
        """`rabbitmq`: where the package's files were unpacked. `folder`: where everything is kept, if not in memory."""
        self.sbin = find_sbin(rabbitmq)
        base = folder or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.folder = tempfile.mkdtemp(prefix="rabbitmq-cluster-", dir=base)
        self.names = [f"r{i}@localhost" for i in range(nodes)]
        self.ports = [free_port() for _ in range(nodes)]
        self.environment = {
            "HOME": self.folder, "ERL_EPMD_PORT": str(free_port()), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_CONF_ENV_FILE": f"{self.folder}/none", "LANG": "C.UTF-8",
        }  # fmt: skip
        self._write_settings()
        self.epmd = self._process([shutil.which("epmd") or "epmd"], f"{self.folder}/epmd.log")
        self.nodes = [self._node(i) for i in range(nodes)]

    def _write_settings(self):
        with open(f"{self.folder}/.erlang.cookie", "w", encoding="ascii") as file:
            os.chmod(file.fileno(), 0o400)
            file.write(os.urandom(16).hex())
        with open(f"{self.folder}/enabled_plugins", "w", encoding="ascii") as file:
            file.write("[].\n")
        with open(f"{self.folder}/rabbitmq.conf", "w", encoding="ascii") as file:
            file.write("cluster_formation.peer_discovery_backend = classic_config\n")
            for i, name in enumerate(self.names):
                file.write(f"cluster_formation.classic_config.nodes.{i + 1} = {name}\n")

    def _process(self, arguments, log):
        process = Process(arguments, log)
        process.environment = self.environment
        return process

    def _node(self, number):
        # RABBITMQ_ALLOW_INPUT: the script becomes the Erlang VM. Otherwise it starts one and waits, and a signal would
        # end only the script. All that decides about speed and failures is as RabbitMQ has it by default.
        node = self._process([f"{self.sbin}/rabbitmq-server", "-noinput"], f"{self.folder}/r{number}.log")
        node.environment = self.environment | {
            "RABBITMQ_ALLOW_INPUT": "true", "RABBITMQ_NODENAME": self.names[number],
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.ports[number]),
            "RABBITMQ_DIST_PORT": str(free_port()), "ERL_CRASH_DUMP": f"{self.folder}/r{number}-crash",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            "RABBITMQ_MNESIA_BASE": f"{self.folder}/r{number}", "RABBITMQ_LOG_BASE": f"{self.folder}/r{number}-log",
            "RABBITMQ_CONFIG_FILE": f"{self.folder}/rabbitmq.conf",
            "RABBITMQ_ADVANCED_CONFIG_FILE": f"{self.folder}/none.config",
            "RABBITMQ_GENERATED_CONFIG_DIR": f"{self.folder}/r{number}-config",
            "RABBITMQ_ENABLED_PLUGINS_FILE": f"{self.folder}/enabled_plugins",
        }  # fmt: skip
        return node

    def start(self):
        self.epmd.start()
        for number, node in enumerate(self.nodes):  # One after the other, so that the first one is there to be joined.
            node.start()
            self.wait_until_open(number)
        running = self.command("rabbitmqctl", "cluster_status", "--formatter", "json")["running_nodes"]
        if sorted(running) != self.names:
            raise RuntimeError(f"the cluster consists of {running}\n{self.logs()}")

    def wait_until_open(self, number):
        """Until a node takes connections, which is its last step of a start."""
        end = time.monotonic() + START_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.ports[number]), timeout=1):
                return
            if time.monotonic() > end or not self.nodes[number].is_running():
                raise RuntimeError(f"r{number} does not start\n{self.logs()}")
            time.sleep(0.1)

    def restart_ended_nodes(self):
        for node in self.nodes:
            if not node.is_running():
                node.start()
        for number in range(len(self.nodes)):
            self.wait_until_open(number)

    def command(self, program, *arguments):
        """What a program of RabbitMQ's answers, asked at any node that runs. REQUIRES: its format is JSON."""
        running = [name for name, node in zip(self.names, self.nodes) if node.is_running()]
        if not running:
            raise RuntimeError(f"no node runs\n{self.logs()}")
        try:
            done = subprocess.run(
                [f"{self.sbin}/{program}", "--silent", "-n", running[0], *arguments], env=os.environ | self.environment,
                capture_output=True, text=True, timeout=COMMAND_S, check=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"{program} {arguments[0]} does not end") from error
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"{program} {arguments[0]} failed: {error.stderr}{error.stdout}") from error
        return json.loads(done.stdout)

    def members(self, queue):
        """What each node's copy of a queue says of itself: its state and the entries of its log."""
        status = self.command("rabbitmq-queues", "quorum_status", queue, "--formatter", "json")
        return {self.names.index(member["Node Name"]): member for member in status}

    def wait_for_leader(self, queue, seconds=60):
        """The number of the node whose copy of the queue leads."""
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(RuntimeError):
                for number, member in self.members(queue).items():
                    if member["Raft State"] == "leader":
                        return number
            if time.monotonic() > end:
                raise RuntimeError(f"no copy of {queue} leads\n{self.logs()}")

    def wait_until_equal(self, queue, seconds=120):
        """Until all copies of the queue have what the leader has, while nobody publishes."""
        end = time.monotonic() + seconds
        members = {}
        while True:
            with contextlib.suppress(RuntimeError):
                members = self.members(queue)
                states = sorted(member["Raft State"] for member in members.values())
                indices = {(member["Log Index"], member["Commit Index"]) for member in members.values()}
                if states == ["follower"] * (len(self.nodes) - 1) + ["leader"] and len(indices) == 1:
                    return
            if time.monotonic() > end:
                raise RuntimeError(f"the copies of {queue} are not equal: {members}\n{self.logs()}")

    def logs(self):
        return "\n".join(f"== {node.log}\n" + "\n".join(node.output().splitlines()[-15:]) for node in self.nodes)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        for process in [*self.nodes, self.epmd]:
            process.signal(signal.SIGCONT)
            process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def find_sbin(rabbitmq):
    found = glob.glob(os.path.join(glob.escape(rabbitmq), "usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin"))
    if len(found) != 1:
        raise RuntimeError(f"{rabbitmq} holds {len(found)} versions of RabbitMQ, and one is needed")
    return os.path.abspath(found[0])
