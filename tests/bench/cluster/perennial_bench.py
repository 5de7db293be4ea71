#!/usr/bin/env python3
"""Measures a cluster of Perennial: puts, cycles, and the time without service when its leader fails.

Three members of etcd and three nodes run on loopback. Prints a line of JSON for each work.
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../cluster"))
from ledger import Client, Closed  # noqa: E402
from processes import Cluster, Process  # noqa: E402

BENCHES = ["put", "put-pipelined", "cycle"]
PRODUCERS = 8
REOPEN_S = 0.1
BEFORE_S = 2  # The load goes on for so long before a fault.
SERVES_AGAIN_S = 40
JOB_BYTES = 1000


class Gaps:
    """Producers, one put in flight each, that open a new connection 100 ms after one has ended. When were puts stored?"""

    def __init__(self, addresses):
        self.addresses = addresses
        self.stored_at = []
        self.stopping = threading.Event()
        self.producers = [threading.Thread(target=self._produce, daemon=True) for _ in range(PRODUCERS)]
        for producer in self.producers:
            producer.start()

    def _produce(self):
        while not self.stopping.is_set():
            client = None
            try:
                client = Client(self.addresses)
                while not self.stopping.is_set():
                    if client.ask(b"put 0 0 60 128\r\n%s\r\n" % (b"x" * 128))[0] != b"INSERTED":
                        break
                    self.stored_at.append(time.monotonic())
            except Closed:
                pass
            if client:
                client.close()
            time.sleep(REOPEN_S)

    def longest_after(self, moment):
        """The longest time between two stored puts, of those that ended after `moment`; None: there was none."""
        times = sorted(list(self.stored_at))
        gaps = [(end - begin) for begin, end in zip(times, times[1:]) if end > moment]
        return max(gaps, default=None)

    def stop(self):
        self.stopping.set()
        for producer in self.producers:
            producer.join(30)


def rates(cluster, seconds):
    """What `perennial bench` says of the leader."""
    arguments = [cluster.tool(), "bench", *BENCHES, "--seconds", str(seconds), "--rounds", "3", "--json", "-",
                 "--server", f"127.0.0.1:{cluster.ports[cluster.wait_for_leader()]}"]  # fmt: skip
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"perennial bench ended with {done.returncode}: {done.stderr}\n{cluster.logs()}")
    for one in json.loads(done.stdout)["measurements"]:
        if "latency" in one and "throughput" in one:
            yield {
                "work": f"{one['workload']} {one['setting']} {one['operation']}", "per_second": round(one["throughput"]["per_second"]),
                "p50_us": round(one["latency"]["p50"]), "p99_us": round(one["latency"]["p99"]),
                "count": one["latency"]["count"],
            }  # fmt: skip


def kill_leader(cluster, leader):
    cluster.nodes[leader].kill()


def stop_leader(cluster, leader):
    cluster.nodes[leader].signal(signal.SIGSTOP)


def stop_leader_and_kill_etcds(cluster, leader):
    stop_leader(cluster, leader)
    etcds_leader(cluster).kill()


def restart_leader(cluster, leader):
    cluster.nodes[leader].kill()
    cluster.nodes[leader].start()


def hand_over(cluster, _leader):
    subprocess.run([cluster.tool(), "cluster", "handover", "--config", f"{cluster.folder}/n0.yaml"], check=True,
                   capture_output=True)  # fmt: skip


FAULTS = [kill_leader, restart_leader, hand_over, stop_leader, stop_leader_and_kill_etcds]


def etcds_leader(cluster):
    for member, endpoint in zip(cluster.members, cluster.endpoints):
        try:
            with urllib.request.urlopen(endpoint + "/v3/maintenance/status", b"{}", timeout=1) as answer:
                status = json.load(answer)
        except OSError:
            continue
        if status["leader"] == status["header"]["member_id"]:
            return member
    raise RuntimeError("etcd has no leader")


def without_service(cluster, fault):
    """Seconds between two stored puts, around a fault of the leader. All is well again when it returns."""
    leader = cluster.wait_for_leader()
    gaps = Gaps(cluster.ports)
    time.sleep(BEFORE_S)
    began = time.monotonic()
    fault(cluster, leader)
    # A put that was under way may still be stored. The next ones are the new leader's.
    end = began + SERVES_AGAIN_S
    while not (gaps.stored_at and gaps.stored_at[-1] > began + 0.5 and (gaps.longest_after(began) or 0) > 0.03):
        if time.monotonic() > end:
            raise RuntimeError(f"nothing is stored after {fault.__name__}:\n{cluster.logs()}")
        time.sleep(0.1)
    time.sleep(1)
    gaps.stop()
    cluster.nodes[leader].signal(signal.SIGCONT)
    time.sleep(1)
    for member in cluster.members:
        if not member.is_running():
            member.start()
    cluster.restart_ended_nodes()
    wait_until_followed(cluster)
    return round(gaps.longest_after(began), 3)


def log_index(cluster, number, stage):
    status, text = cluster.ask(number, "/metrics")
    found = re.search(rf'^perennial_cluster_log_index{{stage="{stage}"}} (\S+)', text, re.MULTILINE)
    return int(float(found[1])) if status == 200 and found else None


def wait_until_followed(cluster, seconds=120):
    """Until all nodes have applied what the leader has."""
    end = time.monotonic() + seconds
    while True:
        leader = cluster.wait_for_leader()
        newest = log_index(cluster, leader, "applied")
        applied = [log_index(cluster, number, "applied") for number in range(len(cluster.nodes))]
        if newest is not None and all(index is not None and index >= newest for index in applied):
            return
        if time.monotonic() > end:
            raise RuntimeError(f"the nodes do not follow: {applied} of {newest}\n{cluster.logs()}")
        cluster.restart_ended_nodes()
        time.sleep(0.1)


def lag(cluster, seconds):
    """How late a standby is under puts from 8 connections, 64 in flight each."""
    leader = cluster.wait_for_leader()
    standby = (leader + 1) % len(cluster.nodes)
    load = custom(cluster, leader, seconds + 2, 128)
    samples = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        newest = log_index(cluster, leader, "read")
        newest_at = time.monotonic()
        samples.append((newest_at, newest, log_index(cluster, standby, "applied"), time.monotonic()))
    load.wait()
    if samples[-1][1] - samples[0][1] < 100:
        raise RuntimeError(f"the leader has appended little: from {samples[0][1]} to {samples[-1][1]}")
    late = []
    first = 0  # The oldest sample of the leader that is newer than what the standby has.
    for _, _, applied, seen_at in samples:
        while first < len(samples) and samples[first][1] <= applied:
            first += 1
        late.append(max(0, seen_at - samples[first][0]) if first < len(samples) else 0)
    late.sort()
    return {"work": "lag", "samples": len(late), "p50_ms": round(late[len(late) // 2] * 1000, 1),
            "p99_ms": round(late[len(late) * 99 // 100] * 1000, 1)}  # fmt: skip


def custom(cluster, leader, seconds, body_bytes):
    return subprocess.Popen(
        [cluster.tool(), "bench", "custom", "--connections", "8", "--in-flight", "64", "--body-bytes", str(body_bytes),
         "--seconds", str(seconds), "--rounds", "1", "--server", f"127.0.0.1:{cluster.ports[leader]}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def new_standby(cluster, seconds):
    """A standby loses its directory, while the others hold what is put in `seconds`. Beside it, a plain copy."""
    leader = cluster.wait_for_leader()
    custom(cluster, leader, seconds, JOB_BYTES).wait()
    wait_until_followed(cluster)
    number = (leader + 1) % len(cluster.nodes)
    cluster.nodes[number].kill()
    shutil.rmtree(cluster.data_dir(number))
    return {"work": "new standby"} | come_in(cluster, number, (leader + 2) % len(cluster.nodes))


def come_in(cluster, number, source):
    """A node with an empty directory gets a copy. Before that, a plain copy of the directory of `source`."""
    began = time.monotonic()
    # RocksDB may delete a file meanwhile.
    subprocess.run(["cp", "-r", cluster.data_dir(source), cluster.data_dir(number)], check=False)
    subprocess.run(["sync", "-f", cluster.data_dir(number)], check=True)
    copy_s = time.monotonic() - began
    shutil.rmtree(cluster.data_dir(number))
    subprocess.run(["sync", "-f", cluster.folder], check=True)  # What the copy has left to do.
    began = time.monotonic()
    node = cluster.nodes[number]
    node.start()
    while "at=cluster.copied" not in node.output():
        if not node.is_running():
            raise RuntimeError(f"the node has ended:\n{cluster.logs()}")
        time.sleep(0.02)
    fetched_s = time.monotonic() - began
    wait_until_followed(cluster)
    followed_s = time.monotonic() - began
    line = [text for text in node.output().splitlines() if "at=cluster.copied" in text][-1]
    found = {key: int(number) for key, number in re.findall(r"\b(\w+)=(\d+)\b", line)}
    size = found["bytes"]
    parts = {key: round(found[f"{key}_ms"] / 1000, 2) for key in ("received", "verified", "synced") if f"{key}_ms" in found}
    return {"jobs": found["jobs"], "bytes": size, "fetched_s": round(fetched_s, 2), "parts_s": parts,
            "followed_s": round(followed_s, 2), "mb_per_second": round(size / 1e6 / fetched_s),
            "plain_copy_s": round(copy_s, 2), "plain_mb_per_second": round(size / 1e6 / copy_s),
            "share_of_plain": round(copy_s / fetched_s, 2)}  # fmt: skip


def bodies(count):
    """Half of each is random, so that a store that compresses still has half to keep."""
    half = JOB_BYTES // 2
    for _ in range(count):
        yield os.urandom(half // 2).hex().encode() + b"x" * (JOB_BYTES - half)


def put_all(port, count, at_once=1000):
    """Puts `count` jobs, so many in flight."""
    with socket.create_connection(("127.0.0.1", port)) as server:
        answers = server.makefile("rb")
        for first in range(0, count, at_once):
            here = min(at_once, count - first)
            server.sendall(b"".join(b"put 0 0 60 %d\r\n%s\r\n" % (JOB_BYTES, body) for body in bodies(here)))
            for _ in range(here):
                if not (line := answers.readline()).startswith(b"INSERTED"):
                    raise RuntimeError(f"a put was answered {line}")


def fill_first_node(cluster, count):
    """The jobs of a single server are those of the first node: nothing goes through etcd."""
    server = Process([cluster.perenniald, "-b", cluster.data_dir(0), "-l", "127.0.0.1", "-p", str(cluster.ports[0])],
                     f"{cluster.folder}/single.log")  # fmt: skip
    server.start()
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", cluster.ports[0])).close()
                break
            except OSError:
                time.sleep(0.05)
        put_all(cluster.ports[0], count)
        server.signal(signal.SIGTERM)
        server.wait(60)
    finally:
        server.kill()


def come_in_of_many(options, etcd, perenniald):
    """A second node gets a copy of a first one that has options.jobs jobs."""
    with Cluster(etcd, perenniald, members=1, nodes=2, folder=options.folder) as cluster:
        fill_first_node(cluster, options.jobs)
        cluster.members[0].start()
        init = [cluster.tool(), "cluster", "init", "-c", f"{cluster.folder}/n0.yaml", "--data-dir", cluster.data_dir(0)]
        end = time.monotonic() + 20
        while (done := subprocess.run(init, capture_output=True, text=True, check=False)).returncode != 0:
            if time.monotonic() > end:
                raise RuntimeError(done.stderr)
            time.sleep(0.2)
        cluster.nodes[0].start()
        cluster.wait_for_leader(120)
        for _ in range(options.rounds):
            yield {"work": "new standby"} | come_in(cluster, 1, 0)
            cluster.nodes[1].kill()
            shutil.rmtree(cluster.data_dir(1))
            os.remove(cluster.nodes[1].log)


def memory_of(processes, line):
    """In MiB: VmHWM is the largest, VmRSS that of now."""
    sizes = []
    for process in processes:
        with open(f"/proc/{process.process.pid}/status", encoding="ascii") as status:
            sizes.append(int(re.search(line + r":\s+(\d+)", status.read())[1]) // 1024)
    return sizes


def memory(cluster):
    return {"work": "memory", "etcd_peak_mib": memory_of(cluster.members, "VmHWM"),
            "node_peak_mib": memory_of(cluster.nodes, "VmHWM")}  # fmt: skip


def flush_all(cluster, leader):
    """Deletes all jobs, and returns their number."""
    client = Client([cluster.ports[leader]], timeout=60)
    size = int(client.ask(b"list-tubes\r\n")[1])
    flushed = 0
    for line in client.body(size).split(b"\n"):
        if line.startswith(b"- "):
            answer = client.ask(b"flush-tube " + line[2:] + b"\r\n")
            flushed += int(answer[1]) if answer[0] == b"FLUSHED" else 0
    client.close()
    return flushed


def memory_over_time(cluster, minutes):
    """Puts 8x64 all the time. Twice a minute the jobs are flushed, so that the nodes have room."""
    leader = cluster.wait_for_leader()
    begun = time.monotonic()
    while time.monotonic() - begun < minutes * 60:
        jobs = 0
        for _ in range(2):
            custom(cluster, leader, 29, 128).wait()
            jobs += flush_all(cluster, leader)
        yield {"work": "memory under 8x64", "minutes": round((time.monotonic() - begun) / 60, 1), "jobs": jobs,
               "etcd_mib": memory_of(cluster.members, "VmRSS"), "etcd_peak_mib": memory_of(cluster.members, "VmHWM"),
               "node_mib": memory_of(cluster.nodes, "VmRSS")}  # fmt: skip


def run(options):
    etcd = os.environ.get("ETCD", os.path.join(options.build, "etcd-server/usr/bin/etcd"))
    perenniald = os.path.join(options.build, "perenniald")
    if options.jobs:
        yield from come_in_of_many(options, etcd, perenniald)
        return
    # Alone a node would wait for a second one to have the log.
    settings = "  copies_min: 1\n" if options.nodes == 1 else ""
    with Cluster(etcd, perenniald, members=options.members, nodes=options.nodes, settings=settings,
                 folder=options.folder) as cluster:  # fmt: skip
        cluster.start()
        wait_until_followed(cluster)
        if options.minutes:
            yield from memory_over_time(cluster, options.minutes)
            return
        yield from rates(cluster, options.seconds)
        if options.nodes > 1:
            yield lag(cluster, options.seconds)
        yield memory(cluster)
    for fault in FAULTS if options.nodes > 1 and options.faults else []:
        # A small one, as it is beside RabbitMQ, where each fault finds what the ones before have left.
        with Cluster(etcd, perenniald, folder=options.folder) as cluster:
            cluster.start()
            wait_until_followed(cluster)
            seconds = [without_service(cluster, fault) for _ in range(options.faults)]
            yield {"work": fault.__name__, "median_s": round(statistics.median(seconds), 3), "max_s": max(seconds),
                   "seconds": seconds}  # fmt: skip
    if options.nodes > 2 and options.fill:
        with Cluster(etcd, perenniald, folder=options.folder) as cluster:
            cluster.start()
            wait_until_followed(cluster)
            yield new_standby(cluster, options.fill)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="where perenniald and perennial are")
    parser.add_argument("--folder", required=True, help="where nodes and etcd keep their data: it chooses the disk")
    parser.add_argument("--seconds", type=float, default=10, help="of each work, three times (default: 10)")
    parser.add_argument("--faults", type=int, default=20, help="how often each comes; 0: none (default: 20)")
    parser.add_argument("--fill", type=int, default=30, help="seconds of puts before a standby is new; 0: none")
    parser.add_argument("--jobs", type=int, default=0,
                        help="measure only the copy to a second node of a first one with so many jobs")  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="of that (default: 3)")
    parser.add_argument("--minutes", type=float, default=0,
                        help="measure only the memory in so many minutes of puts 8x64")  # fmt: skip
    parser.add_argument("--members", type=int, default=3, help="of etcd (default: 3)")
    parser.add_argument("--nodes", type=int, default=3, help="of Perennial (default: 3)")
    try:
        for result in run(parser.parse_args()):
            print(json.dumps(result), flush=True)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        sys.exit(f"perennial_bench: {error}")


if __name__ == "__main__":
    main()
