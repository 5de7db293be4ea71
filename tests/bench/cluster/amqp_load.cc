// amqp_load WORK --ports PORT,...: loads a quorum queue of RabbitMQ as `perennial bench` loads
// Perennial, and prints what it measures as lines of JSON. README.md says how it is run.
//
// `put` and `cycle` drive all connections with one thread and one epoll, as perennial-bench does.
// Client and servers share the processors, and a thread for each connection would take more of
// them. librabbitmq opens the connections, and encodes and decodes frames. A wakeup of a connection
// sends all it has with one system call, while amqp_basic_publish needs three for each message.
// `gaps` has a thread for each producer, because opening a connection blocks.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <amqp.h>
#include <amqp_tcp_socket.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/perennial-bench/load/bodies.h"
#include "cmd/perennial-bench/results/latencies.h"
#include "cmd/perennial-bench/servers/clock.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::bench {
namespace {

constexpr uint32_t body_bytes = 128;  // As that of perennial bench.
// The same limit of messages that wait, and the same warm-up, as those of perennial bench.
constexpr uint64_t ahead_max = 4000;
constexpr Nanos warm_up = nanos_per_second / 2;
constexpr Nanos silence_max = 30 * nanos_per_second;
// As perennial_bench.py has them.
constexpr uint32_t gaps_producers = 8;
constexpr auto reopen = std::chrono::milliseconds(100);

constexpr amqp_channel_t channel = 1;

struct Options {
  std::string work = {};
  std::vector<int> ports = {};
  std::string queue = "gaps";
  uint32_t connections = 50;
  uint32_t in_flight = 1;
  uint32_t producers = 25;
  uint32_t consumers = 25;
  double seconds = 10;
  uint32_t rounds = 3;
  // Of a producer of gaps. It outlasts the election of a leader, after which a channel sends again
  // what it has not confirmed. A new channel finds the new leader only when Erlang has given up the
  // stopped node, which takes up to 75 seconds.
  double patience_s = 30;
};

timeval timeval_of(Nanos nanos) {
  return {.tv_sec = nanos / nanos_per_second, .tv_usec = nanos % nanos_per_second / 1000};
}

amqp_bytes_t bytes_of(std::string_view text) {
  return {.len = text.size(), .bytes = const_cast<char*>(text.data())};
}

std::string_view view_of(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

Status library_error(std::string_view doing, int code) {
  return {StatusCode::Io, fmt::format("{}: {}", doing, amqp_error_string2(code))};
}

Status closed(amqp_method_t method) {
  std::string_view why = "a method that is not expected";
  if (method.id == AMQP_CHANNEL_CLOSE_METHOD)
    why = view_of(static_cast<amqp_channel_close_t*>(method.decoded)->reply_text);
  if (method.id == AMQP_CONNECTION_CLOSE_METHOD)
    why = view_of(static_cast<amqp_connection_close_t*>(method.decoded)->reply_text);
  return {StatusCode::Io, fmt::format("the server sent {}: {}", amqp_method_name(method.id), why)};
}

Status check(std::string_view doing, amqp_rpc_reply_t reply) {
  if (reply.reply_type == AMQP_RESPONSE_NORMAL) return {};
  if (reply.reply_type == AMQP_RESPONSE_SERVER_EXCEPTION) return closed(reply.reply).with(doing);
  return library_error(doing, reply.library_error);
}

void append_number(std::string& out, uint64_t number, unsigned bytes) {
  while (bytes-- > 0) out += static_cast<char>(number >> (8 * bytes));
}

// AMQP 0-9-1, "4.2.3 General Frame Format".
void append_frame(std::string& out, uint8_t type, std::string_view payload) {
  append_number(out, type, 1);
  append_number(out, channel, 2);
  append_number(out, payload.size(), 4);
  out += payload;
  append_number(out, AMQP_FRAME_END, 1);
}

void append_method(std::string& out, amqp_method_number_t id, void* decoded) {
  std::array<char, 512> arguments;
  const int size = amqp_encode_method(id, decoded, {arguments.size(), arguments.data()});
  CHECK(size >= 0);
  std::string payload;
  append_number(payload, id, 4);
  payload.append(arguments.data(), static_cast<size_t>(size));
  append_frame(out, AMQP_FRAME_METHOD, payload);
}

// A complete publish of a persistent message, whose body follows. The message is mandatory:
// otherwise RabbitMQ confirms it also if the queue is not there.
std::string publish_head(const std::string& queue) {
  amqp_basic_publish_t publish = {};
  publish.routing_key = bytes_of(queue);
  publish.mandatory = 1;
  std::string out;
  append_method(out, AMQP_BASIC_PUBLISH_METHOD, &publish);
  amqp_basic_properties_t properties = {};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  std::array<char, 64> encoded;
  const int size =
      amqp_encode_properties(AMQP_BASIC_CLASS, &properties, {encoded.size(), encoded.data()});
  CHECK(size >= 0);
  std::string header;
  append_number(header, AMQP_BASIC_CLASS, 2);
  append_number(header, 0, 2);  // The weight, which is unused.
  append_number(header, body_bytes, 8);
  header.append(encoded.data(), static_cast<size_t>(size));
  append_frame(out, AMQP_FRAME_HEADER, header);
  return out;
}

// A connection with one channel. What is requested is sent by send().
class Connection {
 public:
  Connection() : state_(amqp_new_connection()) {}
  // The server ends the session when the socket closes.
  ~Connection() { amqp_destroy_connection(state_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Each step of these may take this long.
  Status open(int port, Nanos patience) {
    if (Status s = connect(port, patience); !s.ok()) return s;
    return log_in();
  }

  Status connect(int port, Nanos patience) {
    const timeval timeout = timeval_of(patience);
    amqp_socket_t* const socket = amqp_tcp_socket_new(state_);
    if (socket == nullptr) return {StatusCode::Io, "there is no memory for a socket"};
    if (const int code = amqp_socket_open_noblock(socket, "127.0.0.1", port, &timeout);
        code != AMQP_STATUS_OK)
      return library_error("connect", code);
    amqp_set_handshake_timeout(state_, &timeout);
    amqp_set_rpc_timeout(state_, &timeout);
    return {};
  }

  // REQUIRES: connect().
  Status log_in() {
    if (Status s = check("log in", amqp_login(state_, "/", 0, AMQP_DEFAULT_FRAME_SIZE, 0,
                                              AMQP_SASL_METHOD_PLAIN, "guest", "guest"));
        !s.ok())
      return s;
    amqp_channel_open(state_, channel);
    return check("open a channel", amqp_get_rpc_reply(state_));
  }

  // Declares a quorum queue of three copies, whose leader is at this connection's node.
  Status declare(const std::string& queue) {
    std::array<amqp_table_entry_t, 3> entries = {};
    const auto text = [](std::string_view value) {
      amqp_field_value_t field = {};
      field.kind = AMQP_FIELD_KIND_UTF8;
      field.value.bytes = bytes_of(value);
      return field;
    };
    entries[0] = {.key = bytes_of("x-queue-type"), .value = text("quorum")};
    entries[1] = {.key = bytes_of("x-queue-leader-locator"), .value = text("client-local")};
    entries[2].key = bytes_of("x-quorum-initial-group-size");
    entries[2].value.kind = AMQP_FIELD_KIND_I32;
    entries[2].value.value.i32 = 3;
    const amqp_table_t arguments = {.num_entries = entries.size(), .entries = entries.data()};
    amqp_queue_declare(state_, channel, bytes_of(queue), 0, 1, 0, 0, arguments);
    return check("declare a queue", amqp_get_rpc_reply(state_));
  }

  Status begin_publishing(const std::string& queue) {
    publish_head_ = publish_head(queue);
    amqp_confirm_select(state_, channel);
    return check("ask for confirms", amqp_get_rpc_reply(state_));
  }

  // The server delivers the next message when it has applied the ack of the one before, so a
  // consumer has one at a time, like a worker that reserves and deletes. basic.get would take a
  // request for each message, and an entry in the log of the queue.
  Status begin_consuming(const std::string& queue) {
    amqp_basic_qos(state_, channel, 0, 1, 0);
    if (Status s = check("limit the prefetch", amqp_get_rpc_reply(state_)); !s.ok()) return s;
    amqp_basic_consume(state_, channel, bytes_of(queue), amqp_empty_bytes, 0, 0, 0,
                       amqp_empty_table);
    return check("consume", amqp_get_rpc_reply(state_));
  }

  // REQUIRES: begin_publishing().
  void publish(std::string_view body) {
    out_ += publish_head_;
    append_frame(out_, AMQP_FRAME_BODY, body);
  }

  void ack(uint64_t delivery) {
    amqp_basic_ack_t ack = {.delivery_tag = delivery, .multiple = 0};
    append_method(out_, AMQP_BASIC_ACK_METHOD, &ack);
  }

  // Waits while the server takes no more bytes. They are few, so that is rare.
  Status send() {
    std::string_view left = out_;
    while (!left.empty()) {
      const ssize_t sent = ::send(fd(), left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) {
        left.remove_prefix(static_cast<size_t>(sent));
        continue;
      }
      if (errno != EAGAIN && errno != EINTR) return {StatusCode::Io, std::strerror(errno)};
      pollfd writable = {.fd = fd(), .events = POLLOUT, .revents = 0};
      const int ready = ::poll(&writable, 1, static_cast<int>(silence_max / nanos_per_ms));
      if (ready == 0) return {StatusCode::Io, "the server takes no more bytes"};
    }
    out_.clear();
    return {};
  }

  // Returns whether a frame arrived within this time. It lives until release().
  Result<bool> receive(amqp_frame_t& frame, Nanos patience) {
    const timeval timeout = timeval_of(patience);
    const int code = amqp_simple_wait_frame_noblock(state_, &frame, &timeout);
    if (code == AMQP_STATUS_TIMEOUT) return false;
    if (code != AMQP_STATUS_OK) return library_error("receive", code);
    return true;
  }
  // Whether more frames may have been read from the socket already.
  bool has_received() {
    return amqp_frames_enqueued(state_) != 0 || amqp_data_in_buffer(state_) != 0;
  }
  void release() { amqp_maybe_release_buffers(state_); }

  int fd() const { return amqp_get_sockfd(state_); }

 private:
  amqp_connection_state_t state_;
  std::string publish_head_;
  std::string out_;
};

// An operation in a round, or in all of them.
struct Measured {
  Latencies latencies = {};
  uint64_t count = 0;

  void add(Nanos took) {
    latencies.add(took);
    ++count;
  }
};

// Producers and consumers of one queue, for one round.
class Load {
 public:
  Load(const Options& options, uint32_t producers, uint32_t in_flight, uint32_t consumers)
      : options_(options),
        producers_(producers),
        in_flight_(in_flight),
        consumers_(consumers),
        bodies_(body_bytes, 1) {}
  ~Load() {
    if (epoll_ >= 0) ::close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Status open(const std::string& queue) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) return {StatusCode::Io, std::strerror(errno)};
    Connection first;
    if (Status s = first.open(options_.ports.front(), silence_max); !s.ok()) return s;
    if (Status s = first.declare(queue); !s.ok()) return s;
    for (uint32_t i = 0; i < producers_ + consumers_; ++i) {
      auto client = std::make_unique<Client>();
      client->due = i < producers_ ? in_flight_ : 0;
      Connection& connection = client->connection;
      const int port = options_.ports[i % options_.ports.size()];
      if (Status s = connection.open(port, silence_max); !s.ok()) return s;
      Status s =
          i < producers_ ? connection.begin_publishing(queue) : connection.begin_consuming(queue);
      if (!s.ok()) return s;
      epoll_event event{.events = EPOLLIN, .data = {.ptr = client.get()}};
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd(), &event) != 0)
        return {StatusCode::Io, std::strerror(errno)};
      clients_.push_back(std::move(client));
    }
    return {};
  }

  // Messages in flight at the end stay in flight.
  Status run_for(Nanos duration) {
    put = {};
    cycle = {};
    const Nanos begun = heard_at_ = now_nanos();
    for (const auto& client : clients_)
      if (Status s = fill(*client, begun); !s.ok()) return s;
    while (now_nanos() < begun + duration)
      if (Status s = turn(); !s.ok()) return s;
    return {};
  }

  Measured put;
  Measured cycle;  // From publishing a message to receiving it. Counted when it is acked.

 private:
  struct Client {
    Connection connection = {};
    uint32_t due = 0;  // Messages that a producer may publish now.
    bool waiting = false;
    uint64_t published_count = 0;
    std::map<uint64_t, Nanos> unconfirmed = {};  // When each was published.
    uint64_t delivery = 0;                       // The message that is arriving.
  };

  Status turn() {
    std::array<epoll_event, 256> events;
    constexpr int wait_ms = 100;
    const int ready = ::epoll_wait(epoll_, events.data(), events.size(), wait_ms);
    if (ready < 0 && errno != EINTR) return {StatusCode::Io, std::strerror(errno)};
    for (int i = 0; i < ready; ++i)
      if (Status s = on_readable(*static_cast<Client*>(events[static_cast<size_t>(i)].data.ptr));
          !s.ok())
        return s;
    woken_.swap(waiting_);
    for (Client* client : woken_) {
      client->waiting = false;
      if (Status s = fill(*client, now_nanos()); !s.ok()) return s;
    }
    woken_.clear();
    if (now_nanos() - heard_at_ < silence_max) return {};
    return {StatusCode::Io, "the server has stopped answering"};
  }

  Status on_readable(Client& client) {
    do {
      amqp_frame_t frame;
      const Result<bool> received = client.connection.receive(frame, 0);
      if (!received.ok()) return received.status();
      if (!*received) break;
      heard_at_ = now_nanos();
      if (Status s = on_frame(client, frame, heard_at_); !s.ok()) return s;
    } while (client.connection.has_received());
    client.connection.release();
    return fill(client, heard_at_);
  }

  Status on_frame(Client& client, const amqp_frame_t& frame, Nanos now) {
    if (frame.frame_type == AMQP_FRAME_HEADER) return {};
    if (frame.frame_type == AMQP_FRAME_BODY)
      return on_body(client, view_of(frame.payload.body_fragment), now);
    const amqp_method_t method = frame.payload.method;
    if (method.id == AMQP_BASIC_DELIVER_METHOD) {
      client.delivery = static_cast<amqp_basic_deliver_t*>(method.decoded)->delivery_tag;
      return {};
    }
    if (method.id != AMQP_BASIC_ACK_METHOD) return closed(method);  // Also a return or a nack.
    const auto* const ack = static_cast<amqp_basic_ack_t*>(method.decoded);
    const auto end = client.unconfirmed.upper_bound(ack->delivery_tag);
    auto next = ack->multiple != 0 ? client.unconfirmed.begin()
                                   : client.unconfirmed.lower_bound(ack->delivery_tag);
    while (next != end) {
      put.add(now - next->second);
      ++client.due;
      next = client.unconfirmed.erase(next);
    }
    return {};
  }

  // A body is far smaller than a frame may be, so that it comes in one.
  Status on_body(Client& client, std::string_view body, Nanos now) {
    if (!bodies_.is_one(body)) return {StatusCode::Io, "a message has another body"};
    cycle.add(now - *bodies_.time_of(body));
    ++taken_count_;
    client.connection.ack(client.delivery);
    return {};
  }

  // Publishes what is due, or records that the client waits for consumers.
  Status fill(Client& client, Nanos now) {
    while (client.due > 0 && (consumers_ == 0 || put_count_ - taken_count_ < ahead_max)) {
      std::array<char, body_bytes> body;
      bodies_.write(body.data(), now);
      client.connection.publish({body.data(), body.size()});
      client.unconfirmed.emplace(++client.published_count, now);
      --client.due;
      ++put_count_;
    }
    if (client.due > 0 && !client.waiting) {
      client.waiting = true;
      waiting_.push_back(&client);
    }
    return client.connection.send();
  }

  const Options& options_;
  const uint32_t producers_;
  const uint32_t in_flight_;
  const uint32_t consumers_;
  const Bodies bodies_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> waiting_;
  std::vector<Client*> woken_;  // Used by turn().
  uint64_t put_count_ = 0;
  uint64_t taken_count_ = 0;
  Nanos heard_at_ = 0;
};

// The rounds of an operation: the rates, and the latencies of all rounds together.
struct Rounds {
  std::vector<double> per_second = {};
  Latencies latencies = {};

