module Docs
  # A command, the numbers of its first line and of the line after it, and its expected output.
  Command = Struct.new(:line, :text, :output_line, :wanted, keyword_init: true) do
    # The expected exit status. A command that must fail ends with the comment # exit 1.
    def status
      text[/\s#\s*exit\s+(\d+)\s*\z/, 1].to_i
    end
  end

  # A block of commands typed at a prompt, with their output.
  class Console
    PROMPT = '$ '.freeze

    # The stray lines before the first command are given by their numbers.
    attr_reader :commands, :stray_lines

    def initialize(first_line, lines)
      @commands = []
      @stray_lines = []
      lines.each_with_index { |line, index| add(first_line + index, line) }
      @commands.each { |command| drop_empty_end(command.wanted) }
    end

    private

    def add(number, line)
      if @is_continued then type(number, "#{@commands.last.text}\n#{line}")
      elsif line.start_with?(PROMPT) then begin_command(number, line.delete_prefix(PROMPT))
      elsif @commands.empty? then @stray_lines << number
      else @commands.last.wanted << line.rstrip
      end
    end

    def begin_command(number, text)
      @commands << Command.new(line: number, wanted: [])
      type(number, text)
    end

    # A command continues while its lines end in a backslash.
    def type(number, text)
      @commands.last.text = text
      @commands.last.output_line = number + 1
      @is_continued = text.end_with?('\\')
    end

    # An empty line before the next command is only layout.
    def drop_empty_end(lines)
      lines.pop while lines.last&.empty?
    end
  end
end
