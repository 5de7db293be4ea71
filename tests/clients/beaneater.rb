# Calls every function of Ruby's beaneater, and sends the commands that beaneater does not have between
# its own, on one connection: beaneater.rb HOST PORT. Exits with 1 and a message at the first
# unexpected result.
require 'beaneater'
require 'set'
require 'timeout'

TUBE = 'tube-of-beaneater'.freeze
WORKERS = 4
PRODUCERS = 4
JOBS_PER_PRODUCER = 100

def same(want, got, what)
  raise "#{what}: wanted #{want.inspect}, got #{got.inspect}" unless want == got
end

def missing(what)
  yield
rescue Beaneater::NotFoundError
  nil
else
  raise "#{what}: wanted NOT_FOUND"
end

def empty(tube, what)
  tube.reserve(0)
rescue Beaneater::TimedOutError
  nil
else
  raise "#{what}: wanted TIMED_OUT"
end

def life_of_a_job(client, tube)
  id = tube.put('first', pri: 7, ttr: 60)[:id]
  found = client.jobs.find(id)
  same 'first', found.body, 'peek'
  same ['ready', 7, 60, TUBE], [found.stats.state, found.pri, found.ttr, found.tube], 'stats-job'
  same id, tube.peek(:ready).id, 'peek-ready'
  job = tube.reserve(0)
  same [id, 'first'], [job.id, job.body], 'reserve'
  same 'reserved', job.stats.state, 'state of a reserved job'
  job.touch
  job.release(pri: 9, delay: 0)
  same ['ready', 9, 1], [job.stats.state, job.stats.pri, job.stats.releases], 'release'
  job = tube.reserve(0)
  same id, job.id, 'reserve after release'
  job.delete
  same nil, client.jobs.find(id), 'peek of a deleted job'
  missing('delete of a deleted job') { job.delete }
  missing('kick-job of a deleted job') { job.kick }
  missing('stats-job of a deleted job') { job.stats }
  empty tube, 'an empty tube'
end

def order(tube)
  low = tube.put('low', pri: 20)[:id]
  high = tube.put('high', pri: 10)[:id]
  later = tube.put('later', pri: 10)[:id]
  [high, later, low].each do |id|
    job = tube.reserve(0)
    same id, job.id, 'order'
    job.delete
  end
end

def delays(tube)
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  id = tube.put('in a second', delay: 1)[:id]
  same id, tube.peek(:delayed).id, 'peek-delayed'
  empty tube, 'a delayed job'
  job = tube.reserve(5)
  same id, job.id, 'reserve after the delay'
  passed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun
  raise "a delay ended early, after #{passed} s" if passed < 0.9

  job.release(delay: 1000)
  same ['delayed', 1000], [job.stats.state, job.delay], 'release with a delay'
  job.kick
  job = tube.reserve(0)
  same id, job.id, 'reserve after kick-job'
  job.delete
end

def bury_and_kick(tube)
  jobs = %w[one two three].map do |body|
    tube.put(body, pri: 5)
    job = tube.reserve(0)
    same body, job.body, 'reserve before bury'
    job.bury(pri: 6)
    job
  end
  same 'one', tube.peek(:buried).body, 'peek-buried'
  same nil, tube.peek(:ready), 'peek-ready'
  same '2', tube.kick(2)[:id], 'kick'
  jobs[2].kick
  stats = jobs[2].stats
  same ['ready', 1, 1, 6], [stats.state, stats.kicks, stats.buries, stats.pri], 'kick-job'
  jobs.each(&:delete)
end

def pauses(tube)
  tube.put('paused')
  begun = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  tube.pause(1)
  empty tube, 'a paused tube'
  same 1, tube.stats.pause, 'stats-tube'
  tube.reserve(5).delete
  passed = Process.clock_gettime(Process::CLOCK_MONOTONIC) - begun
  raise "a pause ended early, after #{passed} s" if passed < 0.9
end

def bodies(tube)
  ['', "\r\n", "a\r\nRESERVED 1 2\r\n", "\u00fcn\u0000", 'x' * 60_000].each do |body|
    tube.put(body.dup)
    job = tube.reserve(1)
    same body.b, job.body.b, 'body'
    job.delete
  end
end

# The replies that follow the line of a batch. beaneater reads the line alone.
def batch_items(connection, count)
  Array.new(count) { connection.send(:parse_response, 'batch', connection.connection.readline) }
end

# The names of the extensions, and none for a beanstalkd.
def extensions(connection)
  connection.transmit('extensions')[:body]
rescue Beaneater::UnknownCommandError
  []
end

