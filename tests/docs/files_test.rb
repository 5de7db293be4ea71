#!/usr/bin/env ruby
# tests/docs/files_test.rb [DOCUMENT...]: a block behind the comment <!-- file: PATH --> is that file, whose path begins
# at the document, and each file in a folder beside such a document is in a block. Without a document: all of etc/docs.
# UPDATE_DOCUMENTS=1 writes the files into the blocks. Ends with 1 if something differs.
ROOT = File.realpath("#{__dir__}/../..")
BLOCK = /^<!-- file: (?<path>\S+) -->\n(?<before>(?:<!-- play: .*? -->\n)?```\w+\n)(?<text>.*?)^```$/m.freeze

def update?
  ENV['UPDATE_DOCUMENTS'] == '1'
end

def text_of(document, path)
  File.read("#{File.dirname(document)}/#{path}")
rescue Errno::ENOENT
  nil
end

# Returns the paths of the files that the document shows, and adds to `problems`.
def compare(document, problems)
  shown = []
  text = File.read(document)
  updated = text.gsub(BLOCK) do |block|
    found = Regexp.last_match
    shown << "#{File.dirname(document)}/#{found[:path]}"
    file = text_of(document, found[:path])
    problems << "#{document}: there is no #{found[:path]}" if file.nil?
    next block if file.nil? || file == found[:text]

    problems << "#{document}: #{found[:path]} is not what the block says; UPDATE_DOCUMENTS=1 #{$PROGRAM_NAME}" unless update?
    "<!-- file: #{found[:path]} -->\n#{found[:before]}#{file}```"
  end
  problems << "#{document}: a comment `file:` without a block" if text.scan('<!-- file:').size != shown.size
  File.write(document, updated) if update? && updated != text
  shown
end

documents = ARGV.empty? ? Dir["#{ROOT}/etc/docs/**/*.md"].sort : ARGV
problems = []
shown = documents.flat_map { |document| compare(document, problems) }
folders = shown.map { |path| File.dirname(path) }.uniq
(folders.flat_map { |folder| Dir["#{folder}/*"].select { |path| File.file?(path) } } - shown).each do |path|
  problems << "#{path}: no document shows it" unless path.end_with?('.md')
end
problems << 'no document shows a file' if shown.empty?
puts problems, "#{shown.uniq.size} files shown, #{problems.size} problems"
exit problems.empty? ? 0 : 1
