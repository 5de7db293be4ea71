<?php
// Calls every function of PHP's pheanstalk: pheanstalk.php HOST PORT. Exits with 1 and a message at
// the first unexpected result.
declare(strict_types=1);

require 'Pheanstalk/autoload.php';

use Pheanstalk\Exception\ServerException;
use Pheanstalk\Pheanstalk;

const TUBE = 'tube-of-pheanstalk';
const WORKERS = 4;
const PRODUCERS = 2;
const JOBS_PER_PRODUCER = 150;

function same($want, $got, string $what): void
{
    if ($want !== $got) {
        throw new Exception("$what: wanted " . json_encode($want) . ', got ' . json_encode($got));
    }
}

function missing(callable $ask, string $what): void
{
    try {
        $ask();
    } catch (ServerException $e) {
        return;
    }
    throw new Exception("$what: wanted NOT_FOUND");
}

function lifeOfAJob(Pheanstalk $client): void
{
    $job = $client->put('first', 7, 0, 60);
    $stats = $client->statsJob($job);
    // Servers since 1.13 quote the name, and pheanstalk 4 does not remove the quotes.
    $tube = trim($stats->tube, '"');
    same(['ready', '7', '60', TUBE], [$stats->state, $stats->pri, $stats->ttr, $tube], 'stats-job');
    same('first', $client->peek($job)->getData(), 'peek');
    same($job->getId(), $client->peekReady()->getId(), 'peek-ready');
    $held = $client->reserveWithTimeout(0);
    same([$job->getId(), 'first'], [$held->getId(), $held->getData()], 'reserve');
    same('reserved', $client->statsJob($job)->state, 'state of a reserved job');
    $client->touch($held);
    $client->release($held, 9, 0);
    $stats = $client->statsJob($job);
    same(['ready', '9', '1'], [$stats->state, $stats->pri, $stats->releases], 'release');
    same($job->getId(), $client->reserve()->getId(), 'reserve after release');
    $client->delete($job);
    missing(fn() => $client->peek($job), 'peek of a deleted job');
    missing(fn() => $client->delete($job), 'delete of a deleted job');
    missing(fn() => $client->touch($job), 'touch of a deleted job');
    missing(fn() => $client->bury($job), 'bury of a deleted job');
    missing(fn() => $client->release($job), 'release of a deleted job');
    missing(fn() => $client->kickJob($job), 'kick-job of a deleted job');
    missing(fn() => $client->statsJob($job), 'stats-job of a deleted job');
    same(null, $client->reserveWithTimeout(0), 'reserve from an empty tube');
}

function order(Pheanstalk $client): void
{
    $low = $client->put('low', 20);
    $high = $client->put('high', 10);
    $later = $client->put('later', 10);
    foreach ([$high, $later, $low] as $want) {
        $job = $client->reserveWithTimeout(0);
        same($want->getId(), $job->getId(), 'order');
        $client->delete($job);
    }
}

function delays(Pheanstalk $client): void
{
    $begun = microtime(true);
    $job = $client->put('in a second', 0, 1);
    same($job->getId(), $client->peekDelayed()->getId(), 'peek-delayed');
    same(null, $client->reserveWithTimeout(0), 'reserve of a delayed job');
    same($job->getId(), $client->reserveWithTimeout(5)->getId(), 'reserve after the delay');
    same(true, microtime(true) - $begun > 0.9, 'the delay was kept');
    $client->release($job, 0, 1000);
    same('delayed', $client->statsJob($job)->state, 'release with a delay');
    $client->kickJob($job);
    same($job->getId(), $client->reserveWithTimeout(0)->getId(), 'reserve after kick-job');
    $client->delete($job);
}

