# ruby worker.rb: does the jobs of the tube "mail", one after the other.
require 'beaneater'
$stdout.sync = true

# Stands for your work. It raises when it fails.
def deliver(body, attempt)
  raise 'the mail server is busy' if attempt == 1
  raise 'nobody has that name' if body == 'to nobody'
end

queue = Beaneater.new('127.0.0.1:11300')
queue.tubes.watch!('mail')
loop do
  job = queue.tubes.reserve
  attempt = job.stats.reserves
  begin
    deliver(job.body, attempt)
    job.delete
    puts "job #{job.id}, attempt #{attempt}: sent #{job.body}"
  rescue RuntimeError => e
    puts "job #{job.id}, attempt #{attempt}: #{e.message}"
    answer = job.release(delay: 0) # The tube's back-off says when it comes back.
    puts "job #{job.id}, no tries left" if answer[:status] == 'BURIED'
  end
end
