<?php
// php put.php BODY: puts a job into the tube "mail".
require 'Pheanstalk/autoload.php';

$queue = Pheanstalk\Pheanstalk::create('127.0.0.1', 11300);
$job = $queue->useTube('mail')->put($argv[1]);
echo "job {$job->getId()}\n";
