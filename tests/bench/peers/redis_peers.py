"""Redis with a list for a queue, and BullMQ on Redis. Both sync each write."""

import contextlib
import csv
import json
import os
import shutil
import socket
import subprocess

from peer import (AHEAD_MAX, BODY, COMMAND_WITHIN_S, JOBS, PRODUCERS, PUTS, WORKERS, Failed, Peer, free_port, run, running, signals_held,
                  version_in)

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST_REQUESTS = 1000
WARM_UP_S = 0.5


class RedisServer(Peer):
    """A server that syncs its append-only file before it answers a write."""

    synced = "each write"

    def tool(self, name):
        unpacked = os.path.join(self.options.build, "redis-tools/usr/bin", name)  # By tests/run.
        return self.packaged(name) or (unpacked if os.access(unpacked, os.X_OK) else None)

    def program(self):
        # The package redis-tools has the server, too: it is redis-check-rdb by another name.
        return self.tool("redis-server") or self.tool("redis-check-rdb")

    def versions(self):
        done = subprocess.run(["redis-server", "--version"], executable=self.program(), capture_output=True, text=True, timeout=COMMAND_WITHIN_S,
                              check=True)
        return {"Redis": version_in(done.stdout)}

    def running(self, folder):
        port = free_port()
        words = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--dir", folder, "--appendonly", "yes", "--appendfsync", "always",
                 "--save", "", "--daemonize", "no"]
        return running(words, port, folder, executable=self.program(), is_ready=lambda: is_answering(port))


class Redis(RedisServer):
    key = "redis"
    name = "Redis, list"
    install = "apt-get install redis-server, and ninja -C build redis_load"

    def missing(self):
        return self.missing_of(**{"redis-server": self.program(), "redis-benchmark": self.tool("redis-benchmark"),
                                  "redis_load": self.in_build("redis_load")})

    def rates(self, port, folder):
        rates = {load: self.push_rate(port, load.replace(" ", "-"), *PUTS[load]) for load in PUTS}
        seconds = self.options.seconds
        rates[JOBS] = json.loads(run([self.in_build("redis_load"), str(port), str(seconds)], seconds + COMMAND_WITHIN_S))["per_second"]
        return rates

    def push_rate(self, port, key, connections, in_flight):
        """redis-benchmark takes a number of requests and no time, so a short run says how many the next one needs."""
        requests, pushed = FIRST_REQUESTS, 0
        for seconds in (WARM_UP_S, self.options.seconds, 0):
            rate = self.push(port, key, connections, in_flight, requests)
            pushed += requests
            requests = max(FIRST_REQUESTS, int(rate * seconds))
        # It rounds up to whole pipelines.
        if ask(port, "LLEN", key) < pushed:
            raise Failed(f"Redis has {ask(port, 'LLEN', key)} jobs in {key} after {pushed} were pushed")
        return rate

    def push(self, port, key, connections, in_flight, requests):
        return rate_of_redis_benchmark(run(
            [self.tool("redis-benchmark"), "-h", "127.0.0.1", "-p", str(port), "-c", str(connections), "-P", str(in_flight), "-n", str(requests),
             "--csv", "-e", "LPUSH", key, BODY], timeout_s=20 * self.options.seconds + COMMAND_WITHIN_S))


class BullMq(RedisServer):
    """Two processes of Node.js: one adds jobs, the other one has the workers."""

    key = "bullmq"
    name = "BullMQ on Redis"
    install = "apt-get install redis-server nodejs npm, and npm install --prefix build/peers bullmq ioredis"

    def module(self):
        path = os.path.join(self.options.packages, "node_modules/bullmq")
        return path if os.path.isdir(path) else None

    def missing(self):
        return self.missing_of(**{"redis-server": self.program(), "node": shutil.which("node"), "bullmq": self.module()})

    def versions(self):
        with open(f"{self.module()}/package.json", encoding="utf-8") as file:
            bullmq = json.load(file)["version"]
        return super().versions() | {"BullMQ": bullmq, "Node.js": version_in(run(["node", "--version"]))}

    def rates(self, port, folder):
        seconds = self.options.seconds
        environment = os.environ | {"NODE_PATH": os.path.join(self.options.packages, "node_modules")}
        words = ["node", os.path.join(HERE, "bullmq_load.js")]
        settings = json.dumps({"port": port, "seconds": seconds, "body": BODY, "producers": PRODUCERS, "workers": WORKERS,
                               "aheadMax": AHEAD_MAX})
        run([*words, "fill", settings], env=environment)
        adding = None
        try:
            with open(f"{folder}/add.log", "wb") as log, signals_held():
                adding = subprocess.Popen([*words, "add", settings], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            printed = run([*words, "work", settings], seconds + COMMAND_WITHIN_S, env=environment)
            if adding.poll() is not None:
                raise Failed(f"the producers of BullMQ have ended with {adding.returncode}")
        finally:
            if adding is not None:
                adding.kill()
                adding.wait(COMMAND_WITHIN_S)
        return {JOBS: json.loads(printed)["per_second"]}


def rate_of_redis_benchmark(text):
    """Requests per second, in what `redis-benchmark --csv` prints for one command."""
    rows = list(csv.DictReader(text.splitlines()))
    if len(rows) != 1 or not rows[0].get("rps"):
        raise Failed(f"redis-benchmark has printed no rate\n{text}")
    return float(rows[0]["rps"])


def ask(port, *words):
    """The answer of Redis to a command whose answer is one line: a number or a word."""
    with socket.create_connection(("127.0.0.1", port), COMMAND_WITHIN_S) as client:
        client.sendall(f"*{len(words)}\r\n".encode() + b"".join(f"${len(word)}\r\n{word}\r\n".encode() for word in words))
        line = client.makefile("rb").readline().decode().strip()
    if not line or line[0] not in "+:":
        raise Failed(f"Redis has answered {line or 'nothing'} to {words[0]}")
    return int(line[1:]) if line[0] == ":" else line[1:]


def is_answering(port):
    with contextlib.suppress(OSError, Failed):
        return ask(port, "PING") == "PONG"
    return False
