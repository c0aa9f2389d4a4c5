#include "report/printable.h"

#include <gtest/gtest.h>

namespace halyard::report {
namespace {

TEST(Printable, ControlCharactersBecomeQuestionMarks) {
  EXPECT_EQ(printable("\x1b[31mred\x7f\n"), "?[31mred??");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a?b");
}

TEST(Printable, OtherTextStays) {
  EXPECT_EQ(printable("T-shirt \xC3\xA4"), "T-shirt \xC3\xA4");
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace halyard::report
