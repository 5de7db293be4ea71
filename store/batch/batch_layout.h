#pragma once

#include <cstddef>
#include <cstdint>

#include "store/format/format.h"

// The offset of each part of a batch's bytes; store/format/README.md draws them. Only files of this
// folder include this header.
namespace perennial::store {

// Offsets in the head, which begins with the format byte. It is longer since format 2; the number
// of notes is zero in that. In format 5 it is longer
// again, and in format 6, too.
namespace batch_at {
constexpr size_t epoch = 8, index = 16, known_durable = 24, now = 32, metas = 40, jobs = 44,
                 end = 48, keys = 48, notes = 52, end_with_fields = 56, gone = 56, spans = 60,
                 end_with_ended = 64, schedules = 64, unused = 68, end_with_schedules = 72;
}  // namespace batch_at

constexpr size_t batch_head_bytes(uint8_t format) {
  if (format == batch_format) return batch_at::end;
  if (format < batch_format_with_ended) return batch_at::end_with_fields;
  return format == batch_format_with_ended ? batch_at::end_with_ended
                                           : batch_at::end_with_schedules;
}

// Offsets in the head of a meta effect, which begins with its BatchMeta.
namespace meta_at {
constexpr size_t name_bytes = 1, unused = 2, tube = 4, end = 8;
}  // namespace meta_at

// Offsets in the head of a job effect: the BatchState of its row before and after, the bytes of the
// fields of its row or of the whole row of an ended job, and the id.
namespace job_effect_at {
constexpr size_t before = 0, after = 1, fields_bytes = 2, unused = 4, id = 8, end = 16;
}  // namespace job_effect_at

// Offsets in the head of a key effect, which begins with its BatchKey.
namespace key_effect_at {
constexpr size_t tube_bytes = 1, key_bytes = 2, unused = 3, end = 8;
}  // namespace key_effect_at

// Offsets in the head of a note effect, which begins with its BatchNote: the place of the note that
// is stored, or how many are removed; the bytes of the note's row; and the job.
namespace note_effect_at {
constexpr size_t place = 1, row_bytes = 2, unused = 4, job = 8, end = 16;
}  // namespace note_effect_at

// Offsets in the head of an ended job that goes, which begins with the bytes of its tube's name.
namespace gone_effect_at {
constexpr size_t notes = 1, unused = 2, job = 8, place = 16, end = 24;
}  // namespace gone_effect_at

// Offsets in the head of the span of a tube, which begins with the bytes of its name.
namespace span_effect_at {
constexpr size_t unused = 1, first = 8, next = 16, end = 24;
}  // namespace span_effect_at

// Offsets in the head of a schedule effect, which begins with its BatchSchedule: the bytes of the
// name, and those of the definition with its body.
namespace schedule_effect_at {
constexpr size_t name_bytes = 1, unused = 2, definition_bytes = 4, end = 8;
}  // namespace schedule_effect_at

constexpr size_t batch_row_bytes = 64;
constexpr size_t batch_hash_bytes = 8;

}  // namespace perennial::store
