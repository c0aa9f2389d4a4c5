// Compilations: caching, several devices, preferences and deadlines, control flow.
#include <halyard/halyard.h>
#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "validation/cts/api_world.h"

namespace halyard::validation {
namespace {

using Json = nlohmann::json;

// Whether a finished compilation of out = a + b computes the right sum.
Status expectSum(const ApiWorld& world, ANeuralNetworksCompilation* compilation) {
  client::Execution execution;
  HALYARD_EXPECT_OK(execution.create(compilation));
  const std::vector<uint8_t> a = world.elements({1, 2, 3, 4});
  std::vector<uint8_t> out(a.size());
  for (const int32_t i : {0, 1}) {
    HALYARD_EXPECT_OK(execution.setInput(i, nullptr, a.data(), a.size()));
  }
  HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), out.size()));
  HALYARD_EXPECT_OK(execution.compute());
  HALYARD_EXPECT(out == world.elements({2, 4, 6, 8}));
  return okStatus();
}

class Folder {
 public:
  Folder() : path_(::mkdtemp(name_) == nullptr ? "" : name_) {}
  ~Folder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  char name_[32] = "/tmp/halyard-cts-XXXXXX";
  const std::string path_;
};

// The state of the first partition's cache, "" when the report has none.
Result<std::string> cacheState(const client::Compilation& compilation) {
  std::string text;
  HALYARD_EXPECT_OK(compilation.report(text));
  const Json report = Json::parse(text, nullptr, false);
  if (!report.contains("partitions") || report["partitions"].empty()) return std::string();
  const Json& partition = report["partitions"][0];
  return partition.contains("cache") ? partition["cache"].value("state", "") : std::string();
}

// Four compilations: without files, with files, another model with the same token, and a folder
// that does not exist.
CheckResult caching(ApiWorld& world) {
  const Folder folder;
  HALYARD_EXPECT(!folder.path().empty());
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  HALYARD_ASSIGN_OR_RETURN(const auto other, world.sum({2, 2}, {2, 2}, {2, 2}));
  const ANeuralNetworksDevice* const device = world.device();
  const uint8_t token[ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN] = {1, 2, 3};
  std::string states;
  const auto compileAndRun = [&](ANeuralNetworksModel* which, const std::string& where) -> Status {
    client::Compilation compilation;
    HALYARD_EXPECT_OK(compilation.createForDevices(which, {&device, 1}));
    HALYARD_EXPECT_OK(compilation.setCaching(where.c_str(), token));
    HALYARD_EXPECT_OK(compilation.finish());
    HALYARD_ASSIGN_OR_RETURN(const std::string state, cacheState(compilation));
    states += (states.empty() ? "" : ", ") + (state.empty() ? "off" : state);
    return expectSum(world, compilation.get());
  };
  HALYARD_RETURN_IF_ERROR(compileAndRun(model.get(), folder.path()), "first");
  HALYARD_RETURN_IF_ERROR(compileAndRun(model.get(), folder.path()), "second");
  HALYARD_RETURN_IF_ERROR(compileAndRun(other.get(), folder.path()), "another model");
  HALYARD_RETURN_IF_ERROR(compileAndRun(model.get(), "/proc/none/such"), "no such folder");
  return CheckResult::passed(states);
}

CheckResult severalDevices(ApiWorld& world) {
  if (world.isCpu()) return CheckResult::skipped("it is the CPU device itself");
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  const ANeuralNetworksDevice* const devices[] = {world.device(), world.cpu()};
  client::Compilation both;
  HALYARD_EXPECT_OK(both.createForDevices(model.get(), {devices, 2}));
  HALYARD_EXPECT_CODE(both.setTimeout(1'000'000'000), ANEURALNETWORKS_BAD_DATA);
  HALYARD_EXPECT_OK(both.finish());
  HALYARD_RETURN_IF_ERROR(expectSum(world, both.get()), "on both");
  client::Compilation any;
  HALYARD_EXPECT_OK(any.create(model.get()));
  HALYARD_EXPECT_OK(any.finish());
  HALYARD_RETURN_IF_ERROR(expectSum(world, any.get()), "on any");
  return CheckResult::passed();
}

CheckResult preferences(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  const ANeuralNetworksDevice* const device = world.device();
  for (const int32_t preference :
       {ANEURALNETWORKS_PREFER_LOW_POWER, ANEURALNETWORKS_PREFER_FAST_SINGLE_ANSWER,
        ANEURALNETWORKS_PREFER_SUSTAINED_SPEED}) {
    for (const int priority : {ANEURALNETWORKS_PRIORITY_LOW, ANEURALNETWORKS_PRIORITY_HIGH}) {
      client::Compilation compilation;
      HALYARD_EXPECT_OK(compilation.createForDevices(model.get(), {&device, 1}));
      HALYARD_EXPECT_OK(compilation.setPreference(preference));
      HALYARD_EXPECT_OK(compilation.setPriority(priority));
      HALYARD_EXPECT_OK(compilation.finish());
      HALYARD_RETURN_IF_ERROR(expectSum(world, compilation.get()), "preference {}, priority {}",
                              preference, priority);
    }
  }
  return CheckResult::passed();
}

bool isMissedDeadline(int code) {
  return code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
         code == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT;
}

// A deadline of a nanosecond may be missed or met. A deadline of an hour must be met.
CheckResult deadlines(ApiWorld& world) {
  HALYARD_ASSIGN_OR_RETURN(const auto model, world.sum({4}, {4}, {4}));
  const ANeuralNetworksDevice* const device = world.device();
  constexpr uint64_t kHour = 3600ull * 1'000'000'000;
  for (const uint64_t duration : {uint64_t{1}, kHour}) {
    client::Compilation compilation;
    HALYARD_EXPECT_OK(compilation.createForDevices(model.get(), {&device, 1}));
    HALYARD_EXPECT_OK(compilation.setTimeout(duration));
    const int code = compilation.finish();
    if (duration == 1 && isMissedDeadline(code)) continue;
    HALYARD_EXPECT_CODE(code, ANEURALNETWORKS_NO_ERROR);
  }
  HALYARD_ASSIGN_OR_RETURN(const CompiledSum sum, CompiledSum::make(world));
  for (const uint64_t duration : {uint64_t{1}, kHour}) {
    HALYARD_ASSIGN_OR_RETURN(const auto execution, sum.execution());
    const std::vector<uint8_t> a = world.elements({1, 2, 3, 4});
    std::vector<uint8_t> out(a.size());
    for (const int32_t i : {0, 1}) {
      HALYARD_EXPECT_OK(execution.setInput(i, nullptr, a.data(), a.size()));
    }
    HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, out.data(), out.size()));
    HALYARD_EXPECT_OK(execution.setTimeout(duration));
    const int code = execution.compute();
    if (duration == 1 && isMissedDeadline(code)) continue;
    HALYARD_EXPECT_CODE(code, ANEURALNETWORKS_NO_ERROR);
    HALYARD_EXPECT(out == world.elements({2, 4, 6, 8}));
  }
  return CheckResult::passed();
}

