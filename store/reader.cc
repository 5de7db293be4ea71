#include "store/reader.h"

#include <algorithm>
#include <utility>

#include <rocksdb/iterator.h>

#include "store/data_dir.h"
#include "store/load.h"
#include "store/meta_rows.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace perennial::store {

struct Reader::Impl {
  explicit Impl(Options given) : options(std::move(given)), failure(options.events) {}

  Options options;
  std::unique_ptr<ReadLock> lock;
  Failure failure;
  std::unique_ptr<Database> db;
  CommitRow commit;
  JobId next_id = 1;
};

struct Reader::Bodies::Impl {
  std::unique_ptr<rocksdb::Iterator> at;
  bool begun = false;
};

Result<std::unique_ptr<Reader>> Reader::open(Options options) {
  const std::string doing = "read " + options.path;
  auto impl = std::make_unique<Impl>(std::move(options));
  Result<ReadLock> lock = ReadLock::take(impl->options.path);
  if (!lock.ok()) return lock.take_status();
  impl->lock = std::make_unique<ReadLock>(lock.take());
  store::Options how;
  how.events = impl->options.events;
  how.env = impl->options.env;
  how.recover = impl->options.recover;
  Result<Database> db = Database::open_to_read(impl->options.path + "/db", how, impl->failure);
  if (!db.ok()) return db.take_status().with(doing);
  impl->db = std::make_unique<Database>(db.take());
  if (Status known = check_version(*impl->db); !known.ok()) return std::move(known).with(doing);
  const Result<CommitRow> commit = read_commit(*impl->db);
  if (!commit.ok()) return Status(commit.status()).with(doing);
  const Result<JobId> next_id = read_next_id(*impl->db);
  if (!next_id.ok()) return Status(next_id.status()).with(doing);
  impl->commit = *commit;
  impl->next_id = *next_id;
  return std::unique_ptr<Reader>(new Reader(std::move(impl)));
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::~Reader() = default;

const CommitRow& Reader::commit() const {
  return impl_->commit;
}
JobId Reader::next_id() const {
  return impl_->next_id;
}

Status Reader::load(const LoadSink& sink) const {
  Loaded loaded;
  return load_rows(*impl_->db, sink, loaded).with("read " + impl_->options.path);
}

Reader::Bodies Reader::bodies() const {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = 2 << 20;
  auto bodies = std::make_unique<Bodies::Impl>();
  bodies->at.reset((*impl_->db)->NewIterator(options, impl_->db->family(Family::Bodies)));
  return Bodies(std::move(bodies));
}

Reader::Bodies::Bodies(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::Bodies::Bodies(Bodies&&) noexcept = default;
Reader::Bodies::~Bodies() = default;

// Steps to a neighbour and seeks to one far away, or past a block that cannot be read.
Result<std::string_view> Reader::Bodies::read(JobId id) {
  rocksdb::Iterator& at = *impl_->at;
  const auto key = job_key(id);
  constexpr int steps_max = 8;
  for (int step = 0; impl_->begun && step < steps_max && at.Valid(); ++step) {
    if (store::view(at.key()) >= view(key)) break;
    at.Next();
  }
  const bool is_behind = at.Valid() && store::view(at.key()) < view(key);
  if (!impl_->begun || is_behind || !at.status().ok()) at.Seek(slice(view(key)));
  impl_->begun = true;
  if (!at.status().ok()) return from_rocksdb(at.status());
  if (!at.Valid() || store::view(at.key()) != view(key)) {
    return Status(StatusCode::NotFound,
                  store::damaged(Family::Bodies, view(key), "the body is missing").message());
  }
  return decode_body(id, store::view(at.value()));
}

std::string_view Reader::Bodies::damaged() const {
  if (!impl_->at->Valid()) return {};
  const std::string_view value = store::view(impl_->at->value());
  return value.substr(std::min<size_t>(value.size(), 8));
}

}  // namespace perennial::store
