module Docs
  # What a document expects. <name> stands for one word, and a line ... for any number of lines. A
  # name that occurs twice stands for the same word: `names` holds the values, and is never changed
  # here.
  module Pattern
    NAME = /<([A-Za-z][\w-]*)>/.freeze
    ANY_LINES = '...'.freeze
    # The sizes of answers, which differ in each answer.
    FREE = %w[bytes].freeze

    # Returns the names if `came` matches `wanted`, or nil.
    def self.match_line(wanted, came, names)
      new_names = []
      source = wanted.split(/(<[A-Za-z][\w-]*>)/).map { |part| source_of(part, names, new_names) }.join
      found = Regexp.new("\\A#{source}\\z").match(came)
      found && names.merge(new_names.zip(found.captures).to_h)
    end

    def self.source_of(part, names, new_names)
      name = part[/\A#{NAME}\z/o, 1]
      return Regexp.escape(part) unless name
      return '\S+' if FREE.include?(name)
      return Regexp.escape(names[name]) if names.key?(name)
      return "\\k<#{new_names.index(name) + 1}>" if new_names.include?(name)

      new_names << name
      '(\S+)'
    end
    private_class_method :source_of

    # Returns `text` with known names replaced. Unknown names stay.
    def self.fill(text, names)
      text.gsub(NAME) { |placeholder| names.fetch($1, placeholder) }
    end
  end

  # Compares the expected lines with the actual ones.
  class Comparison
    # Nil if the lines differ.
    attr_reader :names
    # Where the lines differ: the numbers of expected and of actual lines that matched.
    attr_reader :wanted_met, :came_met

    def initialize(wanted, came, names)
      @wanted = wanted
      @came = came
      @wanted_met = @came_met = 0
      @names = compare(0, 0, names)
    end

    private

    def compare(wanted, came, names)
      @wanted_met, @came_met = wanted, came if wanted > @wanted_met
      return (names if came == @came.size) if wanted == @wanted.size
      return compare_any(wanted + 1, came, names) if @wanted[wanted].strip == Pattern::ANY_LINES
      return if came == @came.size

      found = Pattern.match_line(@wanted[wanted], @came[came], names)
      found && compare(wanted + 1, came + 1, found)
    end

    def compare_any(wanted, came, names)
      came.upto(@came.size) do |next_came|
        found = compare(wanted, next_came, names)
        return found if found
      end
      nil
    end
  end
end
