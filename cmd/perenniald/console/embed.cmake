# cmake -DDIST=FOLDER -DSOURCE=FILE -P embed.cmake: writes the files in FOLDER, which may be empty, into a C++ source,
# plain and gzipped. The same files give the same source.
cmake_minimum_required(VERSION 3.25)

set(type_html "text/html; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_txt "text/plain; charset=utf-8")

# Sets a variable to the bytes of the file as C++ writes them in an array of char.
function(read_bytes file variable)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  set(${variable} "${bytes}" PARENT_SCOPE)
endfunction()

set(arrays "")
set(rows "")
set(count 0)
if(DIST)
  file(GLOB files RELATIVE ${DIST} ${DIST}/*)
  list(SORT files)
  foreach(name IN LISTS files)
    string(REGEX REPLACE "^.*[.]" "" ending ${name})
    if(NOT DEFINED type_${ending})
      message(FATAL_ERROR "console: no content type is known for ${name}")
    endif()
    # Without a name and a time in it.
    execute_process(COMMAND gzip -9nc ${DIST}/${name} OUTPUT_FILE ${SOURCE}.gz COMMAND_ERROR_IS_FATAL ANY)
    read_bytes(${DIST}/${name} plain)
    read_bytes(${SOURCE}.gz gzipped)
    file(REMOVE ${SOURCE}.gz)
    file(SHA256 ${DIST}/${name} hash)
    string(SUBSTRING ${hash} 0 16 etag)
    set(immutable false)
    if(name MATCHES "-[0-9A-Z]+[.](js|css)$")
      set(immutable true)
    endif()
    string(APPEND arrays "constexpr char plain_${count}[] = {\n${plain}};\nconstexpr char gzipped_${count}[] = {\n${gzipped}};\n")
    string(APPEND rows "    Asset{.path = \"/${name}\", .content_type = \"${type_${ending}}\", .etag = \"\\\"${etag}\\\"\",\n"
      "          .immutable = ${immutable}, .plain = {plain_${count}, sizeof(plain_${count})},\n"
      "          .gzipped = {gzipped_${count}, sizeof(gzipped_${count})}},\n")
    math(EXPR count "${count} + 1")
  endforeach()
endif()

set(text "// Written by cmd/perenniald/console/embed.cmake.\n#include \"cmd/perenniald/console/assets.h\"\n\n#include <array>\n\n")
string(APPEND text "namespace perennial::console {\nnamespace {\n\n${arrays}\n")
string(APPEND text "constexpr std::array<Asset, ${count}> all_assets = {\n${rows}};\n\n}  // namespace\n\n")
string(APPEND text "std::span<const Asset> assets() { return all_assets; }\n\n}  // namespace perennial::console\n")
file(WRITE ${SOURCE} "${text}")
