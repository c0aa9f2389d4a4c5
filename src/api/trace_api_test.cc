// Tests of traces and profiles through the functions of halyard/halyard.h.
#include <halyard/halyard.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "api/api_for_test.h"

namespace halyard::api::testing {
namespace {

using Json = nlohmann::json;

class TraceApi : public ::testing::Test {
 protected:
  void TearDown() override { (void)halyard_traceStop(); }

  void compile() {
    model_ = addModel({2}, {2}, {2});
    ASSERT_NN_OK(model_.finish());
    compilation_ = compileFor(model_.get(), deviceNamed(kCpuDevice));
  }
  void execute(bool asynchronous = false) const {
    const auto execution = newExecution(compilation_.get());
    const float in[] = {1, 2};
    float out[2] = {};
    ASSERT_NN_OK(execution.setInput(0, nullptr, in, sizeof in));
    ASSERT_NN_OK(execution.setInput(1, nullptr, in, sizeof in));
    ASSERT_NN_OK(execution.setOutput(0, nullptr, out, sizeof out));
    if (asynchronous) {
      client::Event handle;
      ASSERT_NN_OK(execution.startCompute(handle));
      ASSERT_NN_OK(handle.wait());
    } else {
      ASSERT_NN_OK(execution.compute());
    }
    EXPECT_EQ(out[1], 4);
  }

  static Json take(int code, char* text) {
    EXPECT_EQ(code, ANEURALNETWORKS_NO_ERROR);
    if (text == nullptr) return {};
    Json json = Json::parse(text);
    halyard_free(text);
    return json;
  }
  static Json trace() {
    char* text = nullptr;
    const int code = halyard_traceJson(&text);
    return take(code, text);
  }
  Json profile() const {
    char* text = nullptr;
    const int code = halyard_compilationProfile(compilation_.get(), &text);
    return take(code, text);
  }
  static std::multiset<std::string> marks() {
    std::multiset<std::string> names;
    const Json document = trace();
    for (const Json& event : document.at("traceEvents")) {
      if (event.at("ph") == "X") names.insert(event.at("name").get<std::string>());
    }
    return names;
  }

