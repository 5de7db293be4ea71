#!/usr/bin/env ruby
# tests/docs/play.rb [--build FOLDER] [--seconds N] [DOCUMENT...]: does what the documents say, and compares what they
# promise with what comes. Without a document: README.md and all of etc/docs. README.md beside this says how a document
# is written. Ends with 1 if something failed, and with 77 if there is no right to make a sandbox for a document.
require 'optparse'
require 'tmpdir'

ROOT = File.realpath("#{__dir__}/../..")
NO_RIGHT = 77

options = { build: "#{ROOT}/build", seconds: 90 }
OptionParser.new do |flags|
  flags.on('--build FOLDER', 'where the programs are') { |folder| options[:build] = File.realpath(folder) }
  flags.on('--seconds N', Integer, 'for each block') { |seconds| options[:seconds] = seconds }
end.parse!

# A sandbox ends with its first process, and that with unshare.
def unshare(*command, **redirections)
  own_root = Process.euid.zero? ? [] : %w[--user --map-root-user]
  system('unshare', *own_root, '--mount', '--net', '--pid', '--fork', '--kill-child', *command, **redirections)
end

def play(document, build, seconds)
  Dir.mktmpdir('perennial-docs') do |folder|
    unshare("#{__dir__}/sandbox.sh", folder, ROOT, build,
            'ruby', "#{__dir__}/play_one.rb", document.delete_prefix("#{ROOT}/"), seconds.to_s, in: document)
  end
end

unless unshare('true', err: File::NULL)
  puts 'skipped: no right to make namespaces, so that no document is played'
  exit NO_RIGHT
end
documents = ARGV.empty? ? ["#{ROOT}/README.md", *Dir["#{ROOT}/etc/docs/**/*.md"].sort] : ARGV
good = documents.map { |document| play(document, options[:build], options[:seconds]) }
exit good.all? ? 0 : 1
