// Tests of ImportOptions::batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/tflite/import_for_test.h"
#include "import/tflite/sample_models.h"

namespace halyard::import {
namespace {

using ::testing::HasSubstr;

Result<ImportedModel> withBatch(const ModelWriter& writer, uint32_t batch) {
  return importTflite(writer.bytes(), {.batch = batch});
}

TEST(Batch, ReplacesTheFirstDimensionOfAllTensors) {
  const auto imported = withBatch(denseInt8(), 4);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->inputs[0].dims, (Shape{4, 3}));
  EXPECT_EQ(imported->outputs[0].dims, (Shape{4, 2}));
}

TEST(Batch, PassesConvolutions) {
  const auto imported = withBatch(perChannelConvolutions(), 3);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->inputs[0].dims[0], 3u);
  EXPECT_EQ(imported->outputs[0].dims[0], 3u);
}

TEST(Batch, PassesAReshapeThatKeepsTheFirstDimension) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 2, 3});
  const int32_t shape = w.intConstant("shape", {1, 6});
  const int32_t y = w.floats("y", {1, 6});
  w.node(tfl::BuiltinOperator::RESHAPE, {x, shape}, {y});
  w.inputs = {x};
  w.outputs = {y};
  const auto imported = withBatch(w, 5);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  EXPECT_EQ(imported->outputs[0].dims, (Shape{5, 6}));
}

TEST(Batch, RefusesAReshapeThatMixesElements) {
  ModelWriter w;
  const int32_t x = w.floats("x", {1, 2, 3});
  const int32_t shape = w.intConstant("shape", {2, 3});
  const int32_t y = w.floats("y", {2, 3});
  w.node(tfl::BuiltinOperator::RESHAPE, {x, shape}, {y});
  w.inputs = {x};
  w.outputs = {y};
  EXPECT_FALSE(withBatch(w, 5).ok());
  EXPECT_TRUE(withBatch(w, 1).ok());
}

TEST(Batch, NeedsAFirstDimensionOfOne) {
  EXPECT_THAT(withBatch(denseFloat(), 4).status().message(),
              HasSubstr("has the first dimension 2, expected 1 or an open one for a batch"));
  EXPECT_THAT(withBatch(denseFromVector(), 4).status().message(), HasSubstr("first dimension 3"));
}

}  // namespace
}  // namespace halyard::import
