require 'io/wait'
require 'tempfile'

module Docs
  # A command, a script or an answer takes longer than its block may. The caller that knows the line
  # of the document adds it.
  class TooSlow < StandardError
    attr_reader :line

    def initialize(message, line = nil)
      super(message)
      @line = line
    end
  end

  # The time that a block has left.
  class Deadline
    def initialize(seconds)
      @seconds = seconds
      @end = now + seconds
    end

    # The seconds that are left. Raises TooSlow when there are none.
    def left
      left = @end - now
      raise TooSlow, "it takes more than #{@seconds} s" unless left.positive?

      left
    end

    # Waits until there is something to read. Raises TooSlow.
    def wait_readable(input)
      nil until input.wait_readable(left)
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end

  # The output of a command, with both streams as a terminal shows them, and its exit status.
  Ran = Struct.new(:status, :output, keyword_init: true) do
    # The output without trailing spaces and without trailing empty lines, which no reader sees.
    def lines
      output.sub(/\s+\z/, '').lines(chomp: true).map(&:rstrip)
    end
  end

  # The shell for the commands of a document, in which variables and functions persist. It owns its
  # processes until close().
  class Shell
    # Runs each line of its input and reports the status. Background commands do not inherit these
    # descriptors.
    RUN = '{ source "$command"; } </dev/null >"$output" 2>&1 3>&-; echo $? >&3'.freeze

    def initialize(folder)
      @folder = folder
      @count = 0
      @pid = nil
    end

    # Raises TooSlow. Then the shell and its processes are killed, and the next command gets a new
    # shell.
    def run(command, deadline)
      open unless @pid
      path = "#{@folder}/#{@count += 1}"
      File.write("#{path}.command", "#{command}\n")
      @input.puts("command=#{path}.command output=#{path}.output", RUN)
      status = read_status(deadline)
      Ran.new(status: status, output: File.read("#{path}.output"))
    end

    def close
      return unless @pid

      kill(@pid)
      forget
    end

    # Runs a script in a new shell, like `bash -euo pipefail`. Returns the result, and the line in
    # which it failed, if known.
    def run_script(script, deadline)
      output, failed_at = Tempfile.new, Tempfile.new
      told = "trap 'echo $LINENO >&9' ERR; #{script}\n"
      pid = spawn('bash', '-euo', 'pipefail', '-c', told, in: File::NULL, %i[out err] => output.path,
                  9 => [failed_at.path, 'w'], pgroup: true)
      status = wait(pid, deadline)
      [Ran.new(status: status, output: File.read(output.path)), File.read(failed_at.path)[/\A\d+/]&.to_i]
    end

    private

    def open
      reader, @input = IO.pipe
      @statuses, writer = IO.pipe
      @pid = spawn('bash', '--norc', '--noprofile', in: reader, 3 => writer, pgroup: true)
      [reader, writer].each(&:close)
      @input.sync = true
    end

    def forget
      [@input, @statuses].each(&:close)
      @pid = nil
    end

    def read_status(deadline)
      deadline.wait_readable(@statuses)
      line = @statuses.gets
      line ? line.to_i : status_of_shell
    rescue TooSlow
      close
      raise
    end

    # The status if the command was `exit`.
    def status_of_shell
      Process.wait(@pid)
      forget
      $?.exitstatus
    end

    def wait(pid, deadline)
      until Process.wait(pid, Process::WNOHANG)
        sleep([0.01, deadline.left].min)
      end
      $?.exitstatus || (128 + $?.termsig)
    rescue TooSlow
      kill(pid)
      raise
    end

    # Kills the process with all processes that it started and that stayed in its group.
    def kill(pid)
      Process.kill(:KILL, -pid)
      Process.wait(pid)
    end
  end
end
