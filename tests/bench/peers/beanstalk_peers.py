"""Perennial, and beanstalkd in its three modes. `perennial bench` loads both, by its program perennial-bench."""

import json
import os

from peer import COMMAND_WITHIN_S, LOADS, Peer, free_port, rates_by_load, run, running, version_in


class BeanstalkPeer(Peer):
    """A server that speaks the protocol of beanstalkd."""

    flags = ["-b", "{folder}/data"]

    def program(self):
        raise NotImplementedError

    def running(self, folder):
        os.mkdir(f"{folder}/data")
        port = free_port()
        flags = [flag.format(folder=folder) for flag in self.flags]
        return running([self.program(), "-l", "127.0.0.1", "-p", str(port), *flags], port, folder)

    def rates(self, port, folder):
        report = f"{folder}/report.json"
        # It measures puts with 50 and with 200 connections, pipelined puts and cycles, each after half a second of warm-up.
        run([self.in_build("perennial-bench"), "put", "put-pipelined", "cycle", "--rounds", "1", "--seconds", f"{self.options.seconds}s",
             "--server", f"127.0.0.1:{port}", "--json", report], timeout_s=len(LOADS) * self.options.seconds + COMMAND_WITHIN_S)
        with open(report, encoding="utf-8") as file:
            return rates_of_report(json.load(file))


class Perennial(BeanstalkPeer):
    key = "perennial"
    name = "Perennial"
    synced = "each write"
    install = "ninja -C build perenniald perennial-bench"

    def program(self):
        return named_by("PERENNIALD") or self.in_build("perenniald")

    def missing(self):
        return self.missing_of(**{"perenniald": self.program(), "perennial-bench": self.in_build("perennial-bench")})

    def versions(self):
        return {"Perennial": version_in(run([self.program(), "--version"]))}


class Beanstalkd(BeanstalkPeer):
    key = "beanstalkd"
    install = "apt-get install beanstalkd, and ninja -C build perennial-bench"

    def program(self):
        unpacked = os.path.join(self.options.build, "beanstalkd/usr/bin/beanstalkd")  # By tests/run.
        return named_by("BEANSTALKD") or self.packaged("beanstalkd") or (unpacked if os.path.exists(unpacked) else None)

    def missing(self):
        return self.missing_of(**{"beanstalkd": self.program(), "perennial-bench": self.in_build("perennial-bench")})

    def versions(self):
        return {"beanstalkd": version_in(run([self.program(), "-v"]))}


class SyncedBeanstalkd(Beanstalkd):
    name = "beanstalkd -b DIR -f 0"
    synced = "each write"
    flags = ["-b", "{folder}/data", "-f", "0"]


class LoggedBeanstalkd(Beanstalkd):
    name = "beanstalkd -b DIR"
    synced = "nothing (syncs every 50 ms)"


class MemoryBeanstalkd(Beanstalkd):
    name = "beanstalkd without a log"
    synced = "nothing (memory only)"
    flags = []


def named_by(variable):
    """The program that this variable of the environment names."""
    return os.path.abspath(os.environ[variable]) if os.environ.get(variable) else None


def rates_of_report(report):
    """Of a report of `perennial bench`, by load."""
    return rates_by_load((measured["setting"], measured["operation"], measured["throughput"]["per_second"]) for measured in report["measurements"])
