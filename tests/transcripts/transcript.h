#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"

namespace perennial::transcripts {

// One line of a transcript, which is a conversation between named clients and a server:
//
//   a> put 5 0 1 2 | hi       client a sends a line, and what is behind each " | " as a further
//   line a>> put 0 0 1 2\r\nhi     the same without the CRLF at the end: raw bytes a< INSERTED 1
//   the next reply to client a; a body is behind " | " a< nothing                no reply has come
//   to a a< closed                 the server has closed the connection of a a end | a close a
//   sends nothing more, or is gone advance 1001ms            time passes hold | commit batches wait
//   from here on, or are written now and from here on crash | restart           the server loses
//   what is not durable, or stops cleanly; then it starts damage 7                  the body of job
//   7 cannot be read any more set jobs_max 2            a limit, before anything else in the file
//   # ...                     a comment, also at the end of a line, behind two spaces
//
// Within a line, \n, \r, \0, \\, \| and \xHH stand for bytes, and {a*200} for 200 times a.
struct Line {
  enum class Kind {
    Blank,
    Send,
    Expect,
    End,
    Close,
    Advance,
    Hold,
    Commit,
    Crash,
    Restart,
    Damage,
    Set
  };
  Kind kind = Kind::Blank;
  std::string client;
  std::string bytes;    // Sent, or expected as it is written in the file.
  std::string setting;  // Of Set.
  int64_t number = 0;   // Nanoseconds of Advance, the job of Damage, the value of Set.
  std::string text;     // As in the file, with its comment.
};

struct Transcript {
  std::string path;
  std::vector<Line> lines;

  // Whether it can run on a real server through a socket: it moves no time and reaches for nothing
  // that only a test has.
  bool fits_a_socket(bool may_wait) const;
};

// Reads a file. A line that cannot be read is a failure of the test, with its number.
Transcript read_transcript(const std::string& path);

// A reply as transcripts write it: without its last CRLF, the body behind " | ", and escapes.
std::string show_reply(std::string_view reply);

// A server that a transcript runs on.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual void set(const std::string& setting, int64_t value) = 0;
  virtual void send(const std::string& client, const std::string& bytes) = 0;
  virtual void end(const std::string& client) = 0;
  virtual void close(const std::string& client) = 0;
  // One whole reply; none when none has come.
  virtual std::optional<std::string> receive(const std::string& client) = 0;
  virtual bool closed(const std::string& client) = 0;
  virtual void advance(Nanos by) = 0;
  // Hold, Commit, Crash, Restart, Damage.
  virtual void act(const Line& line) = 0;
  // Called after each line.
  virtual void check() = 0;
};

// Runs it; each difference is a failure of the running test. With UPDATE_TRANSCRIPTS=1 in the
// environment the file is rewritten with the replies that came instead.
void run(const Transcript& transcript, Driver& driver);

}  // namespace perennial::transcripts
