#include "store/damage/table_file.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "store/types/rocks_status.h"

namespace perennial::store {

std::string path_of(const rocksdb::LiveFileMetaData& table) {
  return table.directory + "/" + table.relative_filename;
}

Result<IndexKeys> index_keys_of(const std::string& path, rocksdb::Env* env) {
  rocksdb::Options how;
  if (env != nullptr) how.env = env;
  rocksdb::SstFileReader reader(how);
  const auto opened = reader.Open(path);
  if (!opened.ok()) return from_rocksdb(opened);
  return reader.GetTableProperties()->index_key_is_user_key != 0 ? IndexKeys::OfFamily
                                                                 : IndexKeys::WithNumbers;
}

}  // namespace perennial::store
