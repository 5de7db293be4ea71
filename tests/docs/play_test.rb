#!/usr/bin/env ruby
# tests/docs/play_test.rb BUILD: plays each document of cases/, and compares all that is said about it with the text
# beside it. In those whose name ends in _wrong every step goes wrong in a way of its own.
require 'open3'
require 'tmpdir'

BUILD = ARGV.fetch(0)
PLAY = "#{__dir__}/play.rb".freeze
NO_RIGHT = 77
# A step of these takes for ever; none of the others should ever be cut off.
SECONDS = Hash.new('30').merge('slow_wrong' => '2').freeze
@failures = 0

def expect(what, wanted, came)
  return if wanted == came

  @failures += 1
  puts "FAILED: #{what}: wanted", wanted, 'and got', came
end

def play(*arguments, **environment)
  said, status = Open3.capture2e(environment.transform_keys(&:to_s), PLAY, '--build', BUILD, *arguments)
  [said, status.exitstatus]
end

def play_case(document)
  name = File.basename(document, '.md')
  said, status = play('--seconds', SECONDS[name], document)
  if status == NO_RIGHT
    puts said
    exit NO_RIGHT
  end
  # How many settings the package's file has before a line that a case adds is not the case's affair.
  said = said.gsub(%r{(/etc/perennial/perennial\.yaml):\d+:}, '\1:LINE:')
  expect(name, File.read(document.sub(/md\z/, 'txt')), said)
  expect("#{name}: exit status", name.end_with?('_wrong') ? 1 : 0, status)
end

# With an unshare that has no right.
def play_without_right
  Dir.mktmpdir do |folder|
    File.write("#{folder}/unshare", "#!/bin/sh\nexit 1\n")
    File.chmod(0o755, "#{folder}/unshare")
    said, status = play("#{__dir__}/cases/console.md", PATH: "#{folder}:#{ENV.fetch('PATH')}")
    expect('without the right', "skipped: no right to make namespaces, so that no document is played\n", said)
    expect('without the right: exit status', NO_RIGHT, status)
  end
end

# One bad document among good ones is enough.
def play_several
  cases = %w[script script_wrong form].map { |name| "#{__dir__}/cases/#{name}.md" }
  said, status = play(*cases)
  expect('several: exit status', 1, status)
  expect('several', 3, said.scan(/^\S+: \d+ played/).size)
end

documents = Dir["#{__dir__}/cases/*.md"].sort
documents.each { |document| play_case(document) }
play_several
play_without_right
left = %w[/backup /var/lib /tmp].map { |folder| "#{folder}/of-a-document" }.select { |path| File.exist?(path) }
expect('what a document leaves outside its sandbox', [], left)
puts "#{documents.size} documents, #{@failures} failures"
exit @failures.zero? ? 0 : 1
