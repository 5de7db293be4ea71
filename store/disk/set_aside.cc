#include "store/disk/set_aside.h"

namespace perennial::store {
namespace {

std::string name_in(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

SetAside::SetAside(rocksdb::Env* env, const std::string& data_dir)
    : tree_(env),
      data_dir_(data_dir),
      path_(data_dir + "/" + std::string(set_aside_name)),
      unfinished_(path_ + "/unfinished") {}

Result<bool> SetAside::is_unfinished() const {
  return tree_.exists(unfinished_);
}

Status SetAside::begin(const std::vector<std::string>& paths, std::string_view outcome) const {
  const Result<bool> is_there = tree_.exists(path_);
  if (!is_there.ok()) return is_there.status();
  Status done = *is_there ? Status() : tree_.make_dir(path_);
  for (auto path = paths.begin(); done.ok() && path != paths.end(); ++path) done = keep(*path);
  if (done.ok()) done = tree_.write(unfinished_ + ".new", outcome);
  if (done.ok()) done = tree_.rename(unfinished_ + ".new", unfinished_);
  if (done.ok()) done = tree_.sync_dir(path_);
  if (done.ok()) done = tree_.sync_dir(data_dir_);
  return std::move(done).with("keep files in " + path_);
}

// A link is enough, because a file with several links is replaced and not changed: truncation.cc.
// Its error is ignored, because only an error of the copy that follows matters.
Status SetAside::keep(const std::string& path) const {
  const std::string target = path_ + "/" + name_in(path);
  for (const std::string& name : {path, target}) {
    const Result<bool> is_there = tree_.exists(name);
    if (!is_there.ok()) return is_there.status();
    if (*is_there == (name == target)) return {};  // Nothing to keep, or it is kept.
  }
  if (tree_.link(path, target).ok()) return {};
  if (Status copied = tree_.copy(path, target + ".new"); !copied.ok()) return copied;
  return tree_.rename(target + ".new", target);
}

Status SetAside::finish() const {
  const Result<bool> is_there = is_unfinished();
  if (!is_there.ok()) return is_there.status();
  if (!*is_there) return {};
  if (Status removed = tree_.remove(unfinished_); !removed.ok()) return removed;
  return tree_.sync_dir(path_);
}

Status SetAside::remove() const {
  return tree_.remove(path_);
}

}  // namespace perennial::store
