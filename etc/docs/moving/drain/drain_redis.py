"""Moves the jobs of a list, or of a sorted set of times, from Redis to Perennial: python3 drain_redis.py --help.

Each job is put first and taken out of Redis then. Its key makes a second put harmless, so it may be stopped at any moment and started
again. Stop the old workers first: a job that one of them holds is not in the list."""
import argparse
import json
import time

import redis

from perennial_put import Perennial, key_of

# Takes the last one out if it is still what was put, and counts it.
TAKE = """if redis.call('lindex', KEYS[1], -1) ~= ARGV[1] then return 0 end
redis.call('rpop', KEYS[1])
return redis.call('incr', KEYS[2])"""


def drain_list(jobs, queue, flags):
    count_key = f"{flags.list}:moved-to-perennial"
    while (body := jobs.lindex(flags.list, -1)) is not None:
        if flags.id:
            key = key_of(str(json.loads(body)[flags.id]))
        else:  # Jobs have no name in a plain list: the n-th that is taken out is this one, also after a crash.
            key = key_of(f"{flags.list}/{int(jobs.get(count_key) or 0)}")
        queue.put(flags.tube, body, key, ttr=flags.ttr)
        jobs.eval(TAKE, 2, flags.list, count_key, body)


def drain_sorted_set(jobs, queue, flags):
    while found := jobs.zrange(flags.sorted_set, 0, 0, withscores=True):
        body, due = found[0]
        key = key_of(str(json.loads(body)[flags.id]))
        queue.put(flags.tube, body, key, delay=max(0, int(due - time.time())), ttr=flags.ttr)
        jobs.zrem(flags.sorted_set, body)


def main():
    flags = argparse.ArgumentParser(description="Moves jobs from Redis to Perennial.")
    flags.add_argument("--redis", default="redis://127.0.0.1:6379/0")
    flags.add_argument("--server", default="127.0.0.1:11300", help="Perennial")
    flags.add_argument("--tube", required=True)
    flags.add_argument("--ttr", type=int, default=60, help="seconds that a worker may hold a job")
    flags.add_argument("--id", help="the member of the JSON of a job that names it: jid of Sidekiq")
    source = flags.add_mutually_exclusive_group(required=True)
    source.add_argument("--list", help="whose right end is the next job, as with LPUSH and BRPOP: queue:default of Sidekiq")
    source.add_argument("--sorted-set", help="scored by time: schedule or retry of Sidekiq; needs --id")
    flags = flags.parse_args()
    if flags.sorted_set and not flags.id:
        raise SystemExit("--sorted-set needs --id")
    jobs, queue = redis.Redis.from_url(flags.redis), Perennial(flags.server)
    (drain_list if flags.list else drain_sorted_set)(jobs, queue, flags)
    queue.report()


main()
