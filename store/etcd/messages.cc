#include "store/etcd/messages.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace perennial::store::etcd {
namespace {

namespace pb = etcdserverpb;

KeyValue key_value_of(pb::KeyValue& key) {
  return {.key = std::move(*key.mutable_key()),
          .value = std::move(*key.mutable_value()),
          .create_revision = key.create_revision(),
          .mod_revision = key.mod_revision(),
          .version = key.version(),
          .lease = key.lease()};
}

pb::Compare::CompareResult result_of(Compare::Is is) {
  switch (is) {
    case Compare::Is::Equal:
      return pb::Compare::EQUAL;
    case Compare::Is::NotEqual:
      return pb::Compare::NOT_EQUAL;
    case Compare::Is::Greater:
      return pb::Compare::GREATER;
    case Compare::Is::Less:
      return pb::Compare::LESS;
  }
  CHECK(!"a comparison that is none");
  return pb::Compare::EQUAL;
}

void set_condition(pb::Compare& message, Compare condition) {
  message.set_key(std::move(condition.key));
  message.set_result(result_of(condition.is));
  switch (condition.field) {
    case Compare::Field::Version:
      message.set_target(pb::Compare::VERSION);
      return message.set_version(condition.number);
    case Compare::Field::CreateRevision:
      message.set_target(pb::Compare::CREATE);
      return message.set_create_revision(condition.number);
    case Compare::Field::ModRevision:
      message.set_target(pb::Compare::MOD);
      return message.set_mod_revision(condition.number);
  }
  CHECK(!"a field that is none");
}

void set_operation(pb::RequestOp& message, Put put) {
  pb::PutRequest& request = *message.mutable_request_put();
  request.set_key(std::move(put.key));
  request.set_value(std::move(put.value));
  request.set_lease(put.lease);
}

void set_operation(pb::RequestOp& message, Delete deletion) {
  pb::DeleteRangeRequest& request = *message.mutable_request_delete_range();
  request.set_key(std::move(deletion.range.key));
  request.set_range_end(std::move(deletion.range.end));
}

void set_operation(pb::RequestOp& message, Get get) {
  *message.mutable_request_range() = range_request(std::move(get));
}

void set_operations(google::protobuf::RepeatedPtrField<pb::RequestOp>& messages,
                    std::vector<Operation>& operations) {
  for (Operation& operation : operations)
    std::visit([&](auto& one) { set_operation(*messages.Add(), std::move(one)); }, operation);
}

// As in "memberID:10276657743932975437 alarm:NOSPACE ": an alarm as Go's protobuf prints it, whose
// spaces are not fixed. Other errors of a status have no member.
std::optional<Alarm> alarm_of(std::string_view error) {
  constexpr std::string_view member_label = "memberID:";
  const size_t member_at = error.find(member_label);
  if (member_at == std::string_view::npos) return std::nullopt;
  Alarm alarm;
  const char* const digits = error.data() + member_at + member_label.size();
  const char* const end = error.data() + error.size();
  if (std::from_chars(digits, end, alarm.member).ec != std::errc()) return std::nullopt;
  for (const Alarm::Kind kind : {Alarm::Kind::NoSpace, Alarm::Kind::Corrupt}) {
    alarm.kind = kind;
    if (error.find(name_of(kind)) != std::string_view::npos) return alarm;
  }
  return std::nullopt;
}

std::vector<Alarm> alarms_of(const pb::StatusResponse& response) {
  std::vector<Alarm> alarms;
  for (const std::string& error : response.errors()) {
    if (const std::optional<Alarm> alarm = alarm_of(error)) alarms.push_back(*alarm);
  }
  return alarms;
}

}  // namespace

// No sort order is set: etcd reads a range in ascending order anyway, but with a sort order it
// would read the whole range with all values first, and apply the limit afterwards.
pb::RangeRequest range_request(Get request) {
  pb::RangeRequest message;
  message.set_key(std::move(request.range.key));
  message.set_range_end(std::move(request.range.end));
  message.set_limit(request.limit);
  message.set_revision(request.revision);
  message.set_keys_only(request.keys_only);
  return message;
}

pb::TxnRequest transaction_request(Transaction transaction) {
  pb::TxnRequest message;
  for (Compare& condition : transaction.conditions)
    set_condition(*message.add_compare(), std::move(condition));
  set_operations(*message.mutable_success(), transaction.then);
  set_operations(*message.mutable_failure(), transaction.otherwise);
  return message;
}

pb::AlarmRequest disarm_request(const Alarm& alarm) {
  pb::AlarmRequest message;
  message.set_action(pb::AlarmRequest::DEACTIVATE);
  message.set_memberid(alarm.member);
  message.set_alarm(alarm.kind == Alarm::Kind::NoSpace ? pb::NOSPACE : pb::CORRUPT);
  return message;
}

Found found_of(pb::RangeResponse& response) {
  Found found{.keys = {},
              .count = response.count(),
              .more = response.more(),
              .revision = response.header().revision()};
  found.keys.reserve(static_cast<size_t>(response.kvs_size()));
  for (pb::KeyValue& key : *response.mutable_kvs()) found.keys.push_back(key_value_of(key));
  return found;
}

// The responses inside a transaction's response have no header of their own in some versions of
// etcd.
TransactionDone transaction_done_of(pb::TxnResponse& response) {
  TransactionDone done{
      .held = response.succeeded(), .revision = response.header().revision(), .gets = {}};
  for (pb::ResponseOp& operation : *response.mutable_responses()) {
    if (!operation.has_response_range()) continue;
    Found& found = done.gets.emplace_back(found_of(*operation.mutable_response_range()));
    found.revision = done.revision;
  }
  return done;
}

MemberStatus member_status_of(const pb::StatusResponse& response, std::string endpoint) {
  return {.endpoint = std::move(endpoint),
          .id = response.header().member_id(),
          .version = response.version(),
          .database_bytes = response.dbsize(),
          .is_leader = response.leader() != 0 && response.leader() == response.header().member_id(),
          .has_leader = response.leader() != 0,
          .term = response.raftterm(),
          .alarms = alarms_of(response)};
}

WatchEvent event_of(pb::Event& event) {
  return {.is_delete = event.type() == pb::Event::DELETE, .key = key_value_of(*event.mutable_kv())};
}

}  // namespace perennial::store::etcd
