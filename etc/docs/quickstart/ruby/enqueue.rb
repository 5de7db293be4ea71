# ruby enqueue.rb ADDRESS: puts a job of the class Letter.
require_relative 'jobs'

puts "job #{Backburner.enqueue(Letter, ARGV[0])[:id]}"
