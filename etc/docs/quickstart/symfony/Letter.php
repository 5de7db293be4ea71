<?php
// src/Message/Letter.php

namespace App\Message;

class Letter
{
    public function __construct(public string $address)
    {
    }
}
