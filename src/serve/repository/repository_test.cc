// Tests of model folders, their settings, and the repository.
#include "serve/repository/repository.h"

#include <android/NeuralNetworks.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder_for_test.h"
#include "serve/models_for_test.h"

namespace halyard::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelConfig, AllFieldsAreRead) {
  const auto config = parseModelConfig(
      R"({"max_batch_size":8,"max_queue_delay_us":500,"max_queue_size":9,"default_timeout_us":7,)"
      R"("instances":[{"devices":["cpu"],"count":2},{}],"preference":"sustained",)"
      R"("priority":"high","allow_fp16":true,"labels":"l.txt","versions":[1,3]})",
      {});
  ASSERT_TRUE(config.ok()) << config.status().toString();
  const ModelSettings& settings = config->settings;
  EXPECT_EQ(settings.maxBatch, 8u);
  EXPECT_EQ(settings.queueDelay.count(), 500);
  EXPECT_EQ(settings.queueLimit, 9u);
  EXPECT_EQ(settings.defaultTimeout->count(), 7);
  ASSERT_EQ(settings.instances.size(), 2u);
  EXPECT_THAT(settings.instances[0].devices, ElementsAre("cpu"));
  EXPECT_EQ(settings.instances[0].count, 2u);
  EXPECT_EQ(settings.preference, ANEURALNETWORKS_PREFER_SUSTAINED_SPEED);
  EXPECT_EQ(settings.priority, ANEURALNETWORKS_PRIORITY_HIGH);
  EXPECT_TRUE(settings.allowFloat16);
  EXPECT_EQ(config->labelsFile, "l.txt");
  EXPECT_THAT(config->versions, ElementsAre("1", "3"));
}

TEST(ModelConfig, AModelOverridesADefault) {
  ModelSettings defaults;
  defaults.allowFloat16 = true;
  EXPECT_TRUE(parseModelConfig("{}", defaults)->settings.allowFloat16);
  EXPECT_FALSE(parseModelConfig(R"({"allow_fp16":false})", defaults)->settings.allowFloat16);
}

TEST(ModelConfig, FaultsNameTheField) {
  const std::pair<const char*, const char*> faults[] = {
      {"[]", "expected a JSON object"},
      {R"({"max_batch":8})", "max_batch: the field is unknown"},
      {R"({"max_batch_size":-1})", "max_batch_size: -1, expected a whole number from 0 to 1024"},
      {R"({"max_batch_size":"8"})", "max_batch_size: \"8\""},
      {R"({"instances":[]})", "instances: expected an array of 1 to"},
      {R"({"instances":[{"count":0}]})", "instances: count: 0"},
      {R"({"instances":[{"device":"x"}]})", "the field 'device' is unknown"},
      {R"({"preference":"quick"})", R"(preference: "quick", expected one of "low-power")"},
      {R"({"allow_fp16":"yes"})", R"(allow_fp16: "yes", expected true or false)"},
      {R"({"allow_fp16":1})", "allow_fp16: 1, expected true or false"},
      {R"({"versions":"some"})", R"(versions: expected "latest", "all")"},
      {R"({"labels":3})", "labels: a number"},
  };
  for (const auto& [text, expected] : faults) {
    const auto config = parseModelConfig(text, {});
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_THAT(config.status().message(), HasSubstr(expected));
  }
}

TEST(ModelFolder, NamesArePlain) {
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "a\\b", "a\nb"}) {
    EXPECT_FALSE(isPlainName(name)) << name;
  }
  EXPECT_TRUE(isPlainName("mobilenet_v2 (1)"));
}

