"""Ports for servers that a test starts."""

import os
import socket

FIRST, END = 10_000, 32_000  # Below net.ipv4.ip_local_port_range.
# Tests run beside each other, and a server binds its port some time after it was chosen. So each process begins at a place of its own.
next_port = FIRST + os.getpid() * 50 % (END - FIRST)


def free_port():
    """A port of 127.0.0.1 that the kernel gives to no connection of another test before it is bound."""
    global next_port
    while True:
        port = next_port
        next_port = port + 1 if port + 1 < END else FIRST
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
