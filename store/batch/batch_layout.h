#pragma once

#include <cstddef>

// Where each part of a batch's bytes lies: store/README.md draws it. Included by this folder's own
// files only.
namespace perennial::store {

// The head: the format byte, and then these.
namespace batch_at {
constexpr size_t epoch = 8, index = 16, known_durable = 24, now = 32, metas = 40, jobs = 44,
                 end = 48;
}  // namespace batch_at

// What each meta effect begins with: its BatchMeta, and then these.
namespace meta_at {
constexpr size_t name_bytes = 1, unused = 2, tube = 4, end = 8;
}  // namespace meta_at

// What each job effect begins with: the BatchState of its row before and after, and then the id.
namespace job_effect_at {
constexpr size_t before = 0, after = 1, unused = 2, id = 8, end = 16;
}  // namespace job_effect_at

constexpr size_t batch_row_bytes = 64;
constexpr size_t batch_hash_bytes = 8;

}  // namespace perennial::store
