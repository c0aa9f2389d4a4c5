#include "serve/protocol/trace_context.h"

#include <gtest/gtest.h>

namespace halyard::serve {
namespace {

TEST(TraceContext, TraceAndSpanOfATraceparent) {
  constexpr const char* kIds = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";
  EXPECT_EQ(traceOf("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), kIds);
  EXPECT_EQ(traceOf("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"), kIds);
}

TEST(TraceContext, OtherValuesAreNoTrace) {
  for (const char* value : {
           "",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
           "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
           "00-00000000000000000000000000000000-b7ad6b7169203331-01",
           "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333\"-01",
           "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
       }) {
    EXPECT_EQ(traceOf(value), "") << value;
  }
}

}  // namespace
}  // namespace halyard::serve
