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
//   a> put 5 0 1 2 | hi       Client a sends a line, and what is behind each " | " as a further
//   line. a>> put 0 0 1 2\r\nhi     The same without the CRLF at the end: raw bytes. a< INSERTED 1
//   The next reply to client a. A body is behind " | ". a<~ pri: 5 | ttr: 60      The next reply is
//   a document, and has these lines. a< nothing                No reply has come. a< closed The
//   server has closed the connection of a. a end | a close           a sends nothing more, or is
//   gone. advance 1001ms            Time passes. skip 6s                   Time passes, and the
//   server's timer has not run yet. hold | commit             Batches wait from here on, or are
//   written now and from here on. crash | restart           The server loses what is not durable,
//   or stops cleanly; then it
//                             starts.
//   damage 7                  The body of job 7 cannot be read any more.
//   set jobs_max 2            A limit, before anything else in the file.
//   # ...                     A comment, also at the end of a line, behind two spaces.
//
// Within a line, \n, \r, \0, \\, \| and \xHH stand for bytes, and {a*200} for 200 times a.
struct Line {
  enum class Kind {
    Blank,
    Send,
    Expect,
    ExpectLines,
    End,
    Close,
    Advance,
    Skip,
    Hold,
    Commit,
    Crash,
    Restart,
    Damage,
    Set
  };
  Kind kind = Kind::Blank;
  std::string client;
  std::string bytes;    // What is sent or expected, as written in the file.
  std::string setting;  // For Set.
  int64_t number =
      0;             // For Advance and Skip: nanoseconds; for Damage: the job; for Set: the value.
  std::string text;  // The line of the file with its comment.
};

struct Transcript {
  std::string path;
  std::vector<Line> lines;

  // Whether the transcript can run on a real server through a socket: it does not advance time and
  // uses nothing that exists only in tests.
  bool fits_a_socket(bool may_wait) const;
};

// Reads a file. An invalid line fails the test, with its number.
Transcript read_transcript(const std::string& path);

// A reply in the notation of transcripts: without its last CRLF, the body after " | ", and with
// escapes.
std::string show_reply(std::string_view reply);

// A server on which transcripts run.
class Driver {
 public:
  virtual ~Driver() = default;
  virtual void set(const std::string& setting, int64_t value) = 0;
  virtual void send(const std::string& client, const std::string& bytes) = 0;
  virtual void end(const std::string& client) = 0;
  virtual void close(const std::string& client) = 0;
  // Returns one complete reply, or none if none has arrived.
  virtual std::optional<std::string> receive(const std::string& client) = 0;
  virtual bool closed(const std::string& client) = 0;
  virtual void advance(Nanos by) = 0;
  // Time passes, and the server has not noticed it yet.
  virtual void skip(Nanos by) = 0;
  // Executes Hold, Commit, Crash, Restart, Damage.
  virtual void act(const Line& line) = 0;
  // Called after each line.
  virtual void check() = 0;
};

// Runs the transcript. Each difference fails the running test. With UPDATE_TRANSCRIPTS=1 in the
// environment the file is rewritten with the actual replies instead.
void run(const Transcript& transcript, Driver& driver);

}  // namespace perennial::transcripts
