"""Puts jobs into Perennial with a key each, so that a put that is repeated puts nothing."""
import hashlib
import re
import socket
import sys


class Perennial:
    """A connection for puts. The address is HOST:PORT."""

    def __init__(self, address):
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._answers = self._socket.makefile("rb")
        self.put_count = self.duplicate_count = 0

    def put(self, tube, body, key=None, pri=1024, delay=0, ttr=60):
        """Returns when the job is on disk. A job with this key that is there, or has ended in the last day, is left alone.
        Ends the program where the server refuses the job."""
        line = f"put {pri} {delay} {ttr} {len(body)} tube:{tube}" + (f" idp:{key}:86400" if key else "")
        self._socket.sendall(line.encode() + b"\r\n" + body + b"\r\n")
        answer = self._answers.readline().decode().split()
        if not answer or answer[0] != "INSERTED":
            sys.exit(f"not put, and left where it was: {' '.join(answer) or 'the server has gone'}")
        if len(answer) == 2:
            self.put_count += 1
        else:
            self.duplicate_count += 1

    def report(self):
        print(f"moved {self.put_count}; {self.duplicate_count} were there already")


def key_of(text):
    """A key for what names a job elsewhere."""
    return text if re.fullmatch(r"[A-Za-z0-9+/;.$_()][A-Za-z0-9+/;.$_()-]{0,199}", text) else hashlib.sha256(text.encode()).hexdigest()
