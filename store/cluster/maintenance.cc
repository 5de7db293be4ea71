#include "store/cluster/maintenance.h"

namespace perennial::store::cluster {

std::vector<etcd::Operation> maintenance_reads(const Keys& keys) {
  return {etcd::Get{.range = etcd::keys_with_prefix(keys.resignations()), .keys_only = true},
          etcd::Get{.range = {.key = keys.pause(), .end = {}}}};
}

Maintenance maintenance_of(const Keys& keys, const std::vector<etcd::Found>& gets, size_t first) {
  Maintenance out;
  for (const etcd::KeyValue& key : gets.at(first).keys) {
    out.resigned.insert(key.key.substr(keys.resignations().size()));
  }
  const std::vector<etcd::KeyValue>& pause = gets.at(first + 1).keys;
  if (pause.empty()) return out;
  out.pause = decode_pause(pause[0].value);
  out.pause_revision = pause[0].mod_revision;
  return out;
}

}  // namespace perennial::store::cluster
