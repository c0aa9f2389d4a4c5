// Every conformance vector whose operations are all defined, through validation and the CPU
// executor. The vectors are not part of the project: see ../shared/conformance beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/thread_pool.h"
#include "conformance/vectors.h"
#include "cpu/executor.h"
#include "model/validation.h"
#include "ops/operation.h"

namespace halyard {
namespace {

using conformance::ActualOutput;
using conformance::OutputShapes;
using conformance::VectorCase;
using conformance::VectorFile;
using cpu::Argument;
using cpu::Executor;

const std::filesystem::path kFolder = HALYARD_SOURCE_DIR "/../shared/conformance";

std::vector<std::string> vectorFiles() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder, error)) {
    if (entry.path().string().ends_with(".jsonl.gz")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The first operation of the case that has no definition yet.
std::optional<OperationType> pendingOperation(const VectorCase& vectorCase) {
  std::vector<const Subgraph*> subgraphs{&vectorCase.model.main};
  for (const Subgraph& subgraph : vectorCase.model.referenced) subgraphs.push_back(&subgraph);
  for (const Subgraph* subgraph : subgraphs) {
    for (const Operation& operation : subgraph->operations) {
      if (ops::definitionOf(operation.type) == nullptr) return operation.type;
    }
  }
  return std::nullopt;
}

// The level that the case says its model needs; nullopt when it does not say.
std::optional<FeatureLevel> statedLevel(const VectorCase& vectorCase) {
  if (vectorCase.hal == "2.1") return FeatureLevel::FL6;
  if (vectorCase.hal == "2.2") return FeatureLevel::FL7;
  if (const auto version = halVersionFromName(vectorCase.hal)) return featureLevelOf(*version);
  return std::nullopt;
}

// Whether an operation's last input is a constant that may be a default. The level in the file is
// that of the model without trailing defaults, which a runtime leaves out before it asks a driver.
bool mayEndWithDefaults(const Model& model) {
  return std::any_of(model.main.operations.begin(), model.main.operations.end(),
                     [&](const Operation& operation) {
                       if (operation.inputs.empty()) return false;
                       const Operand& last = model.main.operands[operation.inputs.back()];
                       if (last.lifetime != Lifetime::CONSTANT_COPY) return false;
                       const uint8_t* bytes = model.operandValues.data() + last.location.offset;
                       if (last.type == OperandType::BOOL) return *bytes == 0;
                       if (last.type != OperandType::INT32) return false;
                       int32_t value;
                       std::memcpy(&value, bytes, sizeof(value));
                       return value == 1 || value == -1;
                     });
}

std::vector<Argument> inputArguments(const VectorCase& vectorCase) {
  std::vector<Argument> inputs;
  for (const conformance::VectorInput& input : vectorCase.inputs) {
    Argument argument;
    if (!input.omitted) {
      argument.data = const_cast<uint8_t*>(input.bytes.data());
      argument.length = input.bytes.size();
    }
    inputs.push_back(std::move(argument));
  }
  return inputs;
}

class Runner {
 public:
  explicit Runner(ThreadPool* threads) : threads_(threads) {}

  // OK when the case does what it should.
  Status run(const VectorCase& vectorCase, OutputShapes shapes) {
    const Status status = runToTheEnd(vectorCase, shapes);
    if (!vectorCase.expectFailure) return status;
    if (status.code() == kWrong) return status;
    return status.ok() ? Status(kWrong, "ran, but has to be refused") : okStatus();
  }

 private:
  // Not among the codes of a refusal, so that a wrong result does not count as one.
  static constexpr ResultCode kWrong = ResultCode::BAD_STATE;

  Status runToTheEnd(const VectorCase& vectorCase, OutputShapes shapes) {
    auto model = std::make_shared<const Model>(withOutputShapes(vectorCase, shapes));
    HALYARD_ASSIGN_OR_RETURN(const FeatureLevel level, validateModel(*model), "validation");
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<Executor> executor,
                             Executor::create(model, threads_));
    if (shapes != OutputShapes::KNOWN && !vectorCase.expectFailure) {
      HALYARD_RETURN_IF_ERROR(askForShapes(vectorCase, *executor), "without buffers");
    }
    HALYARD_RETURN_IF_ERROR(compute(vectorCase, *executor));
    const auto stated = statedLevel(vectorCase);
    if (shapes == OutputShapes::KNOWN && stated && level != *stated &&
        !mayEndWithDefaults(*model)) {
      return Status(kWrong, fmt::format("needs {}, but the file says {}", featureLevelName(level),
                                        featureLevelName(*stated)));
    }
    return okStatus();
  }

  // As an application does that knows nothing of the outputs.
  static Status askForShapes(const VectorCase& vectorCase, Executor& executor) {
    const std::vector<Argument> outputs(vectorCase.outputs.size());
    const hal::ExecutionResult result = executor.execute(inputArguments(vectorCase), outputs, {});
    bool anyBytes = false;
    for (const auto& output : vectorCase.outputs) anyBytes = anyBytes || !output.bytes.empty();
    const ResultCode expected =
        anyBytes ? ResultCode::OUTPUT_INSUFFICIENT_SIZE : ResultCode::NO_ERROR;
    if (result.status.code() != expected || result.outputShapes.size() != outputs.size()) {
      return Status(kWrong, fmt::format("{} and {} shapes", result.status.toString(),
                                        result.outputShapes.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const hal::OutputShape& shape = result.outputShapes[i];
      const auto& output = vectorCase.outputs[i];
      if (shape.dimensions != output.dims || shape.isSufficient != output.bytes.empty()) {
        return Status(kWrong, fmt::format("output {} is said to be [{}]{}, expected [{}]", i,
                                          fmt::join(shape.dimensions, ","),
                                          shape.isSufficient ? " and sufficient" : "",
                                          fmt::join(output.dims, ",")));
      }
    }
    return okStatus();
  }

  static Status compute(const VectorCase& vectorCase, Executor& executor) {
    std::vector<ActualOutput> actual;
    std::vector<Argument> outputs;
    for (const auto& output : vectorCase.outputs) {
      // Filled with something, so that an output that was not written is not right by chance.
      actual.push_back({std::vector<uint8_t>(output.bytes.size(), 0xa5), {}});
      outputs.push_back({actual.back().bytes.data(), actual.back().bytes.size(), {}, false});
      if (output.bytes.empty()) outputs.back().data = nullptr;
    }
    hal::ExecutionResult result = executor.execute(inputArguments(vectorCase), outputs, {});
    HALYARD_RETURN_IF_ERROR(result.status);
    if (result.outputShapes.size() != actual.size()) {
      return Status(kWrong, fmt::format("{} shapes", result.outputShapes.size()));
    }
    for (size_t i = 0; i < actual.size(); ++i) {
      actual[i].dims = std::move(result.outputShapes[i].dimensions);
    }
    if (vectorCase.expectFailure) return okStatus();
    const Status compared = compare(vectorCase, actual);
    return compared.ok() ? okStatus() : compared.withCode(kWrong);
  }

  ThreadPool* threads_;
};

void runAll(OutputShapes shapes, ThreadPool* threads) {
  const std::vector<std::string> files = vectorFiles();
  if (files.empty()) GTEST_SKIP() << "no conformance vectors in " << kFolder;
  Runner runner(threads);
  size_t passed = 0;
  size_t failed = 0;
  size_t outOfReach = 0;
  std::map<std::string, size_t> pending;
  for (const std::string& path : files) {
    auto file = VectorFile::open(path);
    ASSERT_TRUE(file.ok()) << file.status().toString();
    for (;;) {
      const auto vectorCase = file->next();
      ASSERT_TRUE(vectorCase.ok()) << vectorCase.status().toString();
      if (!vectorCase->has_value()) break;
      if (const auto type = pendingOperation(**vectorCase)) {
        ++outOfReach;
        ++pending[operationTypeName(*type)];
        continue;
      }
      const Status status = runner.run(**vectorCase, shapes);
      status.ok() ? ++passed : ++failed;
      EXPECT_TRUE(status.ok()) << std::filesystem::relative(path, kFolder).string() << " "
                               << (*vectorCase)->name << ": " << status.message();
    }
  }
  std::cout << passed << " passed, " << failed << " failed, " << outOfReach << " out of reach";
  for (const auto& [name, count] : pending) {
    std::cout << (name == pending.begin()->first ? " (operations pending: " : ", ") << name << " "
              << count;
  }
  std::cout << (pending.empty() ? "\n" : ")\n");
  EXPECT_GT(passed, 0u);
}

TEST(ConformanceVectors, AsTheyAre) { runAll(OutputShapes::KNOWN, nullptr); }

TEST(ConformanceVectors, WithUnknownOutputDimensions) {
  ThreadPool threads(3);
  runAll(OutputShapes::UNKNOWN_DIMENSIONS, &threads);
}

TEST(ConformanceVectors, WithUnknownOutputRank) { runAll(OutputShapes::UNKNOWN_RANK, nullptr); }

}  // namespace
}  // namespace halyard
