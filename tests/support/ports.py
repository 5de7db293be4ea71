"""Ports for servers that a test starts."""

import random
import socket

given = set()


def free_port():
    """A port of 127.0.0.1 that the kernel gives to no connection of another test before it is bound."""
    while True:
        port = random.randrange(10_000, 32_000)  # Below net.ipv4.ip_local_port_range.
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in given:
            given.add(port)
            return port
