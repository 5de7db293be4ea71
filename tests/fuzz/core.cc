#include "cmd/perenniald/core/core.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <string>
#include <string_view>

#include "engine/types/check.h"
#include "engine/types/later.h"
#include "tests/fuzz/targets.h"
#include "tests/support/core_harness.h"
#include "wire/client.h"
#include "wire/parser.h"

namespace perennial::fuzz {
namespace {

constexpr uint32_t core_job_bytes_max = 40;
constexpr size_t steps_max = 300;
constexpr uint64_t advance_ms_max = 1'000'000'000;

// Small limits, so that inputs reach them.
core::Options options(bool is_small) {
  core::Options out;
  out.job_bytes_max = core_job_bytes_max;
  if (!is_small) return out;
  out.engine = {.jobs_max = 12,
                .tubes_max = 5,
                .watched_max = 3,
                .reserved_max = 3,
                .transitions_per_turn_max = 2,
                .cost_per_turn_max = 60,
                .names_per_part_max = 2,
                .id_block = 2};
  out.run_cost_max = 150;
  out.pipeline_bytes_max = 64;
  out.output_bytes_max = 256;
  out.output_total_bytes_max = 400;
  out.output_little_bytes = 64;
  out.pending_bytes_max = 600;
  out.batch_bytes_max = 300;
  out.body_cache_bytes = 50;
  out.memory_bytes_max = 1 << 20;
  out.reads_max = 2;
  out.temporary_checkpoints_max = 1;
  return out;
}

// What a client has sent and received.
struct Client {
  ConnId id = 0;
  wire::Parser sent{core_job_bytes_max};
  wire::ReplyParser answers;
  size_t commands = 0;
  size_t replies = 0;
  uint64_t rows_left = 0;  // Of a batch that is being answered.
  bool is_foreign = false;

  void count_commands(std::string_view bytes) {
    while (!bytes.empty() && !is_foreign) {
      const wire::Step step = sent.feed({bytes.data(), bytes.size()});
      bytes.remove_prefix(step.consumed);
      commands += step.command.has_value();
      is_foreign = step.foreign_protocol.has_value();
    }
  }
  void count_replies(std::string_view bytes) {
    while (!bytes.empty()) {
      const wire::ReplyStep step = answers.feed({bytes.data(), bytes.size()});
      CHECK(step.status.ok());
      bytes.remove_prefix(step.consumed);
      if (step.reply) count(*step.reply);
    }
  }
  // The answer to a batch has a line for each of its jobs behind the first one.
  void count(const wire::ClientReply& reply) {
    if (rows_left > 0) {
      --rows_left;
      return;
    }
    ++replies;
    if (reply.is(Word::ReservedBatch)) rows_left = reply.number;
    if (reply.is(Word::InsertedBatch)) {
      rows_left = std::accumulate(reply.numbers.begin(), reply.numbers.end(), uint64_t{0});
    }
  }
};

// One step per line. The seeds are rewritten transcripts.
class Script {
 public:
  explicit Script(bool is_small) : harness_(options(is_small)) {}

  void step(std::string_view line) {
    if (line.empty()) return;
    if ('a' <= line[0] && line[0] <= 'h') {
      of_client(line[0], line.substr(1));
    } else {
      apply_event(line[0], line.substr(1));
    }
    check();
  }
  // Everything promised must be in the store, and the store must hold what the engine holds.
  void finish() {
    harness_.set_clients_reading(true);
    // A commit may release commands that need another commit.
    do {
      harness_.commit();
    } while (harness_.core().has_batch());
    check();
    CHECK(harness_.core().engine().image() == harness_.store().image());
  }

 private:
  // A line, raw bytes, the end of input, or the end of the connection.
  void of_client(char name, std::string_view what) {
    Client& client = open(name);
    if (what.starts_with(' ')) return send(client, std::string(what.substr(1)) + "\r\n");
    if (what.starts_with('!')) return send(client, std::string(what.substr(1)));
    if (what.starts_with('.')) return harness_.end(client.id);
    if (!what.starts_with('x')) return;
    harness_.close(client.id);
    clients_.erase(name);
  }
  Client& open(char name) {
    const auto found = clients_.find(name);
    if (found != clients_.end()) {
      if (!harness_.closed_by_server(found->second.id)) return found->second;
      clients_.erase(found);
    }
    Client& client = clients_[name];
    client.id = harness_.open(name == 'a');  // Only the first client may request checkpoints.
    return client;
  }
  void send(Client& client, const std::string& bytes) {
    client.count_commands(bytes);
    harness_.send(client.id, bytes);
  }

  void apply_event(char what, std::string_view argument) {
    switch (what) {
      case 'T':
        return harness_.advance(take_ms(argument));
      case 'L':
        return harness_.skip(take_ms(argument));
      case 'E':
        return skip_to_end(take_ms(argument));
      case 'H':
        return harness_.set_committing(false);
      case 'G':
        return harness_.set_committing(true);
      case 'C':
        return harness_.commit();
      case 'D':
        return harness_.damage(number(argument));
      case 'F':
        return harness_.set_accepts_puts(false);
      case 'R':
        return harness_.set_accepts_puts(true);
      case 'N':
        return harness_.set_clients_reading(false);
      case 'Y':
        return harness_.set_clients_reading(true);
      case 'Z':
        return harness_.core().on_drain(harness_.now());
      case 'W':
        return harness_.core().checkpoints().want();
      case 'M':
        return finish_checkpoint(false);
      case 'U':
        return finish_checkpoint(true);
      case 'K':
      case 'S':
        return begin_anew(what == 'K');
      default:
        return;
    }
  }
  // A wrong clock: so much is left of the time that there is.
  void skip_to_end(Nanos left) {
    harness_.skip(std::max<Nanos>(last_time - left - harness_.now(), 0));
  }
  void finish_checkpoint(bool temporary) {
    if (!harness_.is_creating(temporary)) return;
    auto made = std::make_unique<CheckpointMade>();
    temporary ? harness_.finish_temporary(std::move(made))
              : harness_.finish_checkpoint(std::move(made));
    harness_.core().checkpoints().take_given_up();
  }
  void begin_anew(bool by_crash) {
    clients_.clear();
    by_crash ? harness_.crash() : harness_.restart();
  }

  void check() {
    harness_.core().engine().check();
    for (auto& [name, client] : clients_) {
      client.count_replies(harness_.receive(client.id));
      CHECK(client.replies <= client.commands);
    }
  }

  static uint64_t number(std::string_view text) {
    uint64_t out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  static Nanos take_ms(std::string_view text) {
    return static_cast<Nanos>(std::min(number(text), advance_ms_max)) * nanos_per_ms;
  }

  support::CoreHarness harness_;
  std::map<char, Client> clients_;
};

}  // namespace

// "small" in the first line sets every limit to a low value.
void core(std::string_view input) {
  Script script(input.starts_with("small\n"));
  for (size_t steps = 0; steps < steps_max && !input.empty(); ++steps) {
    const size_t end = std::min(input.find('\n'), input.size());
    script.step(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  script.finish();
}

}  // namespace perennial::fuzz
