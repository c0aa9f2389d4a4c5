#include "base/first_index.h"

#include <gtest/gtest.h>

#include <vector>

namespace halyard {
namespace {

TEST(FirstIndex, IsTheFirstOrTheCount) {
  for (const size_t count : {0, 1, 7, 64, 1000}) {
    std::vector<int> values(count, 0);
    const auto is = [&values](size_t i) { return values[i] != 0; };
    EXPECT_EQ(firstIndex(count, is), count);
    for (size_t at = count; at-- > 0;) {
      values[at] = 1;
      EXPECT_EQ(firstIndex(count, is), at);
    }
  }
}

}  // namespace
}  // namespace halyard
