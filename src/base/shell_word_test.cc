#include "base/shell_word.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {

TEST(ShellWord, IsQuotedWhereAShellWouldChangeIt) {
  EXPECT_EQ(shellWord("V1_0/add.jsonl.gz"), "V1_0/add.jsonl.gz");
  EXPECT_EQ(shellWord(""), "''");
  EXPECT_EQ(shellWord("a b"), "'a b'");
  EXPECT_EQ(shellWord("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace halyard
