# Called by sandbox.sh, in the sandbox that it has made: play_one.rb NAME SECONDS <DOCUMENT. Plays the document, and
# prints its failures and skips.
require 'socket'
require_relative 'player'

# The sandbox's own network has a loopback that is down. linux/sockios.h: SIOCSIFFLAGS with IFF_UP, for struct ifreq.
def raise_loopback
  Socket.open(:INET, :DGRAM) { |socket| socket.ioctl(0x8914, ['lo', 1].pack('a16sx22')) }
end

def listed(title, lines)
  return [] if lines.nil?

  lines.empty? ? ["  #{title} | (nothing)"] : lines.map { |line| "  #{title} | #{line}".rstrip }
end

def text_of(name, failure)
  ["#{name}:#{failure.line}: FAILED: #{failure.what}",
   *listed('wanted', failure.wanted), *listed('came  ', failure.came)].join("\n")
end

OWN_FOLDER = '/run/play'.freeze # What the player writes for itself.

name, seconds = ARGV
Dir.mkdir(OWN_FOLDER)
raise_loopback
document = Docs::Document.new($stdin.read.force_encoding(Encoding::UTF_8))
player = Docs::Player.new(document, OWN_FOLDER, seconds.to_i)
player.play
document.skips.each { |skip| puts "#{name}:#{skip.line}: skipped: #{skip.reason}" }
player.failures.sort_by(&:line).each { |failure| puts text_of(name, failure) }
puts "#{name}: #{document.steps.size} played, #{document.skips.size} skipped, #{player.failures.size} failed"
exit player.failures.empty? ? 0 : 1
