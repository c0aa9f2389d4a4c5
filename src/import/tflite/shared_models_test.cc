// Imports the real models next to the source folder, if they are present.
#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "import/tflite/import_for_test.h"
#include "model/dump.h"
#include "model/validation/validation.h"
#include "test_definitions.h"

namespace halyard::import {
namespace {

using ::testing::HasSubstr;

const char* const kFolder = HALYARD_SOURCE_DIR "/../shared/models";

std::vector<std::string> modelFiles() {
  std::vector<std::string> names;
  if (!std::filesystem::is_directory(kFolder)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".tflite") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The files that must be refused, with the expected text.
const std::map<std::string, std::string>& refused() {
  static const std::map<std::string, std::string> texts = {
      {"invalid_model_invoking_error",
       "operator fake-op-double of node 0 is not supported: no such custom operator is known"}};
  return texts;
}

TEST(SharedModels, AreImportedOrRefusedWithTheReason) {
  const std::vector<std::string> names = modelFiles();
  if (names.empty()) GTEST_SKIP() << kFolder << " is not there";
  for (const std::string& name : names) {
    const std::string path = std::string(kFolder) + "/" + name + ".tflite";
    const Result<ImportedModel> imported = importTfliteFile(path, {.names = OperandNames::KEPT});
    const auto expected = refused().find(name);
    if (expected != refused().end()) {
      ASSERT_FALSE(imported.ok()) << name;
      EXPECT_THAT(imported.status().message(), HasSubstr(path + ": " + expected->second));
      continue;
    }
    ASSERT_TRUE(imported.ok()) << imported.status().toString();
    const Result<FeatureLevel> level = validateModel(imported->model);
    EXPECT_TRUE(level.ok()) << name << ": " << level.status().toString();
    EXPECT_FALSE(modelGraphviz(imported->model, imported->operandNames).empty());
  }
}

TEST(SharedModels, DetectorHasTheOutputsOfItsFile) {
  const std::string path = std::string(kFolder) + "/coco_ssd_mobilenet_v1_quant.tflite";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Result<ImportedModel> imported = importTfliteFile(path);
  ASSERT_TRUE(imported.ok()) << imported.status().toString();
  ASSERT_EQ(imported->outputs.size(), 4u);
  EXPECT_EQ(imported->outputs[0].name, "TFLite_Detection_PostProcess");
  EXPECT_EQ(imported->outputs[0].dims, (Shape{1, 10, 4}));
  EXPECT_EQ(imported->outputs[1].dims, (Shape{1, 10}));
  EXPECT_EQ(imported->outputs[2].dims, (Shape{1, 10}));
  EXPECT_EQ(imported->outputs[3].dims, (Shape{1}));
}

}  // namespace
}  // namespace halyard::import
