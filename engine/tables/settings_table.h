#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "engine/types/input.h"
#include "engine/types/job_fields.h"

namespace perennial::engine {

// What `set-tube` has set, by the name of the tube, whether the tube is there or not; and the
// defaults of the configuration. REQUIRES: the limits outlive it.
class SettingsTable {
 public:
  using ByName = std::map<std::string, TubeSettings, std::less<>>;

  explicit SettingsTable(const Limits& limits) : limits_(limits) {}

  // Those in force for a tube of this name: what is set, and for the rest the longest default that
  // fits.
  TubeSettings in_force(std::string_view tube) const;
  // What is set. Null: nothing is.
  const TubeSettings* find(std::string_view tube) const;
  // Replaces what is set. Returns false, and changes nothing, if that were too many.
  bool set(const std::string& tube, const TubeSettings& settings);
  // Returns false if the tube has settings already.
  bool restore(const std::string& tube, const TubeSettings& settings);
  bool is_draining(std::string_view tube) const;

  // Whether no tube of any name has a setting or a default.
  bool has_none() const { return by_name_.empty() && limits_.tube_defaults.empty(); }
  const ByName& by_name() const { return by_name_; }
  // An estimate, in bytes.
  size_t memory_bytes() const;

 private:
  const Limits& limits_;
  ByName by_name_;
};

}  // namespace perennial::engine
