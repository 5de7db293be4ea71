#include "store/etcd/messages.h"

#include <vector>

#include <gtest/gtest.h>

namespace perennial::store::etcd {
namespace {

// etcd names them among the errors of a status, as its protobuf prints them: with one or two
// spaces.
TEST(MemberStatusOf, HasTheAlarmsOfAllMembers) {
  etcdserverpb::StatusResponse answer;
  answer.mutable_header()->set_member_id(7);
  answer.add_errors("etcdserver: no leader");
  answer.add_errors("memberID:7 alarm:NOSPACE ");
  answer.add_errors("memberID:10276657743932975437  alarm:CORRUPT");
  answer.add_errors("memberID:8 alarm:OF_A_LATER_VERSION ");
  answer.add_errors("memberID:x alarm:NOSPACE ");
  const MemberStatus status = member_status_of(answer, "http://a:2379");
  EXPECT_EQ(status.id, 7U);
  EXPECT_EQ(status.alarms, (std::vector<Alarm>{{7, Alarm::Kind::NoSpace},
                                               {10276657743932975437U, Alarm::Kind::Corrupt}}));
}

TEST(DisarmRequest, NamesTheMemberAndTheAlarm) {
  const auto request = disarm_request({.member = 7, .kind = Alarm::Kind::NoSpace});
  EXPECT_EQ(request.action(), etcdserverpb::AlarmRequest::DEACTIVATE);
  EXPECT_EQ(request.memberid(), 7U);
  EXPECT_EQ(request.alarm(), etcdserverpb::NOSPACE);
}

}  // namespace
}  // namespace perennial::store::etcd
