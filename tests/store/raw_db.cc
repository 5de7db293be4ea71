#include "tests/store/raw_db.h"

#include <rocksdb/metadata.h>

#include "engine/types/check.h"
#include "store/rocks/rocksdb_versions.h"

namespace perennial::store {
namespace {

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

}  // namespace

RawDb::RawDb(const std::string& data_dir) {
  const std::string path = data_dir + "/db";
  std::vector<std::string> names;
  CHECK(rocksdb::DB::ListColumnFamilies({}, path, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) {
    families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  }
  CHECK(open_db(db_, rocksdb::DBOptions(), path, families, &families_).ok());
}

RawDb::~RawDb() {
  flush();
  for (rocksdb::ColumnFamilyHandle* family : families_) {
    CHECK(db_->DestroyColumnFamilyHandle(family).ok());
  }
}

void RawDb::put(Family family, std::string_view key, std::string_view value) {
  CHECK(db_->Put({}, find(family), slice(key), slice(value)).ok());
}

void RawDb::single_delete(Family family, std::string_view key) {
  CHECK(db_->SingleDelete({}, find(family), slice(key)).ok());
}

void RawDb::remove(Family family, std::string_view key) {
  CHECK(db_->Delete({}, find(family), slice(key)).ok());
}

void RawDb::flush() {
  CHECK(db_->Flush({}, families_).ok());
}

void RawDb::add_family(const std::string& name) {
  rocksdb::ColumnFamilyHandle* family = nullptr;
  CHECK(db_->CreateColumnFamily({}, name, &family).ok());
  families_.push_back(family);
}

std::string RawDb::table_of(Family family) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name == family_names[place_of(family)]) return file.db_path + file.name;
  }
  CHECK(!"a family without a table");
  return {};
}

void RawDb::compact(Family family, std::string_view first, std::string_view last) {
  const rocksdb::Slice begin = slice(first);
  const rocksdb::Slice end = slice(last);
  CHECK(db_->CompactRange({}, find(family), &begin, &end).ok());
}

std::string RawDb::table_from(Family family, std::string_view first) {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name != family_names[place_of(family)]) continue;
    if (file.smallestkey == first && file.level > 0) return file.db_path + file.name;
  }
  CHECK(!"no table that begins so");
  return {};
}

rocksdb::ColumnFamilyHandle* RawDb::find(Family family) {
  for (rocksdb::ColumnFamilyHandle* handle : families_) {
    if (handle->GetName() == family_names[place_of(family)]) return handle;
  }
  CHECK(!"a family that is not there");
  return nullptr;
}

}  // namespace perennial::store
