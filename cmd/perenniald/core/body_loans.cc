#include "cmd/perenniald/core/body_loans.h"

#include <memory>

#include "engine/types/check.h"

namespace perennial::core {

BodyLoans::~BodyLoans() {
  CHECK(by_id_.empty());
}

BodyLoans::Loan::~Loan() {
  if (lent_ != nullptr) lent_->owner.give_back(*lent_);
}

BodyLoans::Loan BodyLoans::borrow(JobId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return {};
  ++found->second->loans;
  return Loan(found->second);
}

BodyLoans::Loan BodyLoans::lend(JobId id, Body&& body, bool is_cached) {
  CHECK(id != no_job);
  Loan loan = add(id, std::move(body), is_cached);
  CHECK(by_id_.emplace(id, loan.lent_).second);
  return loan;
}

BodyLoans::Loan BodyLoans::lend_text(Body&& text) {
  Loan loan = add(no_job, std::move(text), false);
  texts_ += loan.lent_->charge.use();
  return loan;
}

BodyLoans::Loan BodyLoans::add(JobId id, Body&& body, bool is_cached) {
  const MemoryUse use = {.memory = is_cached ? 0 : body.capacity(),
                         .answers = body.size(),
                         .large = body.size() > large_bytes_min_ ? body.size() : 0};
  return Loan(new Lent{.owner = *this,
                       .id = id,
                       .body = std::move(body),
                       .charge = MemoryBudget::Charge(budget_, use)});
}

BodyLoans::Loan BodyLoans::share(const Loan& loan) {
  CHECK(loan.lent_ != nullptr);
  ++loan.lent_->loans;
  return Loan(loan.lent_);
}

void BodyLoans::on_uncached(JobId id) {
  if (by_id_.empty()) return;
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  MemoryUse use = found->second->charge.use();
  use.memory = found->second->body.capacity();
  found->second->charge.set(use);
}

void BodyLoans::give_back(Lent& lent) {
  if (--lent.loans > 0) return;
  const std::unique_ptr<Lent> ended(&lent);
  if (lent.id != no_job) {
    by_id_.erase(lent.id);
    return;
  }
  texts_ -= lent.charge.use();
}

MemoryUse BodyLoans::use() const {
  MemoryUse all = texts_;
  for (const auto& entry : by_id_) all += entry.second->charge.use();
  return all;
}

}  // namespace perennial::core
