"""Moves the messages of a queue from SQS to Perennial: python3 drain_sqs.py --help. Who you are and the region come from where boto3 looks.

Each message is put first and deleted then. Its MessageId is its key, so it may be stopped at any moment and started again. Messages that
old workers hold come back after their visibility timeout: run it again until it finds none."""
import argparse

import boto3

from perennial_put import Perennial, key_of


def main():
    flags = argparse.ArgumentParser(description="Moves messages from SQS to Perennial.")
    flags.add_argument("--queue-url", required=True)
    flags.add_argument("--endpoint-url", help="another place than AWS")
    flags.add_argument("--server", default="127.0.0.1:11300", help="Perennial")
    flags.add_argument("--tube", required=True)
    flags.add_argument("--ttr", type=int, default=60, help="seconds that a worker may hold a job")
    flags.add_argument("--wait", type=int, default=20, help="seconds to wait for a message before it ends")
    flags = flags.parse_args()
    sqs, queue = boto3.client("sqs", endpoint_url=flags.endpoint_url), Perennial(flags.server)
    while True:
        found = sqs.receive_message(QueueUrl=flags.queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=flags.wait)
        for message in found.get("Messages", []):
            queue.put(flags.tube, message["Body"].encode(), key_of(message["MessageId"]), ttr=flags.ttr)
            sqs.delete_message(QueueUrl=flags.queue_url, ReceiptHandle=message["ReceiptHandle"])
        if not found.get("Messages"):
            break
    queue.report()


main()
