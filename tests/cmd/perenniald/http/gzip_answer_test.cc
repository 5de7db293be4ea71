#include "cmd/perenniald/http/gzip_answer.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <zlib.h>

namespace perennial::http {
namespace {

constexpr int window_bits_of_gzip = 15 + 16;

// What a client reads. Empty: it is no gzip, or there are bytes behind it.
std::string unpacked(std::string_view packed) {
  z_stream stream = {};
  EXPECT_EQ(::inflateInit2(&stream, window_bits_of_gzip), Z_OK);
  std::string out(4 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = ::inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_in == 0;
  out.resize(is_whole ? stream.total_out : 0);
  ::inflateEnd(&stream);
  return out;
}

bool is_packed(const Response& response) {
  return std::ranges::any_of(response.fields, [](const auto& field) {
    return field == std::pair<std::string, std::string>{"Content-Encoding", "gzip"};
  });
}

struct Made {
  Response response;
  int steps = 1;
};

Made packed(Response response) {
  const auto answer = make_gzip_answer(answer_now(std::move(response)));
  Made made;
  while (answer->step() != Answer::Step::Whole) ++made.steps;
  made.response = answer->take();
  return made;
}

Response json_of(std::string body) {
  return {.content_type = "application/json", .body = std::move(body)};
}

std::string random_text(size_t bytes, int characters) {
  std::mt19937_64 random(bytes);
  std::string out(bytes, '\0');
  for (char& byte : out) byte = static_cast<char>(random() % characters);
  return out;
}

TEST(GzipAnswer, IsTheSameTextWhateverItsSize) {
  for (const size_t bytes : {1400, 65'535, 65'536, 65'537, 131'072, 1'000'000}) {
    for (const int characters : {1, 8, 256}) {  // Also what becomes longer.
      const std::string body = random_text(bytes, characters);
      const Made made = packed(json_of(body));
      ASSERT_TRUE(is_packed(made.response)) << bytes;
      EXPECT_TRUE(unpacked(made.response.body) == body) << bytes << " of " << characters;
      EXPECT_EQ(made.steps, static_cast<int>((bytes + 65'535) / 65'536)) << bytes;
    }
  }
}

TEST(GzipAnswer, IsLeftAsItIs) {
  const std::string body(5000, 'x');
  Response endless = json_of(body);
  endless.is_endless = true;
  Response refused = json_of(body);
  refused.status = Status::Conflict;
  Response packed_before = json_of(body);
  packed_before.fields = {{"Content-Encoding", "br"}};
  for (const Response& plain :
       {json_of(""), json_of(std::string(1399, 'x')), endless, refused, packed_before,
        Response{.content_type = "application/octet-stream", .body = body}}) {
    const Made made = packed(plain);
    EXPECT_EQ(made.response.body, plain.body);
    EXPECT_EQ(made.response.fields, plain.fields);
    EXPECT_EQ(made.response.is_endless, plain.is_endless);
    EXPECT_EQ(made.steps, 1);
  }
}

// Waits once, as a search does.
class Waiting final : public Answer {
 public:
  Step step() override {
    if (std::exchange(has_waited_, true)) return Step::Whole;
    wake();
    return Step::Waits;
  }
  Response take() override { return json_of(std::string(5000, 'x')); }

 private:
  bool has_waited_ = false;
};

TEST(GzipAnswer, WaitsAndIsWoken) {
  const auto answer = make_gzip_answer(std::make_unique<Waiting>());
  int wakes = 0;
  answer->wake = [&] { ++wakes; };
  EXPECT_EQ(answer->step(), Answer::Step::Waits);
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(answer->step(), Answer::Step::Whole);
  EXPECT_TRUE(is_packed(answer->take()));
}

// Its end, which may need the loop, is not left to whoever packs.
TEST(GzipAnswer, EndsWhatItPacksBeforeItPacks) {
  class Ending final : public Answer {
   public:
    explicit Ending(bool& has_ended) : has_ended_(has_ended) {}
    ~Ending() override { has_ended_ = true; }
    Step step() override { return Step::Whole; }
    Response take() override { return json_of(std::string(200'000, 'x')); }
    bool ends_with_client() const override { return true; }

   private:
    bool& has_ended_;
  };
  bool has_ended = false;
  const auto answer = make_gzip_answer(std::make_unique<Ending>(has_ended));
  EXPECT_FALSE(answer->is_apart());
  EXPECT_TRUE(answer->ends_with_client());
  EXPECT_EQ(answer->step(), Answer::Step::Again);
  EXPECT_TRUE(has_ended);
  EXPECT_TRUE(answer->is_apart());
  EXPECT_FALSE(answer->ends_with_client());
}

TEST(GzipAnswer, IsForThoseWhoTakeIt) {
  const auto accepts = [](const std::string& list) {
    Request request;
    request.fields["accept-encoding"] = common::SecretText(list.begin(), list.end());
    return accepts_gzip(request);
  };
  for (const char* const list : {"gzip", "br, gzip", "deflate,gzip;q=0.5", "gzip; q=1.0"}) {
    EXPECT_TRUE(accepts(list)) << list;
  }
  for (const char* const list :
       {"", "br", "gzip;q=0", "gzip;Q=0", "gzip;q=0.000", "xgzip", "identity"}) {
    EXPECT_FALSE(accepts(list)) << list;
  }
  EXPECT_FALSE(accepts_gzip(Request()));
}

}  // namespace
}  // namespace perennial::http
