#include "base/verbose_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace halyard {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class VerboseLogTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    ::unsetenv("debug.nn.vlog");
    ::unsetenv("HALYARD_VLOG");
    ::unsetenv("HALYARD_LOG");
    readVlogTags();
  }
  static std::string read(const char* variable, const char* value) {
    ::setenv(variable, value, 1);
    ::testing::internal::CaptureStderr();
    readVlogTags();
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(VerboseLogTest, NamesAreBits) {
  EXPECT_EQ(vlogTagsOf("", nullptr), 0u);
  EXPECT_EQ(vlogTagsOf("model", nullptr), 1u);
  EXPECT_EQ(vlogTagsOf("compilation execution", nullptr), 6u);
  EXPECT_EQ(vlogTagsOf(",cpuexe::manager, driver:memory ", nullptr), 0x78u);
  EXPECT_EQ(vlogTagsOf("all", nullptr), 0x7fu);
  EXPECT_EQ(vlogTagsOf("1", nullptr), 0x7fu);
  std::vector<std::string> unknown;
  EXPECT_EQ(vlogTagsOf("Model 2 model modelx", &unknown), 1u);
  EXPECT_THAT(unknown, ElementsAre("Model", "2", "modelx"));
}

TEST_F(VerboseLogTest, TheEnvironmentDecides) {
  EXPECT_FALSE(vlogIsOn(VlogTag::MODEL));
  EXPECT_THAT(read("HALYARD_VLOG", "model"), IsEmpty());
  EXPECT_TRUE(vlogIsOn(VlogTag::MODEL));
  EXPECT_FALSE(vlogIsOn(VlogTag::MEMORY));
  // The property's own name has precedence.
  EXPECT_THAT(read("debug.nn.vlog", "memory"), IsEmpty());
  EXPECT_FALSE(vlogIsOn(VlogTag::MODEL));
  EXPECT_TRUE(vlogIsOn(VlogTag::MEMORY));
}

TEST_F(VerboseLogTest, AnUnknownNameIsAnErrorLineAndIgnored) {
  const std::string errors = read("HALYARD_VLOG", "drivers,execution");
  EXPECT_THAT(errors, HasSubstr("halyard: error: HALYARD_VLOG: unknown tag 'drivers'; there are "
                                "model, compilation, execution"));
  EXPECT_TRUE(vlogIsOn(VlogTag::EXECUTION));
  EXPECT_FALSE(vlogIsOn(VlogTag::DRIVER));
}

TEST_F(VerboseLogTest, AWrongValueIsReportedOnce) {
  EXPECT_THAT(read("HALYARD_VLOG", "executions"), HasSubstr("unknown tag 'executions'"));
  EXPECT_THAT(read("HALYARD_VLOG", "executions"), IsEmpty());
  EXPECT_EQ(read("HALYARD_LOG", "loud"),
            "halyard: warning: HALYARD_LOG is \"loud\", but must be one of: quiet, info; it has no "
            "effect\n");
  EXPECT_THAT(read("HALYARD_LOG", "loud"), IsEmpty());
  EXPECT_THAT(read("HALYARD_LOG", "info"), IsEmpty());
}

TEST_F(VerboseLogTest, LinesAreOfLevelInfo) {
  read("HALYARD_VLOG", "driver");
  ::testing::internal::CaptureStderr();
  vlog(VlogTag::DRIVER, "{} is here", "npu");
  vlog(VlogTag::MODEL, "unseen");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "halyard: info: npu is here\n");
}

}  // namespace
}  // namespace halyard