def put_with_options(client, tube)
  line = 'put 5 0 60 6 idp:june:60 tries:2 backoff:100ms'
  first = client.connection.transmit("#{line}\r\nreport")
  same 'INSERTED', first[:status], 'put with options'
  again = client.connection.transmit("#{line}\r\nreport")
  same first, again, 'a duplicate'
  job = tube.reserve(0)
  same [first[:id], 'report', 5], [job.id, job.body, job.pri], 'reserve of a job with options'
  same [0, 2, 'june'], [job.stats.attempts, job.stats.tries, job.stats.idp], 'stats-job'
  job.release
  same 1, job.stats.attempts, 'attempts after a release'
  job = tube.reserve(5)
  same 'BURIED', job.release[:status], 'the release that makes a job dead'
  same 'buried', job.stats.state, 'the state of a dead job'
  job.delete
end

def batches(client, tube)
  items = "0 0 60 3\r\nAnn\r\n9 0 60 5 idp:b\r\nB\r\nob\r\n0 0 60 3 idp:b\r\nEve"
  put = client.connection.transmit("put-batch 3 #{items.bytesize}\r\n#{items}")
  same %w[INSERTED_BATCH 2], [put[:status], put[:id]], 'put-batch'
  ann, bob, eve = batch_items(client.connection, 3).map { |item| item[:id] }
  same bob, eve, 'a duplicate in a batch'
  same 'Ann', client.jobs.find(ann).body, 'peek of a job from a batch'
  reserved = client.connection.transmit('reserve-batch 10 1')
  same %w[RESERVED_BATCH 2], [reserved[:status], reserved[:id]], 'reserve-batch'
  jobs = batch_items(client.connection, 2)
  same [[ann, 'Ann'], [bob, "B\r\nob"]], jobs.map { |job| [job[:id], job[:body]] }, 'its jobs'
  client.jobs.find(ann).delete
  same 'DELETED_BATCH', client.connection.transmit("delete-batch #{ann} #{bob}")[:status],
       'delete-batch'
  same nil, client.jobs.find(bob), 'peek of a deleted job'
  empty tube, 'a tube after delete-batch'
end

def lists(client, tube)
  ids = [tube.put('ready')[:id], tube.put('delayed', delay: 1000)[:id]]
  list = client.connection.transmit("list-jobs #{TUBE}")[:body]
  same 0, list['cursor'], 'the cursor of a list'
  same ids, list['jobs'].map { |job| job['id'].to_s }, 'the ids of a list'
  same [TUBE, 'delayed', 7], [list['jobs'][1]['tube'], list['jobs'][1]['state'],
                              list['jobs'][1]['bytes']], 'a job of a list'
  flushed = client.connection.transmit("flush-tube #{TUBE} state:delayed")
  same %w[FLUSHED 1], [flushed[:status], flushed[:id]], 'flush-tube'
  tube.reserve(0).delete
end

def figures(client, tube)
  %w[current-jobs-ready cmd-put total-jobs pid version uptime].each do |key|
    raise "stats has no #{key}" unless client.stats.keys.include?(key.tr('-', '_'))
  end
  stats = tube.stats
  left = [stats.current_jobs_ready, stats.current_jobs_reserved, stats.current_jobs_delayed,
          stats.current_jobs_buried]
  same [0, 0, 0, 0], left, 'jobs left'
  same [TUBE], client.tubes.watched.map(&:name), 'list-tubes-watched'
  same TUBE, client.tubes.used.name, 'list-tube-used'
  same [TUBE, 'default'], client.tubes.all.map(&:name).sort.reverse, 'list-tubes'
end

def produce(address, name, producer)
  client = Beaneater.new(address)
  tube = client.tubes[name]
  JOBS_PER_PRODUCER.times { |n| tube.put("#{producer}/#{n}/#{'.' * (n * 10)}", pri: n) }
  client.close
end

def work(address, name, done)
  client = Beaneater.new(address)
  tube = client.tubes[name]
  loop do
    job = tube.reserve(1)
    done << job.body.split('/').first(2)
    job.delete
  end
rescue Beaneater::TimedOutError
  client.close
end

# Several producers and workers at once: each job is done exactly once.
def concurrent(address)
  done = Queue.new
  threads = Array.new(PRODUCERS) { |n| Thread.new { produce(address, 'crowd', n) } }
  threads += Array.new(WORKERS) { Thread.new { work(address, 'crowd', done) } }
  threads.each(&:join)
  all = Array.new(done.size) { done.pop }
  same PRODUCERS * JOBS_PER_PRODUCER, all.size, 'jobs done'
  same all.size, all.to_set.size, 'different jobs done'
end

begin
  address = "#{ARGV[0]}:#{ARGV[1]}"
  Timeout.timeout(60) do
    client = Beaneater.new(address)
    tube = client.tubes[TUBE]
    life_of_a_job client, tube
    [method(:order), method(:delays), method(:bury_and_kick), method(:pauses),
     method(:bodies)].each { |step| step.call(tube) }
    if extensions(client.connection).include?('batch')
      put_with_options client, tube
      batches client, tube
      lists client, tube
    end
    figures client, tube
    client.close
    concurrent address
  end
  puts 'beaneater: ok'
rescue StandardError => e
  warn "beaneater: FAILED: #{e.full_message}"
  exit 1
end
