"""Ports for servers that a test starts."""

import fcntl
import os
import socket
import tempfile

FIRST, END = 10_000, 32_000  # Below net.ipv4.ip_local_port_range.
# Tests run beside each other, and a server binds its port some time after it was chosen. So each port is taken by a lock on a file of its number,
# which ends with this process. Each process begins at a place of its own, so that they seldom meet.
LOCKS = os.path.join(tempfile.gettempdir(), f"perennial-test-ports-{os.getuid()}")
next_port = FIRST + os.getpid() * 50 % (END - FIRST)
taken = []  # Descriptors, which are not inherited.


def take(port):
    os.makedirs(LOCKS, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(LOCKS, str(port)), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    taken.append(lock)
    return True


def free_port():
    """A port of 127.0.0.1 that neither another test nor a connection gets before this process ends."""
    global next_port
    while True:
        port = next_port
        next_port = port + 1 if port + 1 < END else FIRST
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if take(port):
            return port
