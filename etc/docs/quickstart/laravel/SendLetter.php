<?php
// app/Jobs/SendLetter.php

namespace App\Jobs;

use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Queue\InteractsWithQueue;

class SendLetter implements ShouldQueue
{
    use InteractsWithQueue, Queueable;

    public $tries = 3;
    public $backoff = [1, 2]; // Seconds before the second attempt, and before the third.

    public function __construct(public string $address)
    {
    }

    public function handle(): void
    {
        if ($this->attempts() === 1) throw new \RuntimeException('the mail server is busy');
        if ($this->address === 'to nobody') throw new \RuntimeException('nobody has that name');
        echo "sent {$this->address}\n";
    }

    public function failed(\Throwable $failure): void
    {
        echo "{$this->address} is out of tries: {$failure->getMessage()}\n";
    }
}
