"""How much memory a request costs that waits for jobs, and whether each of many gets one."""

import argparse
import http.client
import json
import os
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from ports import free_port  # noqa: E402


def resident_bytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def put(port, count):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    for begin in range(0, count, 1000):
        jobs = [{"tube": "mail", "body": str(i)} for i in range(begin, min(begin + 1000, count))]
        connection.request("POST", "/api/v1/jobs", json.dumps(jobs), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 201, (answer.status, answer.read())
        answer.read()


def wait(port):
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"POST /api/v1/tubes/mail/reservations?wait_seconds=600 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
    client.setblocking(False)
    return client


def bodies_of(clients, seconds):
    """The body of the job that each client gets."""
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client, selectors.EVENT_READ, bytearray())
    bodies = []
    end = time.monotonic() + seconds
    while len(bodies) < len(clients) and time.monotonic() < end:
        for key, _ in selector.select(1):
            key.data.extend(key.fileobj.recv(65536))
            head, _, body = key.data.partition(b"\r\n\r\n")
            if body.endswith(b"\n"):
                assert head.startswith(b"HTTP/1.1 200"), head
                bodies += [each["body"] for each in json.loads(body)["reservations"]]
                selector.unregister(key.fileobj)
    return bodies


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--perenniald", default="build/perenniald")
    parser.add_argument("--waiters", type=int, default=10_000)
    args = parser.parse_args()
    files = args.waiters + 1000
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, 1024), hard if hard == resource.RLIM_INFINITY else max(files, hard)))
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = os.path.join(folder, "config.yaml")
        with open(config, "w") as out:
            out.write(f"http_connections_max: {min(65_536, args.waiters * 4 // 3 + 64)}\nhttp_connections_per_address_max: 65536\n")
        server = subprocess.Popen(
            [args.perenniald, "--config", config, "--data-dir", os.path.join(folder, "data"), "--listen", "127.0.0.1", "--port", str(free_port()), "--http", f"127.0.0.1:{port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        try:
            for _ in range(100):
                try:
                    put(port, 1)
                    break
                except (OSError, AssertionError):
                    time.sleep(0.1)
            clients = [wait(port)]
            assert len(bodies_of(clients, 10)) == 1
            before = resident_bytes(server.pid)
            begun = time.monotonic()
            clients = [wait(port) for _ in range(args.waiters)]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            waiting = 0
            while waiting < args.waiters and time.monotonic() < begun + 120:
                connection.request("GET", "/api/v1/tubes/mail")
                waiting = json.loads(connection.getresponse().read())["waiting"]
                time.sleep(0.2)
            took = time.monotonic() - begun
            each = (resident_bytes(server.pid) - before) / args.waiters
            print(f"{waiting:,} waiters after {took:.1f} s: {each:,.0f} bytes of memory each")
            begun = time.monotonic()
            put(port, args.waiters)
            bodies = bodies_of(clients, 120)
            held = (resident_bytes(server.pid) - before) / args.waiters
            print(f"{len(set(bodies)):,} jobs given in {time.monotonic() - begun:.1f} s: {held:,.0f} bytes each with a lease")
            return 0 if waiting == args.waiters and len(set(bodies)) == args.waiters else 1
        finally:
            server.kill()
            server.wait()


sys.exit(main())
