#pragma once

#include <span>
#include <string_view>

// The files of the console, which are part of the program: no file is read while the server runs.
// build.sh makes them and embed.cmake writes them into a source. What the views show lives as long
// as the process.
namespace perennial::console {

struct Asset {
  std::string_view path;  // As a browser asks for it: "/index.html" is the page of every screen.
  std::string_view content_type;
  std::string_view etag;   // With its quotes, as in the header.
  bool immutable = false;  // The path has a hash in it, so a browser may keep the file for ever.
  std::string_view plain;
  std::string_view gzipped;
};

// In the order of their paths. Empty in a program that was built without the console.
std::span<const Asset> assets();

}  // namespace perennial::console
