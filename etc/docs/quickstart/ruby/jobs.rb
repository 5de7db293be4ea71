# The job of backburner, for the program that puts it and for the one that works.
require 'backburner'

Backburner.configure do |config|
  config.beanstalk_url = 'beanstalk://127.0.0.1:11300'
  config.tube_namespace = 'example'
  config.max_job_retries = 2
  config.retry_delay = 1
  config.retry_delay_proc = ->(seconds, retries) { [seconds * 2**retries, 3600].min }
end

class Letter
  include Backburner::Queue
  queue 'mail'
  queue_respond_timeout 60 # The ttr, in seconds.

  @attempts = Hash.new(0)

  # Stands for your work. It raises when it fails.
  def self.perform(address)
    raise 'the mail server is busy' if (@attempts[address] += 1) == 1
    raise 'nobody has that name' if address == 'to nobody'

    puts "sent #{address}"
    $stdout.flush
  end
end
