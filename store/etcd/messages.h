#pragma once

#include "store/etcd/etcd.h"
#include "store/etcd/etcd.pb.h"

namespace perennial::store::etcd {

// Converts requests to etcd's messages, and responses to our values. Values are moved out of a
// response that is passed by reference.
etcdserverpb::RangeRequest range_request(Get request);
etcdserverpb::TxnRequest transaction_request(Transaction transaction);
etcdserverpb::AlarmRequest disarm_request(const Alarm& alarm);
Found found_of(etcdserverpb::RangeResponse& response);
TransactionDone transaction_done_of(etcdserverpb::TxnResponse& response);
MemberStatus member_status_of(const etcdserverpb::StatusResponse& response, std::string endpoint);
WatchEvent event_of(etcdserverpb::Event& event);

}  // namespace perennial::store::etcd
