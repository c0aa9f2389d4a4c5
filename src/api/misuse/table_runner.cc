// Runs the rows of the tables.
#include <algorithm>

#include "api/misuse/table.h"

namespace halyard::api::testing {

TEST_P(MisuseTable, HasItsCodeAndText) {
  const Misuse& row = GetParam();
  World world;
  const int code = row.call(world);
  const std::string text = halyard_lastErrorText();
  EXPECT_EQ(code, row.code) << text;
  EXPECT_EQ(halyard_lastErrorCode(), row.code);
  // Behind the object and the function.
  const size_t end = row.name.find('_', row.name.find('_') + 1);
  const std::string function = "ANeuralNetworks" + row.name.substr(0, end);
  EXPECT_THAT(text, ::testing::StartsWith(function + ": "));
  EXPECT_THAT(text.substr(std::min(text.size(), function.size())), ::testing::HasSubstr(row.text));
  if (row.after) row.after(world);
}

}  // namespace halyard::api::testing
