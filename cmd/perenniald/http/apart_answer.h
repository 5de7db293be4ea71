#pragma once

#include <memory>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/workers.h"

namespace perennial::http {

// The same response. From the step on where `answer` is_apart(), a worker makes it, so that the
// loop only takes the snapshot that a long text is made of. An answer that is never apart is made
// on the loop as before. `is_for_monitor` as in Workers::Work. `workers` outlives this.
std::unique_ptr<Answer> make_apart_answer(std::unique_ptr<Answer> answer, bool is_for_monitor,
                                          Workers& workers);

}  // namespace perennial::http