// A finished model of one CAST from `in` to `out`.
Result<client::Model> castModel(const ANeuralNetworksOperandType& in,
                                const ANeuralNetworksOperandType& out) {
  HALYARD_ASSIGN_OR_RETURN(client::Model model, newModel());
  HALYARD_EXPECT_OK(model.addOperand(in));
  HALYARD_EXPECT_OK(model.addOperand(out));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_CAST, {0}, {1}));
  HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({0}, {1}));
  HALYARD_EXPECT_OK(model.finish());
  return model;
}

// WHILE (x) x = x. If x is true, the loop is endless, unless its time is limited. It runs on the
// device, with the CPU device beside it.
CheckResult endlessLoop(ApiWorld& world) {
  HALYARD_EXPECT(ANeuralNetworks_getDefaultLoopTimeout() == 2'000'000'000);
  HALYARD_EXPECT(ANeuralNetworks_getMaximumLoopTimeout() == 15'000'000'000);
  const uint32_t one = 1;
  const ANeuralNetworksOperandType flag = {ANEURALNETWORKS_TENSOR_BOOL8, 1, &one, 0, 0};
  HALYARD_ASSIGN_OR_RETURN(const auto condition, castModel(flag, flag));
  HALYARD_ASSIGN_OR_RETURN(const auto body, castModel(flag, flag));
  HALYARD_ASSIGN_OR_RETURN(const auto model, newModel());
  const ANeuralNetworksOperandType reference = {ANEURALNETWORKS_MODEL, 0, nullptr, 0, 0};
  for (const auto& type : {reference, reference, flag, flag}) {
    HALYARD_EXPECT_OK(model.addOperand(type));
  }
  HALYARD_EXPECT_OK(model.setOperandValueFromModel(0, condition.get()));
  HALYARD_EXPECT_OK(model.setOperandValueFromModel(1, body.get()));
  HALYARD_EXPECT_OK(model.addOperation(ANEURALNETWORKS_WHILE, {0, 1, 2}, {3}));
  HALYARD_EXPECT_OK(model.identifyInputsAndOutputs({2}, {3}));
  HALYARD_EXPECT_OK(model.finish());
  const ANeuralNetworksDevice* const devices[] = {world.device(), world.cpu()};
  ANeuralNetworksCompilation* made = nullptr;
  HALYARD_EXPECT_OK(ANeuralNetworksCompilation_createForDevices(model.get(), devices,
                                                                world.isCpu() ? 1 : 2, &made));
  const client::Compilation compilation(made);
  HALYARD_EXPECT_OK(ANeuralNetworksCompilation_finish(made));
  for (const uint8_t value : {uint8_t{0}, uint8_t{1}}) {
    client::Execution execution;
    HALYARD_EXPECT_OK(execution.create(made));
    uint8_t out = 7;
    HALYARD_EXPECT_OK(execution.setInput(0, nullptr, &value, 1));
    HALYARD_EXPECT_OK(execution.setOutput(0, nullptr, &out, 1));
    HALYARD_EXPECT_OK(execution.setLoopTimeout(1'000'000));
    const int code = execution.compute();
    if (value == 0) {
      HALYARD_EXPECT_CODE(code, ANEURALNETWORKS_NO_ERROR);
      HALYARD_EXPECT(out == 0);
    } else if (!isMissedDeadline(code)) {
      return opFailed(
          "a loop for ever with a timeout of 1 ms answered {}, expected "
          "MISSED_DEADLINE_TRANSIENT or MISSED_DEADLINE_PERSISTENT",
          code);
    }
  }
  return CheckResult::passed();
}

}  // namespace

void listCompilationChecks(ApiChecks& checks) {
  checks.add("compilation/caching", "a cached compilation computes the same, whatever it is given",
             caching);
  checks.add("compilation/several_devices",
             "with the CPU device beside it, or any device, results are right", severalDevices);
  checks.add("compilation/preferences", "results do not depend on preference and priority",
             preferences);
  checks.add("compilation/deadlines", "deadlines are met or missed, and nothing else", deadlines);
  checks.addAny("compilation/loops", "a loop ends when its time is over", endlessLoop);
}

}  // namespace halyard::validation
