"""Versions of the programs, and servers of them that serve a directory one after the other."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
from ledger import Client, Closed  # noqa: E402
from processes import Process, free_port  # noqa: E402


class Version:
    """perenniald and perennial of one commit, in `folder`."""

    def __init__(self, name, folder):
        self.name = name
        self.perenniald = os.path.join(folder, "perenniald")
        self.perennial = os.path.join(folder, "perennial")
        self.subcommands = set(re.findall(r"^  ([a-z][a-z-]+)  ", self.tool("--help").stdout, re.M))

    def __str__(self):
        return self.name

    def tool(self, *arguments, stdin=None, seconds=60):
        """What `perennial` answers: returncode, stdout and stderr."""
        return subprocess.run(
            [self.perennial, *arguments], input=stdin, capture_output=True, text=True, timeout=seconds, check=False
        )


class Server:
    """One address and one data directory, which any version may serve."""

    def __init__(self, folder):
        self.folder = folder
        self.data_dir = os.path.join(folder, "data")
        self.port = free_port()
        self.config = os.path.join(folder, "perennial.yaml")
        self.process = None
        self.starts = 0
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(
                f"data_dir: {self.data_dir}\nlisten: 127.0.0.1:{self.port}\nlow_water_bytes: 0\nballast_bytes: 0\n"
            )

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def launch(self, version):
        self.starts += 1
        self.process = Process([version.perenniald, "--config", self.config], f"{self.folder}/server-{self.starts}.log")
        self.process.start()

    def start(self, version, seconds=30):
        """Returns when it serves."""
        self.launch(version)
        deadline = time.monotonic() + seconds
        while True:
            try:
                client = Client([self.port])
                client.ask(b"list-tube-used\r\n")
                client.close()
                return
            except Closed:
                if not self.process.is_running() or time.monotonic() > deadline:
                    raise AssertionError(f"{version} does not serve:\n{self.process.output()}") from None
                time.sleep(0.02)

    def refusal(self, version):
        """Starts a version that is to refuse the directory. Returns the exit code and the lines that it printed."""
        self.launch(version)
        try:
            code = self.process.wait(30)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{version} serves what it was to refuse:\n{self.process.output()}") from None
        return code, self.process.output().splitlines()

    def starts_or_refuses(self, version):
        """None: it serves. Otherwise as refusal()."""
        try:
            self.start(version)
            return None
        except AssertionError:
            if self.process.is_running():
                raise
            return self.process.process.returncode, self.process.output().splitlines()

    def end(self, how):
        """`how`: "stop" or "kill"."""
        if how == "kill":
            self.process.kill()
            return
        self.process.signal(signal.SIGTERM)
        code = self.process.wait(60)
        assert code == 0, f"a stop ended with {code}:\n{self.process.output()}"

    def keep_extensions(self):
        """Later starts allow those that the version which serves now knows: so night.md keeps the way back to it open."""
        client = Client([self.port])
        answer = client.ask(b"extensions\r\n")
        names = [line.removeprefix(b"- ").decode() for line in client.body(int(answer[1])).splitlines() if line.startswith(b"- ")]
        client.close()
        with open(self.config, "a", encoding="utf-8") as file:
            file.write(f"extensions: [{', '.join(names)}]\n")

    def counts(self):
        """How many jobs there are in each state, and in all."""
        client = Client([self.port])
        answer = client.ask(b"stats\r\n")
        rows = dict(line.split(b": ", 1) for line in client.body(int(answer[1])).splitlines() if b": " in line)
        client.close()
        counts = {state: int(rows[f"current-jobs-{state}".encode()]) for state in ("ready", "reserved", "delayed", "buried")}
        return counts | {"all": sum(counts.values())}

    def close(self):
        if self.process:
            self.process.kill()


def fingerprint(folder):
    """Of every file below it: its path and the hash of its bytes."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            if name == "lock":  # Empty, and made by whoever looks for a server.
                continue
            whole = os.path.join(path, name)
            with open(whole, "rb") as file:
                found[os.path.relpath(whole, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found
