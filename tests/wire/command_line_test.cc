#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/wire/describe.h"

// One line gives one command. The cases have every command, every limit and one past it, and every
// mistake that protocol.txt and beanstalkd's prefix matching distinguish.
namespace perennial::wire {
namespace {

using std::string_literals::operator""s;

struct LineCase {
  std::string name;
  std::string line;  // Without its CRLF.
  std::string want;
};

const std::string name_200(200, 'n');
const std::string name_201(201, 'n');

const std::vector<LineCase> good_lines = {
    {"UseShortest", "use a", "use a"},
    {"UseAllNameBytes", "use aZ09-+/;.$_()", "use aZ09-+/;.$_()"},
    {"UseLongest", "use " + name_200, "use " + name_200},
    {"Watch", "watch t", "watch t"},
    {"WatchLongest", "watch " + name_200, "watch " + name_200},
    {"Ignore", "ignore t", "ignore t"},
    {"Reserve", "reserve", "reserve"},
    {"ReserveWithTimeout", "reserve-with-timeout 5", "reserve timeout=5"},
    {"ReserveWithTimeoutZero", "reserve-with-timeout 0", "reserve timeout=0"},
    {"ReserveWithTimeoutLongest", "reserve-with-timeout 2147483647", "reserve timeout=2147483647"},
    {"ReserveWithTimeoutJunk", "reserve-with-timeout 0 junk", "reserve timeout=0"},
    {"ReserveWithTimeoutLetters", "reserve-with-timeout 7x", "reserve timeout=7"},
    {"ReserveWithTimeoutSpaces", "reserve-with-timeout   1", "reserve timeout=1"},
    {"ReserveJob", "reserve-job 3", "reserve-job 3"},
    {"Delete", "delete 3", "delete 3"},
    {"DeleteZero", "delete 0", "delete 0"},
    {"DeleteLargest", "delete 18446744073709551615", "delete 18446744073709551615"},
    {"DeleteSpaces", "delete    3", "delete 3"},
    {"DeleteLeadingZeros", "delete 000000000000000000000000000003", "delete 3"},
    {"Release", "release 3 4 5", "release 3 pri=4 delay=5"},
    {"ReleaseLargest", "release 1 4294967295 4294967295",
     "release 1 pri=4294967295 delay=4294967295"},
    {"ReleaseSpaces", "release   3   4   5", "release 3 pri=4 delay=5"},
    {"Bury", "bury 3 4", "bury 3 pri=4"},
    {"BuryLargest", "bury 3 4294967295", "bury 3 pri=4294967295"},
    {"Touch", "touch 9", "touch 9"},
    {"Peek", "peek 9", "peek 9"},
    {"PeekReady", "peek-ready", "peek-ready"},
    {"PeekDelayed", "peek-delayed", "peek-delayed"},
    {"PeekBuried", "peek-buried", "peek-buried"},
    {"Kick", "kick 10", "kick 10"},
    {"KickJunk", "kick 10abc", "kick 10"},
    {"KickMinusOne", "kick -1", "kick 4294967295"},
    {"KickPlus", "kick +5", "kick 5"},
    {"KickTab", "kick \t7", "kick 7"},
    {"KickLargest", "kick 4294967295", "kick 4294967295"},
    {"KickWraps", "kick 4294967296", "kick 0"},
    {"KickLargest64", "kick 18446744073709551615", "kick 4294967295"},
    {"KickNegativeLargest64", "kick -18446744073709551615", "kick 1"},
    {"KickHexadecimal", "kick 0x10", "kick 0"},
    {"KickJob", "kick-job 4", "kick-job 4"},
    {"StatsJob", "stats-job 4", "stats-job 4"},
    {"StatsTube", "stats-tube t", "stats-tube t"},
    {"Stats", "stats", "stats"},
    {"ListTubes", "list-tubes", "list-tubes"},
    {"ListTubeUsed", "list-tube-used", "list-tube-used"},
    {"ListTubesWatched", "list-tubes-watched", "list-tubes-watched"},
    {"PauseTube", "pause-tube t 60", "pause-tube t delay=60"},
    {"PauseTubeSpaces", "pause-tube   t   60", "pause-tube t delay=60"},
    {"PauseTubeNoSpace", "pause-tubedefault 0", "pause-tube default delay=0"},
    {"PauseTubeLargest", "pause-tube t 4294967295", "pause-tube t delay=4294967295"},
    {"PauseTubeLongest", "pause-tube " + name_200 + " 1", "pause-tube " + name_200 + " delay=1"},
    {"Quit", "quit", "quit"},
    {"QuitLonger", "quitx", "quit"},
    {"QuitArguments", "quit now", "quit"},
    {"Checkpoint", "checkpoint", "checkpoint"},
    {"CheckpointTemporary", "checkpoint temporary", "checkpoint-temporary"},
    {"Extensions", "extensions", "extensions"},
    {"PeekReserved", "peek-reserved", "peek-reserved"},
    {"ListClients", "list-clients", "list-clients after=0 count=100"},
    {"ListClientsOptions", "list-clients count:5 after:18446744073709551615",
     "list-clients after=18446744073709551615 count=5"},
};

const std::vector<LineCase> bad_lines = {
    {"UseNothing", "use ", "bad"},
    {"UseTooLong", "use " + name_201, "bad"},
    {"ListNotes", "list-notes 4", "list-notes 4"},
    {"ListNotesNothing", "list-notes ", "bad"},
    {"ListNotesMore", "list-notes 4 5", "bad"},
    {"ListClientsSpace", "list-clients ", "bad"},
    {"ListClientsNone", "list-clients count:0", "bad"},
    {"ListClientsMany", "list-clients count:101", "bad"},
    {"ListClientsName", "list-clients default", "bad"},
    {"UseDash", "use -t", "bad"},
    {"UseTwoSpaces", "use  t", "bad"},
    {"UseTrailingSpace", "use t ", "bad"},
    {"UseAt", "use a@b", "bad"},
    {"UseNotAscii", "use \xc3\xa9", "bad"},
    {"UseTab", "use\tt", "unknown"},
    {"UseCr", "use a\rb", "bad"},
    {"UseLf", "use a\nb", "bad"},
    {"WatchTooLong", "watch " + name_201, "bad"},
    {"WatchDash", "watch -", "bad"},
    {"IgnoreNothing", "ignore ", "bad"},
    {"ReserveSpace", "reserve ", "bad"},
    {"ReserveLonger", "reserved", "bad"},
    {"ReserveMode", "reserve-mode x", "bad"},
    {"ReserveWithTimeoutNoSpace", "reserve-with-timeout", "bad"},
    {"ReserveWithTimeoutNothing", "reserve-with-timeout ", "bad"},
    {"ReserveWithTimeoutNegative", "reserve-with-timeout -1", "bad"},
    {"ReserveWithTimeoutTooLong", "reserve-with-timeout 2147483648", "bad"},
    {"ReserveWithTimeoutPast32", "reserve-with-timeout 4294967296", "bad"},
    {"ReserveJobNoSpace", "reserve-job", "bad"},
    {"ReserveJobNothing", "reserve-job ", "bad"},
    {"ReserveJobJunk", "reserve-job 1x", "bad"},
    {"DeleteNothing", "delete ", "bad"},
    {"DeleteTooLarge", "delete 18446744073709551616", "bad"},
    {"DeletePlus", "delete +1", "bad"},
    {"DeleteMinus", "delete -1", "bad"},
    {"DeleteHexadecimal", "delete 0x1", "bad"},
    {"DeleteTab", "delete \t1", "bad"},
    {"DeleteTrailingSpace", "delete 1 ", "bad"},
    {"DeleteTwo", "delete 1 2", "bad"},
    {"DeleteJunk", "delete 1x", "bad"},
    {"DeleteCr", "delete 1\r", "bad"},
    {"ReleaseNothing", "release ", "bad"},
    {"ReleaseOne", "release 1", "bad"},
    {"ReleaseTwo", "release 1 2", "bad"},
    {"ReleaseFour", "release 1 2 3 4", "bad"},
    {"ReleasePriorityTooLarge", "release 1 4294967296 0", "bad"},
    {"ReleaseDelayTooLarge", "release 1 0 4294967296", "bad"},
    {"ReleaseTrailingSpace", "release 1 2 3 ", "bad"},
    {"BuryOne", "bury 1", "bad"},
    {"BuryThree", "bury 1 2 3", "bad"},
    {"BuryPriorityTooLarge", "bury 1 4294967296", "bad"},
    {"BuryNegative", "bury 1 -2", "bad"},
    {"TouchNothing", "touch ", "bad"},
    {"TouchJunk", "touch 1,", "bad"},
    {"PeekNothing", "peek ", "bad"},
    {"PeekJunk", "peek x", "bad"},
    {"PeekReadyLonger", "peek-readyx", "bad"},
    {"PeekReadySpace", "peek-ready ", "bad"},
    {"PeekDelayedLonger", "peek-delayed 1", "bad"},
    {"PeekBuriedLonger", "peek-buried1", "bad"},
    {"KickNothing", "kick ", "bad"},
    {"KickLetters", "kick abc", "bad"},
    {"KickSignOnly", "kick -", "bad"},
    {"KickTwoSigns", "kick +-1", "bad"},
    {"KickTooLarge", "kick 18446744073709551616", "bad"},
    {"KickNegativeTooLarge", "kick -18446744073709551616", "bad"},
    {"KickJobNothing", "kick-job ", "bad"},
    {"KickJobJunk", "kick-job 1a", "bad"},
    {"StatsSpace", "stats ", "bad"},
    {"StatsLonger", "stats-foo", "bad"},
    {"StatsJobNoSpace", "stats-job", "bad"},
    {"StatsJobNothing", "stats-job ", "bad"},
    {"StatsTubeNoSpace", "stats-tube", "bad"},
    {"StatsTubeNothing", "stats-tube ", "bad"},
    {"StatsTubeTooLong", "stats-tube " + name_201, "bad"},
    {"ListTubesLonger", "list-tubesx", "bad"},
    {"ListTubesSpace", "list-tubes ", "bad"},
    {"ListTubeUsedLonger", "list-tube-usedx", "bad"},
    {"ListTubesWatchedLonger", "list-tubes-watchedx", "bad"},
    {"PauseTubeNothing", "pause-tube", "bad"},
    {"PauseTubeNoDelay", "pause-tube t", "bad"},
    {"PauseTubeDelayInName", "pause-tube t5", "bad"},
    {"PauseTubeDash", "pause-tube -t 5", "bad pause-tube"},
    {"PauseTubeDashNoDelay", "pause-tube -t", "bad"},
    {"PauseTubeDashJunk", "pause-tube -t 5 ", "bad"},
    {"PauseTubeBadName", "pause-tube a@b 5", "bad"},
    {"PauseTubeTooLong", "pause-tube " + name_201 + " 1", "bad pause-tube"},
    {"PauseTubeTooLongDelayTooLarge", "pause-tube " + name_201 + " 4294967296", "bad"},
    {"PauseTubeDelayTooLarge", "pause-tube t 4294967296", "bad"},
    {"PauseTubeJunk", "pause-tube t 5 ", "bad"},
    {"NulAlone", "\0"s, "bad"},
    {"NulAtEnd", "stats\0"s, "bad"},
    {"NulInside", "use a\0b"s, "bad"},
    {"NulInUnknown", "what\0"s, "bad"},
    {"NulInPut", "put 0 0 1 1\0"s, "bad"},
    {"Empty", "", "unknown"},
    {"LeadingSpace", " stats", "unknown"},
    {"UpperCase", "STATS", "unknown"},
    {"Word", "hello", "unknown"},
    {"PutNoSpace", "put", "unknown"},
    {"DeleteNoSpace", "delete", "unknown"},
    {"UseNoSpace", "use", "unknown"},
    {"KickNoSpace", "kick", "unknown"},
    {"PeekNoSpace", "peek", "unknown"},
    {"PeekMinus", "peek-", "unknown"},
    {"KickJobNoSpace", "kick-job", "unknown"},
    {"ReleaseNoSpace", "release", "unknown"},
    {"BuryNoSpace", "bury", "unknown"},
    {"TouchNoSpace", "touch", "unknown"},
    {"WatchNoSpace", "watch", "unknown"},
    {"IgnoreNoSpace", "ignore", "unknown"},
    {"ListTube", "list-tube", "unknown"},
    {"PauseNoTube", "pause", "unknown"},
    {"Statistics", "statistics", "unknown"},
    {"Qui", "qui", "unknown"},
    {"CheckpointSpace", "checkpoint ", "checkpoint-trailing-junk"},
    {"CheckpointPath", "checkpoint /tmp/x", "checkpoint-trailing-junk"},
    {"CheckpointLonger", "checkpoints", "checkpoint-trailing-junk"},
    {"CheckpointTwoSpaces", "checkpoint  temporary", "checkpoint-trailing-junk"},
    {"CheckpointTemporaryLonger", "checkpoint temporary ", "checkpoint-trailing-junk"},
    {"CheckpointTemporaryShorter", "checkpoint temporar", "checkpoint-trailing-junk"},
    {"CheckpointShorter", "checkpoin", "unknown"},
    {"ExtensionsSpace", "extensions ", "bad"},
    {"ExtensionsArgument", "extensions all", "bad"},
    {"ExtensionsShorter", "extension", "unknown"},
    {"PeekReservedSpace", "peek-reserved ", "bad"},
    {"PeekReservedId", "peek-reserved 1", "bad"},
    {"PeekReservedShorter", "peek-reserve", "unknown"},
    {"PutNothing", "put ", "bad"},
    {"PutThree", "put 0 0 1", "bad"},
    {"PutLetters", "put a b c d", "bad"},
    {"PutJunkInside", "put 1x 0 1 2", "bad"},
    {"PutNegative", "put -1 0 1 2", "bad"},
    {"PutPriorityTooLarge", "put 4294967296 0 1 2", "bad"},
    {"PutDelayTooLarge", "put 0 4294967296 1 2", "bad"},
    {"PutTtrTooLarge", "put 0 0 4294967296 2", "bad"},
    {"PutBytesTooLarge", "put 0 0 1 4294967296", "bad"},
    {"PutBytesNegative", "put 0 0 1 -1", "bad"},
    {"PutTrailingSpace", "put 0 0 1 2 ", "put-trailing-junk"},
    {"PutTrailingNumber", "put 0 0 1 2 3", "put-trailing-junk"},
    {"PutTrailingLetter", "put 0 0 1 2x", "put-trailing-junk"},
};

class LineTest : public testing::TestWithParam<LineCase> {};

TEST_P(LineTest, IsParsedAsOneCommand) {
  const std::string bytes = GetParam().line + "\r\n";
  EXPECT_EQ(describe_all({bytes}), std::vector<std::string>{GetParam().want});
}

// A bad line does not affect the line after it.
TEST_P(LineTest, DoesNotAffectTheNextLine) {
  const std::string bytes = GetParam().line + "\r\npeek 77\r\n";
  EXPECT_EQ(describe_all({bytes}), (std::vector<std::string>{GetParam().want, "peek 77"}));
}

std::string case_name(const testing::TestParamInfo<LineCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Good, LineTest, testing::ValuesIn(good_lines), case_name);
INSTANTIATE_TEST_SUITE_P(Bad, LineTest, testing::ValuesIn(bad_lines), case_name);

}  // namespace
}  // namespace perennial::wire
