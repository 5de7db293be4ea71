# Stands in for backburner 1, which neither Debian nor npm has: of its calls those that the quick start makes, with the
# same names, bodies, tubes and retries, on the real Beaneater. Where the real one is installed, it is used instead of this.
require 'beaneater'
require 'json'

module Backburner
  Configuration = Struct.new(:beanstalk_url, :tube_namespace, :max_job_retries, :retry_delay, :retry_delay_proc)

  module Queue
    def self.included(base)
      base.extend(ClassMethods)
    end

    module ClassMethods
      def queue(name = nil)
        name ? @queue = name : @queue
      end

      def queue_respond_timeout(seconds = nil)
        seconds ? @ttr = seconds : @ttr || 120
      end
    end
  end

  class << self
    def configure
      yield(configuration)
    end

    def configuration
      @configuration ||= Configuration.new('beanstalk://127.0.0.1', 'backburner.worker.queue', 0, 5, ->(delay, _) { delay })
    end

    def enqueue(job_class, *args)
      body = { class: job_class.name, args: args }.to_json
      connect.tubes[tube(job_class)].put(body, pri: 65_536, delay: 0, ttr: job_class.queue_respond_timeout)
    end

    def work(*names)
      queue = connect
      queue.tubes.watch!(*names.map { |name| "#{configuration.tube_namespace}.#{name}" })
      loop { work_one(queue.tubes.reserve) }
    end

    private

    def connect
      Beaneater.new(configuration.beanstalk_url.delete_prefix('beanstalk://'))
    end

    def tube(job_class)
      "#{configuration.tube_namespace}.#{job_class.queue}"
    end

    def work_one(job)
      said = JSON.parse(job.body)
      Object.const_get(said['class']).perform(*said['args'])
      job.delete
    rescue StandardError => e
      warn "Exception #{e.class} -> #{e.message}"
      retries = job.stats.releases
      return job.bury if retries >= configuration.max_job_retries

      job.release(delay: configuration.retry_delay_proc.call(configuration.retry_delay, retries))
    end
  end
end
