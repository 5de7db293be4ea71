#pragma once

#include <utility>

#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/leases/leases.h"
#include "cmd/perenniald/http/sign_in.h"

namespace perennial::http {

// Jobs as one caller may see them.
class JobView {
 public:
  // `leases`: null: the jobs are told without what holds them over HTTP. What is referred to
  // outlives this.
  JobView(ApiSources& sources, const Leases* leases, Caller caller)
      : sources_(sources), leases_(leases), caller_(std::move(caller)) {}

  // With what the caller may do with it.
  Json of(const JobStats& job) const { return of(job, holders_of(job)); }
  // The fields that say who holds it. They are an object, which has none if that is nobody, or
  // nobody whom the caller may see.
  Json holders_of(const JobStats& job) const;
  // The same as of(job), from what was taken before. Another thread may call this.
  Json of(const JobStats& job, const Json& holders) const;

 private:
  Json holder_of(const JobStats& job) const;
  Json lease_of(const JobStats& job) const;

  ApiSources& sources_;
  const Leases* const leases_;
  const Caller caller_;
};

}  // namespace perennial::http
