#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::tool {

// What a node says of its rows right after a batch.
struct NodeDigests {
  struct Family {
    std::string name;
    uint64_t rows = 0;
    std::string hash;

    bool operator==(const Family&) const = default;
  };
  std::string node;
  BatchIndex index = 0;
  std::vector<Family> families;
};

// Reads what a node has answered. Corruption: it is not that.
Result<NodeDigests> parse_digests(const std::string& node, std::string_view json);

// One line for each family of each node that is not as on the first node. Empty: all are equal.
std::vector<std::string> differences(const std::vector<NodeDigests>& nodes);

}  // namespace perennial::tool
