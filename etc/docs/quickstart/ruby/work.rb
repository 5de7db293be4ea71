# ruby work.rb: does the jobs of the tube example.mail, one after the other.
require_relative 'jobs'

Backburner.work('mail')
