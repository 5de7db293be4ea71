#include "cmd/perennial/stats/terminal.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#define NCURSES_NOMACROS  // The macros have common names: erase, timeout.
#include <curses.h>
#include <unistd.h>

namespace perennial::tool {
namespace {

constexpr int control_c = 3;  // In raw mode Ctrl-C is a key and no signal.

int attribute_of(ScreenLine::Style style) {
  switch (style) {
    case ScreenLine::Style::Bold:
      return A_BOLD;
    case ScreenLine::Style::Reverse:
      return A_REVERSE;
    case ScreenLine::Style::Plain:
      break;
  }
  return A_NORMAL;
}

}  // namespace

Result<std::unique_ptr<Terminal>> Terminal::open() {
  if (::isatty(STDOUT_FILENO) != 1 || ::isatty(STDIN_FILENO) != 1) {
    return Status(StatusCode::InvalidArgument,
                  "standard input and output are no terminal; --once prints one sample and ends");
  }
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* const type = std::getenv("TERM");
    return Status(StatusCode::InvalidArgument, "no terminal of this type is known: TERM is '" +
                                                   std::string(type == nullptr ? "" : type) +
                                                   "'; try TERM=xterm, or --once");
  }
  ::raw();
  ::noecho();
  ::curs_set(0);
  ::keypad(stdscr, true);
  return std::unique_ptr<Terminal>(new Terminal(screen));
}

Terminal::~Terminal() {
  ::endwin();
  ::delscreen(static_cast<SCREEN*>(screen_));
}

ScreenSize Terminal::size() const {
  return {.rows = static_cast<size_t>(LINES), .columns = static_cast<size_t>(COLS)};
}

void Terminal::show(std::span<const ScreenLine> lines) {
  ::erase();
  int row = 0;
  for (const ScreenLine& line : lines) {
    ::attrset(attribute_of(line.style));
    ::mvaddnstr(row++, 0, line.text.c_str(), COLS);
  }
  ::attrset(A_NORMAL);
  ::refresh();
}

Terminal::Key Terminal::wait(int milliseconds) {
  ::timeout(milliseconds);
  switch (::getch()) {
    case 'q':
    case 'Q':
    case control_c:
      return Key::Quit;
    case KEY_RESIZE:
      return Key::Resized;
    default:
      return Key::None;
  }
}

}  // namespace perennial::tool
