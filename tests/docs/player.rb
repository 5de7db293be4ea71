require_relative 'console'
require_relative 'conversation'
require_relative 'document'
require_relative 'pattern'
require_relative 'shell'

module Docs
  # Plays a document, step by step, in the sandbox that it is in. It owns the document's shell and connections.
  class Player
    START_SECONDS = 30 # The server's start is no step.

    attr_reader :failures

    # Each step may take this many seconds. `folder` is for the player's own files.
    def initialize(document, folder, seconds)
      @document = document
      @folder = folder
      @seconds = seconds
      @names = {}
      @shell = Shell.new(folder)
      @conversation = Conversation.new('127.0.0.1', 11_300, @names)
      @failures = document.problems.map { |problem| Failure.new(line: problem.line, what: problem.text) }
    end

    def play
      steps = @document.steps
      return unless !@document.server? || start_server

      steps.each_with_index { |step, index| play_step(step, steps.drop(index + 1)) }
    ensure
      @shell.close
    end

    private

    # Returns whether the server started.
    def start_server
      ran = @shell.run('systemctl start perenniald', Deadline.new(START_SECONDS))
      fail_with(1, 'the server does not start', nil, ran.lines) unless ran.status.zero?
      ran.status.zero?
    rescue TooSlow => e
      fail_with(1, "the server does not start: #{e.message}")
      false
    end

    def fail_with(line, what, wanted = nil, came = nil)
      @failures << Failure.new(line: line, what: what, wanted: wanted, came: came)
    end

    def play_step(step, later_steps)
      deadline = Deadline.new(@seconds)
      case step.kind
      when :console then play_console(step, deadline)
      when :run then expect_done(step, @shell.run(step.lines.join("\n"), deadline))
      when :sh then play_script(step, deadline)
      when :config then check_settings(step, deadline)
      when :beanstalk then converse(step, later_steps, deadline)
      end
    rescue TooSlow => e
      fail_with(e.line || step.line, e.message)
    end

    # A hidden command or settings, which must exit with status 0.
    def expect_done(step, ran)
      fail_with(step.line, "exit status #{ran.status}", nil, ran.lines) unless ran.status.zero?
    end

    def play_script(step, deadline)
      ran, failed_at = @shell.run_script(step.lines.join("\n"), deadline)
      return if ran.status.zero?

      fail_with(step.line + (failed_at || 1) - 1, "exit status #{ran.status}", nil, ran.lines)
    end

    def check_settings(step, deadline)
      path = "#{@folder}/settings.yaml"
      File.write(path, "#{step.lines.join("\n")}\n")
      expect_done(step, @shell.run("perenniald --check-config --config #{path}", deadline))
    end

    def converse(step, later_steps, deadline)
      failure = @conversation.play(step.line, step.lines, deadline)
      next_conversation = later_steps.find { |later| later.kind == :beanstalk }
      if failure
        @conversation.abandon # After a failure the rest of the conversation says nothing.
      elsif !next_conversation&.goes_on
        failure = @conversation.close(step.line + step.lines.size - 1, deadline)
      end
      @failures << failure if failure
    end

    # ---- Commands and their output.

    def play_console(step, deadline)
      console = Console.new(step.line, step.lines)
      console.stray_lines.each { |line| fail_with(line, 'output before a command: one begins with `$ `') }
      console.commands.each { |command| type(command, deadline) }
    end

    def type(command, deadline)
      check(command, @shell.run(command.text, deadline))
    rescue TooSlow => e
      raise TooSlow.new("`#{command.text}`: #{e.message}", command.line)
    end

    def check(command, ran)
      what = "`#{command.text}`"
      if ran.status != command.status
        fail_with(command.line, "#{what}: exit status #{ran.status}, and not #{command.status}", nil, ran.lines)
      elsif !command.wanted.empty?
        compare(command, what, ran.lines)
      end
    end

    def compare(command, what, came)
      comparison = Comparison.new(command.wanted, came, @names)
      return @names.replace(comparison.names) if comparison.names

      at = comparison.wanted_met
      fail_with(command.output_line + at, "#{what}, line #{comparison.came_met + 1} of what it prints",
                command.wanted.drop(at).map { |line| Pattern.fill(line, @names) }, came.drop(comparison.came_met))
    end
  end
end
