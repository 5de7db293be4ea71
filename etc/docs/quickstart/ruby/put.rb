# ruby put.rb BODY: puts a job into the tube "mail".
require 'beaneater'

queue = Beaneater.new('127.0.0.1:11300')
puts "job #{queue.tubes['mail'].put(ARGV[0], ttr: 60)[:id]}"
queue.close
