"""Moves the jobs of queues from Faktory to Perennial: python3 drain_faktory.py --help. It needs no library.

Each job is put first and acknowledged then. Its jid is its key, so it may be stopped at any moment and started again: Faktory gives out
again what was not acknowledged, after the job's reserve_for. Jobs that are scheduled or wait for a retry come when they are due."""
import argparse
import hashlib
import json
import os
import socket

from perennial_put import Perennial, key_of


class Faktory:
    def __init__(self, address, password):
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._answers = self._socket.makefile("rb")
        hi = json.loads(self._read().removeprefix("HI "))
        hello = {"v": 2, "hostname": socket.gethostname(), "wid": f"drain-{os.getpid()}", "pid": os.getpid(), "labels": ["drain"]}
        if "s" in hi:  # It asks for a password.
            proof = (password + hi["s"]).encode()
            for _ in range(hi.get("i", 1)):
                proof = hashlib.sha256(proof).digest()
            hello["pwdhash"] = proof.hex()
        self.ask("HELLO " + json.dumps(hello))

    def ask(self, command):
        self._socket.sendall(command.encode() + b"\r\n")
        return self._read()

    def _read(self):
        line = self._answers.readline().decode().rstrip("\r\n")
        if line.startswith("$"):
            length = int(line[1:])
            return None if length < 0 else self._answers.read(length + 2)[:length].decode()
        if not line.startswith("+"):
            raise SystemExit(f"Faktory says: {line or 'nothing more'}")
        return line[1:]


def main():
    flags = argparse.ArgumentParser(description="Moves jobs from Faktory to Perennial.")
    flags.add_argument("--faktory", default="127.0.0.1:7419")
    flags.add_argument("--password", default=os.environ.get("FAKTORY_PASSWORD", ""))
    flags.add_argument("--server", default="127.0.0.1:11300", help="Perennial")
    flags.add_argument("--queue", action="append", required=True, help="may be given several times")
    flags.add_argument("--tube", required=True)
    flags = flags.parse_args()
    faktory, queue = Faktory(flags.faktory, flags.password), Perennial(flags.server)
    while job := faktory.ask("FETCH " + " ".join(flags.queue)):  # It waits for two seconds, and then says that there is none.
        said = json.loads(job)
        # Priorities are 1 to 9, and 9 goes first. reserve_for is what is called ttr here.
        queue.put(flags.tube, job.encode(), key_of(said["jid"]), pri=1024 - said.get("priority", 5), ttr=said.get("reserve_for", 1800))
        faktory.ask("ACK " + json.dumps({"jid": said["jid"]}))
    queue.report()


main()