  client::Model model_;
  client::Compilation compilation_;
};

TEST_F(TraceApi, MisuseIsAnError) {
  EXPECT_EQ(halyard_traceStop(), ANEURALNETWORKS_BAD_STATE);
  EXPECT_EQ(halyard_traceJson(nullptr), ANEURALNETWORKS_UNEXPECTED_NULL);
  EXPECT_EQ(halyard_traceStart((1 << 20) + 1), ANEURALNETWORKS_BAD_DATA);
  ASSERT_EQ(halyard_traceStart(0), ANEURALNETWORKS_NO_ERROR);
  EXPECT_EQ(halyard_traceStart(0), ANEURALNETWORKS_BAD_STATE);
  char* json = nullptr;
  EXPECT_EQ(halyard_compilationProfile(nullptr, &json), ANEURALNETWORKS_UNEXPECTED_NULL);
  compile();
  EXPECT_EQ(halyard_compilationProfile(compilation_.get(), nullptr),
            ANEURALNETWORKS_UNEXPECTED_NULL);
  client::Compilation handle;
  ASSERT_NN_OK(handle.create(model_.get()));
  EXPECT_EQ(halyard_compilationProfile(handle.get(), &json), ANEURALNETWORKS_BAD_STATE);
  EXPECT_EQ(json, nullptr);
  EXPECT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  EXPECT_EQ(halyard_traceStop(), ANEURALNETWORKS_BAD_STATE);
}

TEST_F(TraceApi, FunctionsLeaveTheMarksOfNnapisTable) {
  ASSERT_EQ(halyard_traceStart(0), ANEURALNETWORKS_NO_ERROR);
  compile();
  execute();
  compilation_.reset();
  model_.reset();
  uint32_t count = 0;
  ASSERT_NN_OK(ANeuralNetworks_getDeviceCount(&count));
  ASSERT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  const auto found = marks();
  EXPECT_EQ(found.count("[NN_LR_PP]ANeuralNetworksModel_create"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PP]ANeuralNetworksModel_addOperand"), 4u);
  EXPECT_EQ(found.count("[NN_LR_PP]ANeuralNetworksModel_finish"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PC]ANeuralNetworksCompilation_createForDevices"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PC]ANeuralNetworksCompilation_finish"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PE]ANeuralNetworksExecution_create"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PIO]ANeuralNetworksExecution_setInput"), 2u);
  EXPECT_EQ(found.count("[NN_LR_PIO]ANeuralNetworksExecution_setOutput"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PE]ANeuralNetworksExecution_compute"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PE]ANeuralNetworksExecution_free"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PT]ANeuralNetworksCompilation_free"), 1u);
  EXPECT_EQ(found.count("[NN_LR_PT]ANeuralNetworksModel_free"), 1u);
  EXPECT_EQ(found.count("[NN_LC_PCO]ADD #0"), 1u);
  for (const std::string& name : found) {
    EXPECT_EQ(name.find("getDeviceCount"), std::string::npos);  // has no mark
  }
}

TEST_F(TraceApi, NothingIsRecordedBeforeAndAfter) {
  compile();
  execute();
  ASSERT_EQ(halyard_traceStart(0), ANEURALNETWORKS_NO_ERROR);
  ASSERT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  execute();
  EXPECT_TRUE(marks().empty());
  EXPECT_EQ(profile().at("operations")[0].at("count"), 0);
}

TEST_F(TraceApi, AProfileIsOfOneCompilation) {
  compile();
  const auto otherModel = addModel({2}, {2}, {2});
  ASSERT_NN_OK(otherModel.finish());
  ASSERT_EQ(halyard_traceStart(0), ANEURALNETWORKS_NO_ERROR);
  for (int i = 0; i < 3; ++i) execute();
  const auto first = std::move(compilation_);
  compilation_ = compileFor(otherModel.get(), deviceNamed(kCpuDevice));
  for (int i = 0; i < 5; ++i) execute(/*asynchronous=*/true);
  const Json running = profile();
  EXPECT_EQ(running.at("running"), true);
  EXPECT_EQ(running.at("operations")[0].at("count"), 5);
  ASSERT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  const Json json = profile();
  EXPECT_EQ(json.at("running"), false);
  ASSERT_EQ(json.at("operations").size(), 1u);
  const Json& operation = json.at("operations")[0];
  EXPECT_EQ(operation.at("type"), "ADD");
  EXPECT_EQ(operation.at("count"), 5);
  EXPECT_EQ(operation.at("process"), ::getpid());
  EXPECT_EQ(operation.at("device"), kCpuDevice);
  EXPECT_EQ(operation.at("bytes"), 3 * 2 * 4 + 4);
  EXPECT_EQ(json.at("partitions")[0].at("count"), 5);
}

TEST_F(TraceApi, TheApplicationsSlicesNest) {
  halyard_traceBegin(HALYARD_PHASE_OVERALL, "before");
  ASSERT_EQ(halyard_traceStart(0), ANEURALNETWORKS_NO_ERROR);
  halyard_traceEnd();
  halyard_traceEnd();  // one more than the number of begins
  halyard_traceBegin(HALYARD_PHASE_BENCHMARK, "frames");
  halyard_traceBegin(HALYARD_PHASE_EXECUTION, nullptr);
  halyard_traceEnd();
  halyard_traceBegin(1000, std::string(300, 'x').c_str());
  halyard_traceEnd();
  for (int i = 0; i < 100; ++i) halyard_traceBegin(HALYARD_PHASE_EXECUTION, "deep");
  for (int i = 0; i < 100; ++i) halyard_traceEnd();
  halyard_traceEnd();
  ASSERT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  const auto found = marks();
  EXPECT_EQ(found.count("[NN_LA_PBM]frames"), 1u);
  EXPECT_EQ(found.count("[NN_LA_PE]"), 1u);
  EXPECT_EQ(found.count("[NN_LA_PO]" + std::string(71, 'x')), 1u);
  EXPECT_EQ(found.count("[NN_LA_PE]deep"), 31u);
  EXPECT_EQ(found.size(), 34u);
}

TEST_F(TraceApi, AFullTraceSaysWhatItLacks) {
  compile();
  ASSERT_EQ(halyard_traceStart(10), ANEURALNETWORKS_NO_ERROR);
  for (int i = 0; i < 10; ++i) execute();
  ASSERT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
  const Json process = trace().at("otherData").at("processes")[0];
  EXPECT_EQ(process.at("records"), 9);  // and the name of the thread
  EXPECT_GT(process.at("lost"), 20);
}

TEST_F(TraceApi, ThreadsExecuteWhileTracesComeAndGo) {
  compile();
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) execute();
    });
  }
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(halyard_traceStart(1000), ANEURALNETWORKS_NO_ERROR);
    (void)profile();
    ASSERT_EQ(halyard_traceStop(), ANEURALNETWORKS_NO_ERROR);
    (void)trace();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace halyard::api::testing
