# ruby extensions.rb: what Beaneater has no function for.
require 'beaneater'

QUEUE = Beaneater.new('127.0.0.1:11300').connection

def put(body, options)
  QUEUE.transmit("put 1024 0 60 #{body.bytesize} #{options}\r\n#{body}")
end

p put('June', 'tube:reports idp:june') # Unique by its key.
p put('June', 'tube:reports idp:june') # So this one is not put, and the answer names the first.
p put('July', 'tube:reports tries:5 backoff:10:600 dead:reports-dead')

items = "1024 0 60 3\r\none\r\n1024 0 60 3\r\ntwo" # Two jobs in one step: all are put, or none.
p QUEUE.transmit("put-batch 2 #{items.bytesize} tube:reports\r\n#{items}")
2.times { p QUEUE.connection.gets }
