<?php
// php extensions.php: what Pheanstalk has no function for, on a socket of Pheanstalk's own.
require 'Pheanstalk/autoload.php';

$socket = (new Pheanstalk\SocketFactory('127.0.0.1', 11300))->create();

function ask(string $line, string $body): string
{
    global $socket;
    $socket->write("$line\r\n$body\r\n");
    return trim($socket->getLine());
}

function put(string $body, string $options): string
{
    return ask('put 1024 0 60 ' . strlen($body) . " $options", $body);
}

echo put('June', 'tube:reports idp:june'), "\n"; // Unique by its key.
echo put('June', 'tube:reports idp:june'), "\n"; // So this one is not put, and the answer names the first.
echo put('July', 'tube:reports tries:5 backoff:10:600 dead:reports-dead'), "\n";

$items = "1024 0 60 3\r\none\r\n1024 0 60 3\r\ntwo"; // Two jobs in one step: all are put, or none.
echo ask('put-batch 2 ' . strlen($items) . ' tube:reports', $items), "\n";
echo trim($socket->getLine()), "\n", trim($socket->getLine()), "\n";
