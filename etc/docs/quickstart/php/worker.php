<?php
// php worker.php: does the jobs of the tube "mail", one after the other.
require 'Pheanstalk/autoload.php';

use Pheanstalk\Exception\ServerOutOfMemoryException;

// Stands for your work. It throws when it fails.
function send(string $body, int $attempt): void
{
    if ($attempt === 1) throw new RuntimeException('the mail server is busy');
    if ($body === 'to nobody') throw new RuntimeException('nobody has that name');
}

$queue = Pheanstalk\Pheanstalk::create('127.0.0.1', 11300);
$queue->watchOnly('mail');
while (true) {
    $job = $queue->reserveWithTimeout(5);
    if ($job === null) continue; // Nothing came in 5 seconds.
    $attempt = (int) $queue->statsJob($job)->reserves;
    try {
        send($job->getData(), $attempt);
        $queue->delete($job);
        echo "job {$job->getId()}, attempt $attempt: sent {$job->getData()}\n";
    } catch (RuntimeException $failure) {
        echo "job {$job->getId()}, attempt $attempt: {$failure->getMessage()}\n";
        try {
            $queue->release($job); // The tube's back-off says when it comes back.
        } catch (ServerOutOfMemoryException $buried) { // What Pheanstalk makes of the answer BURIED.
            echo "job {$job->getId()}, no tries left\n";
        }
    }
}
