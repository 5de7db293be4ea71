#pragma once

#include <utility>

#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/sign_in.h"

namespace perennial::http {

// Jobs as one caller may see them.
class JobView {
 public:
  // `sources` outlives this.
  JobView(ApiSources& sources, Caller caller) : sources_(sources), caller_(std::move(caller)) {}

  // With what the caller may do with it.
  Json of(const JobStats& job) const;

 private:
  ApiSources& sources_;
  const Caller caller_;
};

}  // namespace perennial::http
