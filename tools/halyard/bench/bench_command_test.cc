// Tests of `halyard bench` as a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/testing/command_for_test.h"
#include "halyard/driver/capabilities_file.h"

namespace halyard::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kBenchModel = HALYARD_SOURCE_DIR "/models/fashion_mnist_int8.tflite";
constexpr const char* kBoot = HALYARD_SOURCE_DIR "/models/images/00_ankle_boot.png";
const std::string kBriefly = " --seconds 0.02 --warm-up 0 --images 100 ";

class BenchCommand : public CommandTest {
 protected:
  Json jsonOf(const std::string& name) const {
    return Json::parse(contentOf(folder_ + "/" + name), nullptr, false);
  }
};

TEST_F(BenchCommand, EverythingIsMeasured) {
  std::ofstream(folder_ + "/peers.json")
      << R"({"models": [{"name": "fashion_mnist_int8", "threads": {"2": {"litert": {"ms": 0.5}}}}],
             "accuracy": {"fashion_mnist_int8": {"litert": 0.9}}})";
  const CommandOutcome outcome = halyard(
      "bench " + std::string(kBenchModel) + kBriefly + "--device reference --device cpu --json " +
      folder_ + "/b.json --html " + folder_ + "/b.html --beside " + folder_ + "/peers.json");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("halyard-reference"));
  EXPECT_THAT(outcome.output, HasSubstr("LiteRT, 2 threads 500 us"));
  const Json document = jsonOf("b.json");
  ASSERT_TRUE(document.is_object());
  ASSERT_EQ(document.at("results").size(), 2u);
  for (const Json& result : document.at("results")) {
    SCOPED_TRACE(result.dump());
    EXPECT_EQ(result.at("model"), "fashion_mnist_int8");
    const Json& latency = result.at("latency_ms");
    EXPECT_GT(latency.at("count"), 0);
    EXPECT_LE(latency.at("least"), latency.at("median"));
    EXPECT_LE(latency.at("median"), latency.at("p90"));
    EXPECT_GT(result.at("throughput").at("per_second"), 0);
    for (const char* part : {"import", "cold_compile", "cold_first", "warm_compile"}) {
      EXPECT_GT(result.at("load_ms").at(part), 0) << part;
    }
    EXPECT_GT(result.at("peak_memory_bytes").at("application"), 0);
    EXPECT_EQ(result.at("operation_times").size(), result.at("operations"));
    EXPECT_GT(result.at("efficiency").at("share"), 0);
  }
  EXPECT_GT(document.at("results")[0].at("peak_memory_bytes").at("driver"), 0);
  EXPECT_EQ(document.at("results")[1].at("peak_memory_bytes").at("driver"), 0);
  const std::string page = contentOf(folder_ + "/b.html");
  for (const char* part : {"<svg", "halyard-reference", "nnapi-reference", "LiteRT, 2 threads",
                           "CONV_2D", "Loading and memory"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
}

TEST_F(BenchCommand, AccuracyOnAFolderOfPictures) {
  // Nine is an ankle boot. The labels of the other folder do not count.
  std::filesystem::create_directories(folder_ + "/data/9");
  std::filesystem::create_directories(folder_ + "/data/3");
  for (const char* copy : {"/data/9/a.png", "/data/9/b.png", "/data/3/c.png"}) {
    std::filesystem::copy_file(kBoot, folder_ + copy);
  }
  const CommandOutcome outcome = halyard("bench " + std::string(kBenchModel) + kBriefly +
                                         "--device cpu --no-operations --no-cache " + "--data " +
                                         folder_ + "/data --json " + folder_ + "/b.json");
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  const Json result = jsonOf("b.json").at("results").at(0);
  EXPECT_EQ(result.at("accuracy").at("data"), "data");
  EXPECT_EQ(result.at("accuracy").at("images"), 3);
  EXPECT_NEAR(result.at("accuracy").at("top_1"), 2.0 / 3, 1e-6);
  EXPECT_FALSE(result.at("load_ms").contains("warm_compile"));
  EXPECT_FALSE(result.contains("operation_times"));
}

TEST_F(BenchCommand, OneFailureLeavesTheOthers) {
  const CommandOutcome outcome =
      halyard("bench " + folder_ + "/none.tflite " + kBenchModel + kBriefly +
              "--device cpu --no-operations --json " + folder_ + "/b.json");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("1 of 2 measurements failed"));
  EXPECT_THAT(outcome.output, HasSubstr("none on nnapi-reference: "));
  const Json document = jsonOf("b.json");
  EXPECT_TRUE(document.at("results").at(0).contains("error"));
  EXPECT_TRUE(document.at("results").at(1).contains("latency_ms"));
}

TEST_F(BenchCommand, MisuseIsSaid) {
  const std::pair<std::string, const char*> cases[] = {
      {"--mode quick", "no mode 'quick'"},
      {"--beside /nowhere", "/nowhere: cannot be read: No such file"},
      {"--capabilities", "expected is one --device"},
      {"--capabilities --device cpu none", "no workload 'none'"},
      {"--json /no/where.json", "writing /no/where.json: No such file"},
      {"--html /no/where.html", "writing /no/where.html: No such file"},
      {"--capabilities --device cpu --json /no/where.json", "writing /no/where.json"},
      {"--labels x", "--data"}};
  for (const auto& [arguments, expected] : cases) {
    const CommandOutcome outcome = halyard("bench " + arguments);
    EXPECT_EQ(outcome.exitStatus, 2) << arguments;
    EXPECT_THAT(outcome.errors, HasSubstr(expected)) << arguments;
    EXPECT_EQ(outcome.output, "") << arguments;
  }
  EXPECT_EQ(halyard("bench --device nowhere").exitStatus, 2);
}

TEST_F(BenchCommand, CapabilitiesAreAFileOfTheSdk) {
  const std::string path = folder_ + "/c.json";
  const CommandOutcome outcome = halyard("bench --capabilities --device reference branches loop" +
                                         kBriefly + "--json " + path);
  EXPECT_EQ(outcome.exitStatus, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("while"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("mobilenet")));
  const auto read = hal::loadCapabilities(path);
  ASSERT_TRUE(read.ok()) << read.status().toString();
  EXPECT_GT(read->whilePerformance.execTime, 0);
  EXPECT_EQ(read->lookup(OperandType::TENSOR_FLOAT32).execTime, 1.0f);
  const Json document = jsonOf("c.json");
  EXPECT_EQ(document.at("device"), "halyard-reference");
  EXPECT_THAT(document.at("power").get<std::string>(),
              ::testing::AnyOf(HasSubstr("derived"), HasSubstr("measured")));
}

TEST_F(BenchCommand, TheReferenceIsNotMeasuredAgainstItself) {
  const CommandOutcome outcome = halyard("bench --capabilities --device nnapi-reference loop");
  EXPECT_EQ(outcome.exitStatus, 1);
  EXPECT_THAT(outcome.errors, HasSubstr("is what others are measured against"));
}

}  // namespace
}  // namespace halyard::cli
