#include "trace/mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace halyard::trace {
namespace {

using ::testing::HasSubstr;

TEST(MarkTest, EveryLayerAndPhaseSurvivesItsText) {
  for (size_t layer = 0; layer < kLayers; ++layer) {
    for (size_t phase = 0; phase < kPhases; ++phase) {
      for (const Variant variant : {Variant::PLAIN, Variant::SWITCH, Variant::SUBTRACT}) {
        const Mark mark{variant, static_cast<Layer>(layer), static_cast<Phase>(phase), "f(x)[1]"};
        const auto read = parseMark(markText(mark));
        ASSERT_TRUE(read.ok()) << read.status().toString();
        EXPECT_EQ(read->variant, mark.variant);
        EXPECT_EQ(read->layer, mark.layer);
        EXPECT_EQ(read->phase, mark.phase);
        EXPECT_EQ(read->detail, mark.detail);
      }
    }
  }
  EXPECT_EQ(markText({Variant::SUBTRACT, Layer::RUNTIME, Phase::COMPILATION, "again"}),
            "[SUB][NN_LR_PC]again");
  EXPECT_EQ(markText({Variant::SWITCH, Layer::CPU, Phase::COMPUTATION, ""}), "[SW][NN_LC_PCO]");
}

TEST(MarkTest, WhatIsNoMarkIsRefusedWithItsReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "is no mark: [NN_ is expected"},
      {"NN_LR_PE", "is no mark: [NN_ is expected"},
      {"[NN_LR_PE", "[NN_<layer>_<phase>] is expected"},
      {"[NN_LRPE]x_y", "[NN_<layer>_<phase>] is expected"},
      {"[NN_LQ_PE]x", "unknown layer 'LQ'"},
      {"[NN_LR_PQ]x", "unknown phase 'PQ'"},
      {"[NN_LR_]x", "unknown phase ''"},
      {"[SW][SUB][NN_LR_PE]x", "is no mark"},
  };
  for (const auto& [text, reason] : cases) {
    const auto read = parseMark(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.status().message(), HasSubstr(reason)) << text;
  }
}

bool mayNest(const char* outer, const char* inner) {
  return checkNesting(parseMark(outer).value(), parseMark(inner).value()).ok();
}

TEST(MarkTest, LayersCallTheNextBelow) {
  EXPECT_TRUE(mayNest("[NN_LA_PE]", "[NN_LR_PE]"));
  EXPECT_TRUE(mayNest("[NN_LR_PE]", "[NN_LI_PE]"));
  EXPECT_TRUE(mayNest("[NN_LR_PE]", "[NN_LC_PE]"));
  EXPECT_TRUE(mayNest("[NN_LI_PC]", "[NN_LD_PC]"));
  EXPECT_TRUE(mayNest("[NN_LD_PC]", "[NN_LU_PC]"));
  EXPECT_TRUE(mayNest("[NN_LC_PE]", "[NN_LC_PE]"));
  EXPECT_FALSE(mayNest("[NN_LA_PE]", "[NN_LI_PE]"));
  EXPECT_FALSE(mayNest("[NN_LR_PE]", "[NN_LD_PE]"));
  EXPECT_FALSE(mayNest("[NN_LC_PE]", "[NN_LR_PE]"));
  EXPECT_FALSE(mayNest("[NN_LI_PE]", "[NN_LC_PE]"));
}

TEST(MarkTest, PhasesContainTheirParts) {
  for (const char* part : {"[NN_LR_PIO]", "[NN_LR_PTR]", "[NN_LR_PCO]", "[NN_LR_PR]"}) {
    EXPECT_TRUE(mayNest("[NN_LR_PE]", part)) << part;
    EXPECT_TRUE(mayNest("[NN_LA_PO]", part)) << part;
    EXPECT_TRUE(mayNest("[NN_LA_PBM]", part)) << part;
    EXPECT_FALSE(mayNest("[NN_LR_PC]", part)) << part;
    EXPECT_FALSE(mayNest(part, "[NN_LR_PE]")) << part;
    EXPECT_TRUE(mayNest(part, "[NN_LR_PI]")) << part;
    EXPECT_TRUE(mayNest(part, "[NN_LR_PU]")) << part;
  }
  EXPECT_TRUE(mayNest("[NN_LA_PO]", "[NN_LA_PWU]"));
  EXPECT_TRUE(mayNest("[NN_LA_PWU]", "[NN_LA_PE]"));
  EXPECT_FALSE(mayNest("[NN_LA_PWU]", "[NN_LA_PC]"));
  EXPECT_FALSE(mayNest("[NN_LR_PE]", "[NN_LR_PC]"));
  EXPECT_TRUE(mayNest("[NN_LR_PE]", "[SUB][NN_LR_PC]"));
  const Status status =
      checkNesting(parseMark("[NN_LR_PE]compute").value(), parseMark("[NN_LR_PC]prepare").value());
  EXPECT_THAT(status.message(),
              HasSubstr("[NN_LR_PC]prepare within [NN_LR_PE]compute: phase PC is no part of"));
}

}  // namespace
}  // namespace halyard::trace
