#pragma once

#include "store/etcd/etcd.h"
#include "store/etcd/etcd.pb.h"

namespace perennial::store::etcd {

// Requests as etcd's messages, and its answers as our values. Answers are moved out of.
etcdserverpb::RangeRequest range_request(Get request);
etcdserverpb::TxnRequest transaction_request(Transaction transaction);
etcdserverpb::AlarmRequest disarm_request(const Alarm& alarm);
Found found_of(etcdserverpb::RangeResponse& answer);
TransactionDone transaction_done_of(etcdserverpb::TxnResponse& answer);
MemberStatus member_status_of(const etcdserverpb::StatusResponse& answer, std::string endpoint);
WatchEvent event_of(etcdserverpb::Event& event);

}  // namespace perennial::store::etcd
