#include "store/reader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/data_dir.h"
#include "store/load.h"
#include "store/meta_rows.h"
#include "store/recovery.h"
#include "store/rocks_status.h"
#include "store/store_impl.h"

namespace perennial::store {

struct Reader::Impl {
  explicit Impl(Options given) : options(std::move(given)), failure(options.events) {}

  Status open();
  void tell_cuts(const Judgement& judgement) const;

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
  if (Status opened = impl->open(); !opened.ok()) return std::move(opened).with(doing);
  return std::unique_ptr<Reader>(new Reader(std::move(impl)));
}

// As a start does, but what a start would cut is only left out.
Status Reader::Impl::open() {
  const std::string db_path = options.path + "/db";
  store::Options how;
  how.data_dir = options.path;
  how.events = options.events;
  how.env = options.env;
  how.recover = options.recover;
  const Result<Judgement> judgement = judge(db_path, how, failure);
  if (!judgement.ok()) return judgement.status();
  tell_cuts(*judgement);
  Result<Database> view = open_view(db_path, how, failure, *judgement);
  if (!view.ok()) return view.take_status();
  db = std::make_unique<Database>(view.take());
  const Result<CommitRow> last = read_commit(*db);
  if (!last.ok()) return last.status();
  const Result<JobId> found = find_next_id(*db);
  if (!found.ok()) return found.status();
  commit = *last;
  next_id = *found;
  return {};
}

void Reader::Impl::tell_cuts(const Judgement& judgement) const {
  if (!options.events.info) return;
  if (judgement.manifest_cut) {
    options.events.info("store.manifest_would_cut", judgement.manifest_cut->fields);
  }
  for (const std::string& loss : judgement.log.losses) {
    options.events.info("store.log_would_force", fmt::format("message=\"{}\"", loss));
  }
  if (judgement.log.cut) options.events.info("store.log_would_cut", judgement.log.cut->fields);
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

// Steps to a neighbour and seeks to one far away.
Result<std::string_view> Reader::Bodies::read(JobId id) {
  rocksdb::Iterator& at = *impl_->at;
  const auto key = job_key(id);
  constexpr int steps_max = 8;
  for (int step = 0; impl_->begun && step < steps_max && at.Valid(); ++step) {
    if (store::view(at.key()) >= view(key)) break;
    at.Next();
  }
  if (!impl_->begun || (at.Valid() && store::view(at.key()) < view(key))) at.Seek(slice(view(key)));
  impl_->begun = true;
  if (!at.status().ok()) return from_rocksdb(at.status());
  if (!at.Valid() || store::view(at.key()) != view(key)) {
    return store::damaged(Family::Bodies, view(key), "the body is missing");
  }
  return decode_body(id, store::view(at.value()));
}

std::string_view Reader::Bodies::damaged() const {
  const std::string_view value = store::view(impl_->at->value());
  return value.substr(std::min<size_t>(value.size(), 8));
}

}  // namespace perennial::store
