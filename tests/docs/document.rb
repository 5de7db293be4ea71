module Docs
  # One step: a block or a hidden command. `line` is the number of its first line. A kind is
  # :console, :sh, :beanstalk, :config or :run. `goes_on` says that a conversation keeps the
  # connections of the previous one.
  Step = Struct.new(:kind, :line, :lines, :goes_on, keyword_init: true)
  # A block that is not played, and why. `line` is that of the block.
  Skip = Struct.new(:line, :reason)
  # An error in the document itself.
  Problem = Struct.new(:line, :text)

  # A Markdown document as the steps to play. Reading it runs nothing.
  class Document
    PLAYED = { 'console' => :console, 'sh' => :sh, 'beanstalk' => :beanstalk }.freeze
    # Languages that look like commands to a reader, but that the player does not know.
    MISSPELT = %w[bash shell shell-session shellsession terminal zsh].freeze
    FENCE = /\A(\s*)(`{3,}|~{3,})\s*([^\s`]*)\s*\z/.freeze
    DIRECTIVE = /\A\s*<!-- play:\s*(.*)/.freeze

    attr_reader :steps, :skips, :problems

    def initialize(text)
      @lines = text.lines(chomp: true)
      @steps = []
      @skips = []
      @problems = []
      @server = true
      @marks = {}
      @at = 0
      read_next while @at < @lines.size
      refuse_marks
    end

    def server?
      @server
    end

    private

    # Lines are known by their numbers, which count from 1. The line just taken is @at.
    def take
      @at += 1
      @lines[@at - 1]
    end

    def problem(line, text)
      @problems << Problem.new(line, text)
    end

    def read_next
      line = take
      if (found = DIRECTIVE.match(line))
        read_directive(@at, found[1])
      elsif (found = FENCE.match(line))
        read_block(@at, *found.captures)
      elsif !line.strip.empty?
        refuse_marks
      end
    end

    def read_directive(line, text)
      text += "\n#{take}" until text.include?('-->') || @at == @lines.size
      return problem(line, 'a comment without an end') unless text.include?('-->')

      obey(line, text[/\A(.*?)\s*-->/m, 1])
    end

    def obey(line, text)
      case text
      when /\Askip:\s*(\S.*)\z/m then @marks[:skip] = [line, $1.split.join(' ')]
      when /\Askip\b/ then refuse_skip(line)
      when 'config', 'go on' then @marks[text] = [line, true]
      when 'no server' then forgo_server(line)
      when /\Arun\s+(\S.*)\z/m then @steps << Step.new(kind: :run, line: line, lines: $1.lines(chomp: true))
      else problem(line, "what is `play: #{text}`?")
      end
    end

    def refuse_skip(line)
      problem(line, 'a skip needs a reason: <!-- play: skip: REASON -->')
      @marks[:skip] = [line, 'no reason']
    end

    def forgo_server(line)
      problem(line, '`play: no server` belongs before all blocks') unless @steps.empty? && @skips.empty?
      @server = false
    end

    def read_block(line, indent, fence, language)
      closing = /\A\s*#{Regexp.escape(fence[0])}{#{fence.size},}\s*\z/
      lines = []
      lines << take.delete_prefix(indent) until @at == @lines.size || closing.match?(@lines[@at])
      return problem(line, 'a block without an end') if @at == @lines.size

      take
      sort_block(line, language, lines)
      @marks = {}
    end

    def sort_block(line, language, lines)
      refuse_block(line, language)
      kind = @marks['config'] ? :config : PLAYED[language]
      if @marks[:skip]
        @skips << Skip.new(line, @marks[:skip].last)
      elsif kind
        @steps << Step.new(kind: kind, line: line + 1, lines: lines, goes_on: !@marks['go on'].nil?)
      end
    end

    def refuse_block(line, language)
      problem(line, 'a block without a language') if language.empty?
      problem(line, "#{language} is not played: write console or sh") if MISSPELT.include?(language)
      problem(line, 'only yaml is a configuration') if @marks['config'] && language != 'yaml'
      problem(line, 'only a conversation can go on') if @marks['go on'] && language != 'beanstalk'
    end

    # A mark applies to the block directly after it.
    def refuse_marks
      @marks.each_value { |line, _| problem(line, 'no block follows') }
      @marks = {}
    end
  end
end