function buryAndKick(Pheanstalk $client): void
{
    $jobs = [];
    foreach (['one', 'two', 'three'] as $body) {
        $client->put($body, 5);
        $job = $client->reserveWithTimeout(0);
        same($body, $job->getData(), 'reserve before bury');
        $client->bury($job, 6);
        $jobs[] = $job;
    }
    same('one', $client->peekBuried()->getData(), 'peek-buried');
    same(null, $client->peekReady(), 'peek-ready');
    same(2, $client->kick(2), 'kick');
    $client->kickJob($jobs[2]);
    $stats = $client->statsJob($jobs[2]);
    same(['ready', '1', '1', '6'], [$stats->state, $stats->kicks, $stats->buries, $stats->pri], 'kick-job');
    array_map([$client, 'delete'], $jobs);
}

function pauses(Pheanstalk $client): void
{
    $job = $client->put('paused');
    $client->pauseTube(TUBE, 1000);
    same(null, $client->reserveWithTimeout(0), 'reserve from a paused tube');
    same('1000', $client->statsTube(TUBE)->pause, 'stats-tube');
    $client->resumeTube(TUBE);
    same($job->getId(), $client->reserveWithTimeout(1)->getId(), 'reserve after the pause');
    $client->delete($job);
}

function bodies(Pheanstalk $client): void
{
    foreach (['', "\r\n", "a\r\nRESERVED 1 2\r\n", "\xff\0\x80", str_repeat('x', 60000)] as $body) {
        $client->put($body);
        $job = $client->reserveWithTimeout(1);
        same(bin2hex($body), bin2hex($job->getData()), 'body');
        $client->delete($job);
    }
}

function figures(Pheanstalk $client): void
{
    $stats = $client->stats();
    foreach (['current-jobs-ready', 'cmd-put', 'total-jobs', 'pid', 'version', 'uptime'] as $key) {
        same(true, isset($stats[$key]), "stats has $key");
    }
    $own = $client->statsTube(TUBE);
    foreach (['ready', 'reserved', 'delayed', 'buried'] as $state) {
        same('0', $own["current-jobs-$state"], "$state jobs left");
    }
    same([TUBE], array_values($client->listTubesWatched(true)), 'list-tubes-watched');
    same(TUBE, $client->listTubeUsed(true), 'list-tube-used');
    $tubes = $client->listTubes();
    sort($tubes);
    same(['default', TUBE], $tubes, 'list-tubes');
}

function produce(Pheanstalk $client, int $producer): void
{
    $client->useTube('crowd');
    for ($n = 0; $n < JOBS_PER_PRODUCER; ++$n) {
        $client->put("$producer/$n/" . str_repeat('.', $n * 10), $n);
    }
}

function work(Pheanstalk $client, $out): void
{
    $client->watchOnly('crowd');
    while (($job = $client->reserveWithTimeout(1)) !== null) {
        fwrite($out, implode('/', array_slice(explode('/', $job->getData()), 0, 2)) . "\n");
        $client->delete($job);
    }
}

// Several producers and workers at once, each a process. Each job is done exactly once.
function concurrent(callable $connect): void
{
    [$in, $out] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, STREAM_IPPROTO_IP);
    for ($n = 0; $n < WORKERS + PRODUCERS; ++$n) {
        if (pcntl_fork() === 0) {
            fclose($in);
            $n < WORKERS ? work($connect(), $out) : produce($connect(), $n);
            exit(0);
        }
    }
    fclose($out);
    $done = explode("\n", trim(stream_get_contents($in)));
    while (pcntl_wait($status) > 0) {
        same(0, $status, 'the end of a process');
    }
    same(PRODUCERS * JOBS_PER_PRODUCER, count($done), 'jobs done');
    same(count($done), count(array_unique($done)), 'different jobs done');
}

try {
    $connect = fn() => Pheanstalk::create($argv[1], (int) $argv[2]);
    $client = $connect();
    $client->useTube(TUBE)->watchOnly(TUBE);
    foreach (['lifeOfAJob', 'order', 'delays', 'buryAndKick', 'pauses', 'bodies', 'figures'] as $step) {
        $step($client);
    }
    concurrent($connect);
    echo "pheanstalk: ok\n";
} catch (Throwable $e) {
    fwrite(STDERR, "pheanstalk: FAILED: $e\n");
    exit(1);
}
