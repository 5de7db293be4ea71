require 'io/wait'
require 'socket'
require_relative 'pattern'
require_relative 'shell'

module Docs
  # What a document expects, and what came instead. `line` is a line number of the document, the
  # others are lists of lines. If `wanted` is nil, `what` is the whole message.
  Failure = Struct.new(:line, :what, :wanted, :came, keyword_init: true)

  # The client's end of a connection, which reads answers as lines. The bytes that follow the first
  # line of an answer are lines, too.
  class Connection
    # protocol.txt: the answers with bytes after their first line.
    WITH_BYTES = /\A(?:OK|FOUND \d+|RESERVED \d+) (\d+)\z/.freeze

    def initialize(host, port)
      @socket = TCPSocket.new(host, port)
      @body = []
    end

    def send_line(line)
      @socket.write("#{line}\r\n")
    end

    # The lines of the last answer that are not taken yet.
    attr_reader :body

    # Returns the next line without its end, or nil when the server has closed the connection.
    # Raises TooSlow.
    def read_line(deadline)
      return @body.shift unless @body.empty?

      line = read_until(deadline) { |bytes| bytes.end_with?("\n") }&.chomp
      size = line && line[WITH_BYTES, 1]
      @body = read_body(size.to_i, deadline) if size
      line
    end

    # Closes the connection once the server sends nothing more. Returns what it did send.
    def close(deadline)
      @socket.close_write
      lines = []
      while (line = read_line(deadline))
        lines << line
      end
      lines
    rescue SystemCallError
      lines # The server has closed, and nothing more can arrive.
    ensure
      @socket.close
    end

    # Closes the connection at once.
    def drop
      @socket.close
    end

    private

    def read_body(size, deadline)
      bytes = read_until(deadline) { |so_far| so_far.bytesize == size + 2 }
      body = bytes.to_s.delete_suffix("\r\n")
      body.empty? ? [body] : body.lines(chomp: true)
    end

    # Reads byte for byte, so that nothing of what follows is consumed. Returns nil at the end of
    # the connection.
    def read_until(deadline)
      bytes = +''
      until yield bytes
        deadline.wait_readable(@socket)
        byte = @socket.read(1)
        return unless byte

        bytes << byte
      end
      bytes.force_encoding(Encoding::UTF_8)
    end
  end

  # Plays conversations with the server: sends their lines and compares the answers.
  class Conversation
    # NAME> LINE is sent, NAME< LINE is expected. The connection without a name is one of them.
    LINE = /\A([\w-]*)([<>])(?: (.*))?\z/.freeze

    def initialize(host, port, names)
      @host = host
      @port = port
      @names = names
      @connections = {}
    end

    # Returns the failure at which it stopped, or nil.
    def play(first_line, lines, deadline)
      lines.each_with_index do |line, index|
        next if line.strip.empty?

        failure = play_line(line.rstrip, lines[index + 1], deadline)
        return failure.tap { |found| found.line = first_line + index } if failure
      end
      nil
    end

    # Closes all connections without reading from them.
    def abandon
      @connections.each_value(&:drop)
      @connections = {}
    end

    # Closes all connections. Returns a failure if the server sent more than the document has.
    def close(last_line, deadline)
      rests = @connections.transform_values { |connection| connection.close(deadline) }
      @connections = {}
      name, rest = rests.find { |_, lines| !lines.empty? }
      rest && Failure.new(line: last_line, what: "what the server says#{to(name)} goes on", wanted: [], came: rest)
    end

    private

    def to(name)
      name.empty? ? '' : " to #{name}"
    end

    def play_line(line, next_line, deadline)
      name, direction, text = LINE.match(line)&.captures
      return Failure.new(what: "neither sent nor answered: #{line}") unless name
      return send_line(name, text.to_s) if direction == '>'
      return skip_body(name, next_line) if text == Pattern::ANY_LINES

      expect(name, text.to_s, connection(name).read_line(deadline))
    rescue TooSlow, SystemCallError => e
      Failure.new(what: "`#{line}`: #{e.message}")
    end

    def connection(name)
      @connections[name] ||= Connection.new(@host, @port)
    end

    def send_line(name, text)
      rest = connection(name).body
      unless rest.empty?
        return Failure.new(what: "the answer#{to(name)} before this goes on", wanted: [], came: rest)
      end

      filled = Pattern.fill(text, @names)
      return Failure.new(what: "what does this name stand for? #{filled}") if Pattern::NAME.match?(filled)

      connection(name).send_line(filled)
      nil
    end

    def expect(name, wanted, came)
      found = came && Pattern.match_line(wanted, came.rstrip, @names)
      return @names.replace(found) && nil if found

      came = came ? [came] : ['(the end of the connection)']
      Failure.new(what: "the answer#{to(name)}", wanted: [Pattern.fill(wanted, @names)], came: came)
    end

    # Skips the rest of an answer, up to the next line in the document that belongs to the same
    # answer.
    def skip_body(name, next_line)
      body = connection(name).body
      next_name, direction, wanted = LINE.match(next_line.to_s.rstrip)&.captures
      goes_on = next_name == name && direction == '<'
      found = goes_on ? body.index { |line| Pattern.match_line(wanted.to_s, line.rstrip, @names) } : body.size
      return body.shift(found) && nil if found

      Failure.new(what: "the rest of the answer#{to(name)}", wanted: [Pattern.fill(wanted.to_s, @names)], came: body)
    end
  end
end