class RepositoryTest : public ::testing::Test {
 protected:
  RepositoryTest() {
    writeFile(path("plain.tflite"), additionModel().bytes());
    writeFile(path("deep/2/model.tflite"), additionModel().bytes());
    writeFile(path("deep/10/model.tflite"), additionModel().bytes());
    writeFile(path("deep/latest/model.tflite"), additionModel().bytes());
    writeText(path("broken/1/model.tflite"), "no model");
    std::filesystem::create_directories(path("empty"));
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  Repository repository(bool mayChange) const {
    return Repository(ModelFolder(folder_.path()), {{}, "", mayChange});
  }

  const TemporaryFolder folder_{"models"};
};

std::vector<std::string> linesOf(const Repository& repository) {
  std::vector<std::string> lines;
  const auto index = repository.index(false);
  for (const IndexEntry& entry : *index) {
    lines.push_back(entry.name + " " + entry.version + " " + entry.state);
  }
  return lines;
}

TEST_F(RepositoryTest, TheNewestVersionIsServed) {
  Repository models = repository(false);
  ASSERT_TRUE(models.loadAll().ok());
  EXPECT_THAT(linesOf(models),
              ElementsAre("broken  UNAVAILABLE", "deep 10 READY", "plain 1 READY"));
  EXPECT_EQ(models.find("deep", "").model->version(), "10");
  EXPECT_EQ(models.find("deep", "10").model->version(), "10");
  EXPECT_EQ(models.find("deep", "2").outcome.fault(), Fault::NOT_FOUND);
  EXPECT_EQ(models.find("deep", "x").outcome.fault(), Fault::NOT_FOUND);
  EXPECT_EQ(models.find("none", "").outcome.fault(), Fault::NOT_FOUND);
  const auto broken = models.find("broken", "");
  EXPECT_EQ(broken.outcome.fault(), Fault::UNAVAILABLE);
  EXPECT_THAT(broken.outcome.text(), HasSubstr("model.tflite"));
}

TEST_F(RepositoryTest, AWarningSaysThatNoModelIsServed) {
  const TemporaryFolder empty("empty");
  Repository models(ModelFolder(empty.path()), {{}, "", false});
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(models.loadAll().ok());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("no model of the folder " + empty.path() + " is served"));
}

TEST_F(RepositoryTest, SettingsChooseVersions) {
  writeText(path("deep/config.json"), R"({"versions":"all"})");
  Repository models = repository(true);
  ASSERT_TRUE(models.loadAll().ok());
  EXPECT_THAT(models.versionsOf("deep"), ElementsAre("2", "10"));
  writeText(path("deep/config.json"), R"({"versions":[2]})");
  EXPECT_TRUE(models.load("deep").ok());
  EXPECT_THAT(models.versionsOf("deep"), ElementsAre("2"));
  writeText(path("deep/config.json"), R"({"versions":[5]})");
  EXPECT_THAT(models.load("deep").text(), HasSubstr("there is no version 5"));
  EXPECT_THAT(models.versionsOf("deep"), ElementsAre("2")) << "the earlier model stays";
}

TEST_F(RepositoryTest, ClientsChangeItOnlyIfAllowed) {
  Repository fixed = repository(false);
  EXPECT_EQ(fixed.load("plain").fault(), Fault::UNSUPPORTED);
  EXPECT_EQ(fixed.unload("plain").fault(), Fault::UNSUPPORTED);
  Repository models = repository(true);
  EXPECT_THAT(linesOf(models),
              ElementsAre("broken 1 UNAVAILABLE", "deep 10 UNAVAILABLE", "plain 1 UNAVAILABLE"));
  EXPECT_TRUE(models.load("plain").ok());
  EXPECT_TRUE(models.find("plain", "").model);
  EXPECT_TRUE(models.unload("plain").ok());
  EXPECT_THAT(models.find("plain", "").outcome.text(), HasSubstr("unloaded"));
  EXPECT_EQ(models.unload("other").fault(), Fault::NOT_FOUND);
  EXPECT_THAT(models.load("../plain").text(), HasSubstr("is no name of a model"));
  EXPECT_THAT(models.load("empty").text(), HasSubstr("has no model 'empty'"));
}

TEST_F(RepositoryTest, LabelsStayInTheFolder) {
  writeText(path("plain.json"), R"({"labels":"../secret"})");
  Repository models = repository(true);
  EXPECT_THAT(models.load("plain").text(), HasSubstr("is no plain file name"));
  writeText(path("plain.json"), R"({"labels":"names.txt"})");
  writeText(path("names.txt"), "a\r\nb\nc\n");
  ASSERT_TRUE(models.load("plain").ok());
  EXPECT_THAT(models.find("plain", "").model->settings().labels, ElementsAre("a", "b", "c"));
}

}  // namespace
}  // namespace halyard::serve
