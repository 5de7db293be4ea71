"""One node of RabbitMQ with quorum queues. It is started and loaded as in tests/bench/cluster."""

import contextlib
import json
import os
import shutil
import sys

from peer import Peer, rates_by_load, signals_held

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
from rabbitmq import RabbitCluster, find_sbin  # noqa: E402
from rabbitmq_bench import WORKS, run_load  # noqa: E402


class RabbitMq(Peer):
    """A quorum queue syncs its log before it confirms a message."""

    key = "rabbitmq"
    name = "RabbitMQ, quorum queue"
    synced = "each message"
    install = "apt-get install rabbitmq-server librabbitmq-dev, and ninja -C build amqp_load"

    def place(self):
        """The folder into which the package was unpacked, or the root if it is installed."""
        for folder in (self.options.packages, os.path.join(self.options.build, "rabbitmq-server"), "/"):
            with contextlib.suppress(RuntimeError):
                find_sbin(folder)
                return folder
        return None

    def missing(self):
        return self.missing_of(**{"rabbitmq-server": self.place(), "epmd": shutil.which("epmd"), "amqp_load": self.in_build("amqp_load")})

    def versions(self):
        return {"RabbitMQ": os.path.basename(os.path.dirname(find_sbin(self.place()))).split("-")[1]}

    @contextlib.contextmanager
    def running(self, folder):
        with RabbitCluster(self.place(), nodes=1, folder=folder) as cluster:
            with signals_held():
                cluster.start()
            yield cluster.ports[0]

    def rates(self, port, folder):
        seconds = self.options.seconds
        rates = {}
        for work in WORKS:
            words = [*work, "--seconds", str(seconds), "--rounds", "1", "--ports", str(port)]
            rates |= rates_of_amqp_load(run_load(self.in_build("amqp_load"), words, seconds))
        return rates


def rates_of_amqp_load(lines):
    """Of the lines that amqp_load prints, by load."""
    measured = [json.loads(line) for line in lines]
    return rates_by_load((*one["work"].split()[1:], one["per_second"]) for one in measured)
