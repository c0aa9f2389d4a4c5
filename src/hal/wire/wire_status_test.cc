// How results of the API and statuses of the wire become each other.
#include <gtest/gtest.h>

#include "hal/wire/wire_types.h"

namespace halyard::hal {
namespace {

using Code = wire::ErrorStatus;

struct StatusRow {
  ResultCode code;
  Code since13;
  Code before;
  ResultCode back;  // from HAL 1.3
};
const StatusRow kStatuses[] = {
    {ResultCode::NO_ERROR, Code::NONE, Code::NONE, ResultCode::NO_ERROR},
    {ResultCode::UNAVAILABLE_DEVICE, Code::DEVICE_UNAVAILABLE, Code::DEVICE_UNAVAILABLE,
     ResultCode::UNAVAILABLE_DEVICE},
    {ResultCode::OP_FAILED, Code::GENERAL_FAILURE, Code::GENERAL_FAILURE, ResultCode::OP_FAILED},
    {ResultCode::OUTPUT_INSUFFICIENT_SIZE, Code::OUTPUT_INSUFFICIENT_SIZE,
     Code::OUTPUT_INSUFFICIENT_SIZE, ResultCode::OUTPUT_INSUFFICIENT_SIZE},
    {ResultCode::BAD_DATA, Code::INVALID_ARGUMENT, Code::INVALID_ARGUMENT, ResultCode::BAD_DATA},
    {ResultCode::MISSED_DEADLINE_TRANSIENT, Code::MISSED_DEADLINE_TRANSIENT, Code::GENERAL_FAILURE,
     ResultCode::MISSED_DEADLINE_TRANSIENT},
    {ResultCode::MISSED_DEADLINE_PERSISTENT, Code::MISSED_DEADLINE_PERSISTENT,
     Code::GENERAL_FAILURE, ResultCode::MISSED_DEADLINE_PERSISTENT},
    {ResultCode::RESOURCE_EXHAUSTED_TRANSIENT, Code::RESOURCE_EXHAUSTED_TRANSIENT,
     Code::GENERAL_FAILURE, ResultCode::RESOURCE_EXHAUSTED_TRANSIENT},
    {ResultCode::RESOURCE_EXHAUSTED_PERSISTENT, Code::RESOURCE_EXHAUSTED_PERSISTENT,
     Code::GENERAL_FAILURE, ResultCode::RESOURCE_EXHAUSTED_PERSISTENT},
    // Results that the HAL has no name for.
    {ResultCode::DEAD_OBJECT, Code::GENERAL_FAILURE, Code::GENERAL_FAILURE, ResultCode::OP_FAILED},
    {ResultCode::OUT_OF_MEMORY, Code::GENERAL_FAILURE, Code::GENERAL_FAILURE,
     ResultCode::OP_FAILED},
};

TEST(WireStatus, ConvertsDownAndUp) {
  for (const StatusRow& row : kStatuses) {
    SCOPED_TRACE(resultCodeName(row.code));
    const Status status =
        row.code == ResultCode::NO_ERROR ? okStatus() : Status(row.code, "the test wants it");
    EXPECT_EQ(toWireStatus(status, HalVersion::V1_3), row.since13);
    for (const HalVersion old : {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2}) {
      EXPECT_EQ(toWireStatus(status, old), row.before);
    }
    EXPECT_EQ(fromWireStatus(row.since13, "").code(), row.back);
  }
  EXPECT_EQ(fromWireStatus(static_cast<Code>(9), "").code(), ResultCode::OP_FAILED);
}

}  // namespace
}  // namespace halyard::hal
