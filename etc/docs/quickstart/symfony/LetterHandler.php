<?php
// src/MessageHandler/LetterHandler.php

namespace App\MessageHandler;

use App\Message\Letter;
use Symfony\Component\Messenger\Attribute\AsMessageHandler;

#[AsMessageHandler]
class LetterHandler
{
    private array $attempts = []; // For this example only.

    public function __invoke(Letter $letter): void
    {
        $attempt = $this->attempts[$letter->address] = ($this->attempts[$letter->address] ?? 0) + 1;
        if ($attempt === 1) throw new \RuntimeException('the mail server is busy');
        if ($letter->address === 'to nobody') throw new \RuntimeException('nobody has that name');
        echo "sent {$letter->address}\n";
    }
}
