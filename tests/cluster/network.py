"""Machines with addresses and cables of their own: network namespaces that a switch joins, on one machine."""

import ctypes
import os
import signal
import subprocess
import sys

PREFIX = "10.77.0."
IS_INSIDE = "PERENNIAL_OWN_NETWORK"
PR_SET_PDEATHSIG = 1


def is_inside():
    return IS_INSIDE in os.environ


def enter():
    """Starts this script again in a network and with mounts of its own, which end with it.

    False: that is not allowed here, or a tool is missing.
    """
    if is_inside():
        return True
    unshare = ["unshare", "--net", "--mount"]
    probe = "ip link add x type bridge && nft list tables && mount -t tmpfs tmpfs /mnt"
    done = subprocess.run([*unshare, "sh", "-c", probe], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"no network of its own: {done.stderr.strip()}")
        return False
    sys.stdout.flush()
    os.environ[IS_INSIDE] = "yes"
    os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Network:
    """After enter(). The machines have names; whoever made this reaches each of them by its address."""

    def __init__(self, machines):
        self.addresses = {name: f"{PREFIX}{number + 11}" for number, name in enumerate(machines)}
        self.holders = {}
        self.filtering = set()  # Machines with a filter of their own.
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "switch", "type", "bridge")
        run("ip", "address", "add", f"{PREFIX}1/24", "dev", "switch")
        run("ip", "link", "set", "switch", "up")
        run("nft", "add table bridge faults; "
            "add chain bridge faults drops { type filter hook forward priority 0; }")  # fmt: skip
        for name, address in self.addresses.items():
            self._add(name, address)

    def _add(self, name, address):
        # It keeps the namespace while nothing else runs there.
        holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], preexec_fn=end_with_parent)
        self.holders[name] = holder
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{holder.pid}/ns/net") == own:
            pass
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        run("ip", "link", "set", name, "master", "switch", "up")
        for command in (f"address add {address}/24 dev eth0", "link set eth0 up", "link set lo up"):
            run(*self.inside(name), "ip", *command.split())

    def inside(self, name):
        """The beginning of a command that runs there."""
        return ["nsenter", f"--net=/proc/{self.holders[name].pid}/ns/net"]

    def pull_cable(self, name):
        run("ip", "link", "set", name, "down")

    def drop(self, source, target):
        """What `source` sends to `target` is lost. The other direction is not."""
        run("nft", f"add rule bridge faults drops iifname {source} oifname {target} drop")

    def cut(self, one, other):
        self.drop(one, other)
        self.drop(other, one)

    def reset(self, name, port):
        """The machine answers connections to this port, old and new ones, with a reset."""
        self._filter_there(name, port, "reject with tcp reset")

    def filter(self, name, port):
        """What comes to this port of the machine is lost."""
        self._filter_there(name, port, "drop")

    def _filter_there(self, name, port, verdict):
        run(*self.inside(name), "nft", "add table inet faults; "
            "add chain inet faults arrives { type filter hook input priority 0; }; "
            f"add rule inet faults arrives tcp dport {port} {verdict}")  # fmt: skip
        self.filtering.add(name)

    def mend(self):
        """Cables are plugged in, and nothing is dropped."""
        run("nft", "flush chain bridge faults drops")
        for name in self.filtering:
            run(*self.inside(name), "nft", "delete table inet faults")
        self.filtering.clear()
        for name in self.addresses:
            run("ip", "link", "set", name, "up")

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
        run("nft", "delete table bridge faults")
        run("ip", "link", "delete", "switch")
