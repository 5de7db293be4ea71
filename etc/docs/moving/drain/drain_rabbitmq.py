"""Moves the messages of a queue from RabbitMQ to Perennial: python3 drain_rabbitmq.py --help.

Each message is put first and acknowledged then, so it may be stopped at any moment and started again. A message with a message_id has it
as its key, and is never there twice. One without may be there twice after a crash between the two steps: at most one for each crash."""
import argparse

import pika

from perennial_put import Perennial, key_of


def main():
    flags = argparse.ArgumentParser(description="Moves messages from RabbitMQ to Perennial.")
    flags.add_argument("--rabbitmq", default="amqp://guest:guest@127.0.0.1:5672/%2F")
    flags.add_argument("--server", default="127.0.0.1:11300", help="Perennial")
    flags.add_argument("--queue", required=True)
    flags.add_argument("--tube", required=True)
    flags.add_argument("--ttr", type=int, default=60, help="seconds that a worker may hold a job")
    flags = flags.parse_args()
    connection, queue = pika.BlockingConnection(pika.URLParameters(flags.rabbitmq)), Perennial(flags.server)
    channel = connection.channel()
    while True:
        method, properties, body = channel.basic_get(flags.queue)
        if method is None:
            break
        key = key_of(properties.message_id) if properties.message_id else None
        # A higher priority goes first there, a lower one here.
        queue.put(flags.tube, body, key, pri=1024 - (properties.priority or 0), ttr=flags.ttr)
        channel.basic_ack(method.delivery_tag)
    connection.close()
    queue.report()


main()
