<?php
// config/queue.php

return [
    'default' => 'beanstalkd',

    'connections' => [
        'beanstalkd' => [
            'driver' => 'beanstalkd',
            'host' => '127.0.0.1',
            'port' => 11300,
            'queue' => 'mail',      // The tube.
            'retry_after' => 90,    // The ttr, in seconds: longer than any job runs, and longer than --timeout.
            'block_for' => 5,       // How long a worker waits for a job before it asks again.
        ],
    ],

    'failed' => ['driver' => 'database-uuids', 'database' => 'mysql', 'table' => 'failed_jobs'],
];
