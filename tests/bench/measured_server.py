"""A fresh server that a benchmark measures from outside: its clients, its memory, its disk, and puts beside a load."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
from ports import free_port  # noqa: E402

ANSWERS_WITHIN_S = 3600  # An undo of ten million jobs is one command.
STARTS_WITHIN_S = 600
BODY = b"b" * 100


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), ANSWERS_WITHIN_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def send(self, *commands):
        self.socket.sendall(b"".join(commands))

    def line(self):
        line = self.stream.readline()
        if not line:
            sys.exit("the server has closed a connection")
        return line.split()

    def expect(self, word):
        line = self.line()
        if line[0] != word:
            sys.exit(f"expected {word.decode()}, got {line}")
        return line

    def ask(self, command, word):
        self.send(command + b"\r\n")
        return self.expect(word)

    def reserved(self):
        """The id of a job whose answer is RESERVED."""
        _, job, size = self.expect(b"RESERVED")
        self.stream.read(int(size) + 2)
        return job

    def stats(self, command):
        size = int(self.ask(command, b"OK")[1])
        lines = self.stream.read(size + 2).decode().splitlines()
        return dict(line.split(": ", 1) for line in lines if ": " in line)

    def close(self):
        self.stream.close()
        self.socket.close()


class Server:
    """A fresh one, or one in the directory of an earlier one."""

    def __init__(self, program, folder, directory=None):
        self.program = program
        self.directory = directory or tempfile.mkdtemp(prefix="bench-", dir=folder)
        self.begin()

    def begin(self):
        self.port = free_port()
        began = time.monotonic()
        self.process = subprocess.Popen(
            [self.program, "-l", "127.0.0.1", "-p", str(self.port), "-b", self.directory + "/data"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            try:
                client = Client(self.port)
                client.stats(b"stats")
                client.close()
                break
            except OSError:
                if self.process.poll() is not None or time.monotonic() - began > STARTS_WITHIN_S:
                    sys.exit(f"{self.program} does not start")
                time.sleep(0.002)
        self.start_s = time.monotonic() - began

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(STARTS_WITHIN_S)

    def end(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.directory)

    def resident_mb(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1e3

    def written_mb(self):
        with open(f"/proc/{self.process.pid}/io") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("write_bytes:")) / 1e6

    def disk_mb(self):
        """What it has on disk, without the file that only keeps space free."""
        total = 0
        for folder, _, names in os.walk(self.directory):
            for name in names:
                try:
                    total += os.stat(os.path.join(folder, name)).st_blocks * 512 if name != "ballast" else 0
                except FileNotFoundError:
                    pass
        return total / 1e6


def put(body=BODY):
    return b"put 1024 0 3600 %d\r\n%s\r\n" % (len(body), body)


class Puts(threading.Thread):
    """One put after the other, in a tube of its own; the time that each took."""

    def __init__(self, port):
        super().__init__()
        self.client = Client(port)
        self.client.ask(b"use beside", b"USING")
        self.times = []
        self.is_over = False

    def run(self):
        while not self.is_over:
            began = time.perf_counter()
            self.client.send(put())
            self.client.expect(b"INSERTED")
            self.times.append(time.perf_counter() - began)

    def taken(self, since):
        """p50 and p99 in milliseconds of the puts behind the first `since`."""
        times = sorted(self.times[since:])
        return [times[int(len(times) * part)] * 1e3 for part in (0.5, 0.99)]


def microseconds_each(server, before, after, count):
    """Of so many steps: processor time of the loop for each, and of the other threads. The two times are times_of()."""
    ran = {thread: after[thread][0] - before.get(thread, (0,))[0] for thread in after}
    loop = ran.pop(server.process.pid)
    return loop / 1e3 / count, sum(ran.values()) / 1e3 / count


def print_row(*cells):
    print("| " + " | ".join(cell if isinstance(cell, str) else f"{cell:,.1f}" for cell in cells) + " |", flush=True)