  void add(const Measured& measured, double seconds) {
    per_second.push_back(static_cast<double>(measured.count) / seconds);
    latencies.add_all(measured.latencies);
  }

  void print(const std::string& work) {
    std::ranges::sort(per_second);
    const size_t count = per_second.size();
    const double median = (per_second[(count - 1) / 2] + per_second[count / 2]) / 2;
    fmt::print(
        "{{\"work\": \"{}\", \"per_second\": {:.0f}, \"p50_us\": {:.0f}, \"p99_us\": {:.0f}, "
        "\"count\": {}}}\n",
        work, median, static_cast<double>(latencies.at(0.5)) / 1000,
        static_cast<double>(latencies.at(0.99)) / 1000, latencies.total());
  }
};

// Each round has connections and a queue of its own, as each of perennial bench has a tube. What
// the rounds before have left stays in their queues.
Status run_rounds(const Options& options, bool is_cycle) {
  Rounds put;
  Rounds cycle;
  const uint32_t producers = is_cycle ? options.producers : options.connections;
  const uint32_t in_flight = is_cycle ? 1 : options.in_flight;
  const uint32_t consumers = is_cycle ? options.consumers : 0;
  for (uint32_t round = 1; round <= options.rounds; ++round) {
    Load load(options, producers, in_flight, consumers);
    if (Status s = load.open(fmt::format("load-{}-{}", ::getpid(), round)); !s.ok()) return s;
    if (Status s = load.run_for(warm_up); !s.ok()) return s;
    const Nanos begun = now_nanos();
    if (Status s = load.run_for(static_cast<Nanos>(options.seconds * nanos_per_second)); !s.ok())
      return s;
    const double seconds = static_cast<double>(now_nanos() - begun) / nanos_per_second;
    put.add(load.put, seconds);
    cycle.add(load.cycle, seconds);
  }
  if (is_cycle) {
    const std::string setting = fmt::format("cycle {}+{}", producers, consumers);
    cycle.print(setting + " cycle");
    put.print(setting + " put");
  } else {
    put.print(
        fmt::format("{} {}x{} put", in_flight > 1 ? "put-pipelined" : "put", producers, in_flight));
  }
  return {};
}

// Logs in, publishes one message after the other, and prints when each was confirmed, until
// something fails.
Status publish_until_failure(Connection& connection, const std::string& queue, Nanos patience) {
  if (Status s = connection.log_in(); !s.ok()) return s;
  if (Status s = connection.begin_publishing(queue); !s.ok()) return s;
  const std::string body(body_bytes, 'x');
  for (;;) {
    connection.publish(body);
    if (Status s = connection.send(); !s.ok()) return s;
    amqp_frame_t frame;
    const Result<bool> received = connection.receive(frame, patience);
    if (!received.ok()) return received.status();
    if (!*received) return {StatusCode::Io, "a confirm does not come"};
    if (frame.frame_type != AMQP_FRAME_METHOD || frame.payload.method.id != AMQP_BASIC_ACK_METHOD)
      return {StatusCode::Io, "a message was not stored"};
    connection.release();
    // One write, so that lines of several threads do not mix.
    const std::string line =
        fmt::format("{:.6f}\n", static_cast<double>(now_nanos()) / nanos_per_second);
    if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(1);
  }
}

// Producers with one message in flight each. One whose connection ends opens another one after 100
// ms, at whichever node takes it, as those of perennial_bench.py do. Ends with a signal.
Status run_gaps(const Options& options) {
  const auto patience = static_cast<Nanos>(options.patience_s * nanos_per_second);
  const auto produce = [&options, patience](uint32_t number) {
    std::mt19937 random(std::random_device{}() + number);
    std::vector<int> ports = options.ports;
    for (;;) {
      std::ranges::shuffle(ports, random);
      for (const int port : ports) {
        Connection connection;
        if (!connection.connect(port, patience).ok()) continue;
        ignore(publish_until_failure(connection, options.queue, patience),
               "faults are what is measured");
        break;
      }
      std::this_thread::sleep_for(reopen);
    }
  };
  std::vector<std::thread> producers;
  for (uint32_t i = 0; i < gaps_producers; ++i) producers.emplace_back(produce, i);
  for (std::thread& producer : producers) producer.join();
  return {};
}

Status run_declare(const Options& options) {
  Connection connection;
  if (Status s = connection.open(options.ports.front(), silence_max); !s.ok()) return s;
  return connection.declare(options.queue);
}

Status run(const Options& options) {
  if (options.work == "declare") return run_declare(options);
  if (options.work == "gaps") return run_gaps(options);
  return run_rounds(options, options.work == "cycle");
}

int main_of(int argc, char** argv) {
  Options options;
  CLI::App app("Loads quorum queues of RabbitMQ");
  app.add_option("work", options.work, "put, cycle, gaps, or declare a queue for gaps")
      ->required()
      ->check(CLI::IsMember({"put", "cycle", "gaps", "declare"}));
  app.add_option("--ports", options.ports, "of the nodes, on 127.0.0.1; the first declares queues")
      ->required()
      ->delimiter(',');
  app.add_option("--queue", options.queue, "for gaps and declare; each round has one of its own")
      ->capture_default_str();
  app.add_option("--connections", options.connections, "that put")->check(CLI::Range(1, 10'000));
  app.add_option("--in-flight", options.in_flight, "unconfirmed messages on each of them")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--producers", options.producers, "of a cycle")->check(CLI::Range(1, 10'000));
  app.add_option("--consumers", options.consumers, "of a cycle")->check(CLI::Range(1, 10'000));
  app.add_option("--seconds", options.seconds, "of each round")->check(CLI::Range(0.1, 3600.0));
  app.add_option("--patience", options.patience_s, "of gaps: seconds for an answer")
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--rounds", options.rounds, "of put and cycle")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  const Status status = run(options);
  if (status.ok()) return 0;
  fmt::print(stderr, "amqp_load: {}\n", status.message());
  return 1;
}

}  // namespace
}  // namespace perennial::bench

int main(int argc, char** argv) {
  return perennial::bench::main_of(argc, argv);
}
