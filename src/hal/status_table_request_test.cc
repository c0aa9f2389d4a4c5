// The HAL's rules for requests, R1 to R7, and what an execution reports (section 4.1): a row per
// case, on every path of every sort of driver of every version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hal/testing/server_fixture.h"
#include "hal/testing/subject.h"

namespace halyard::hal {
namespace {

using namespace hal::testing;  // NOLINT: the subjects' vocabulary

enum class Since : uint8_t { V1_0 = 1, V1_1, V1_2, V1_3, NEVER };

// What the model's dimensions are: of a[4] + b[4] -> out[4], or left open.
enum class Sizes : uint8_t { KNOWN, OPEN_OUTPUT, ALL_OPEN };

struct Row {
  const char* rule;
  const char* what;
  Since since;
  Sizes sizes;
  std::function<void(Request&)> change;  // a and b in pool 0, out in pool 1
  RequestEdit edit = nullptr;            // of the message, for what a Request cannot say
};

Model modelOf(Sizes sizes) {
  Model model = addModel(4);
  if (sizes != Sizes::KNOWN) model.main.operands[3].dimensions = {0};
  if (sizes == Sizes::ALL_OPEN) {
    model.main.operands[0].dimensions = {0};
    model.main.operands[1].dimensions = {0};
  }
  return model;
}
Request goodRequest() { return poolRequest(memoryOf(kInputs), memoryOf({0, 0, 0, 0})); }

void omit(RequestArgument& argument) {
  argument = {};
  argument.kind = RequestArgument::Kind::NO_VALUE;
}

// clang-format off: a row is a line where it can be.
const Row kRows[] = {
    {"R1", "Unchanged", Since::V1_0, Sizes::KNOWN, [](Request&) {}},
    {"R1", "FirstInputRemoved", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs.erase(r.inputs.begin()); }},
    {"R1", "LastInputRemoved", Since::NEVER, Sizes::KNOWN, [](Request& r) { r.inputs.pop_back(); }},
    {"R1", "InputAdded", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs.push_back(r.inputs[0]); }},
    {"R1", "OutputRemoved", Since::NEVER, Sizes::KNOWN, [](Request& r) { r.outputs.clear(); }},
    {"R1", "OutputAdded", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.outputs.push_back(r.outputs[0]); }},

    {"R2", "NoValueWithPool", Since::NEVER, Sizes::KNOWN,
     [](Request& r) {
       omit(r.inputs[0]);
       r.inputs[0].location.poolIndex = 1;
     },
     [](auto r) { r.getInputs()[0].initLocation().setPoolIndex(1); }},
    {"R2", "NoValueWithOffset", Since::NEVER, Sizes::KNOWN,
     [](Request& r) {
       omit(r.inputs[0]);
       r.inputs[0].location.offset = 4;
     },
     [](auto r) { r.getInputs()[0].initLocation().setOffset(4); }},
    {"R2", "NoValueWithLength", Since::NEVER, Sizes::KNOWN,
     [](Request& r) {
       omit(r.inputs[0]);
       r.inputs[0].location.length = 16;
     },
     [](auto r) { r.getInputs()[0].initLocation().setLength(16); }},
    {"R2", "NoValueWithDimensions", Since::NEVER, Sizes::KNOWN,
     [](Request& r) {
       omit(r.inputs[0]);
       r.inputs[0].dimensions = {4};
     },
     [](auto r) { r.getInputs()[0].initDimensions(1).set(0, 4); }},

    {"R3", "InputInNoPool", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs[0].location.poolIndex = 2; }},
    {"R3", "OutputInNoPool", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.outputs[0].location.poolIndex = 0xffffffff; }},
    {"R3", "InputBeyondThePool", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs[1].location.offset = 20; }},
    {"R3", "InputAtAnOffsetThatWraps", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs[1].location.offset = 0xfffffff8; }},
    {"R3", "OutputBeyondThePool", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.outputs[0].location.length = 20; }},
    {"R3", "LengthThatWraps", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs[1].location.length = 0xffffffff; }},

    {"R4", "SameDimensions", Since::V1_0, Sizes::KNOWN,
     [](Request& r) {
       r.inputs[0].dimensions = {4};
       r.outputs[0].dimensions = {4};
     }},
    {"R4", "InputOfAnotherRank", Since::NEVER, Sizes::KNOWN,
     [](Request& r) {
       r.inputs[0].dimensions = {1, 4};
     }},
    {"R4", "InputOfAnotherSize", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs[0].dimensions = {5}; }},
    {"R4", "OutputOfAnotherRank", Since::NEVER, Sizes::KNOWN,
     [](Request& r) {
       r.outputs[0].dimensions = {4, 1};
     }},
    {"R4", "OutputOfAnotherSize", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.outputs[0].dimensions = {3}; }},
    {"R4", "InputLeftOpen", Since::NEVER, Sizes::ALL_OPEN,
     [](Request& r) { r.outputs[0].dimensions = {4}; }},
    {"R4", "InputLeftOpenByZero", Since::NEVER, Sizes::ALL_OPEN,
     [](Request& r) {
       r.inputs[0].dimensions = {0};
       r.inputs[1].dimensions = {4};
       r.outputs[0].dimensions = {4};
     }},
    {"R4", "InputZeroWhereKnown", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.inputs[0].dimensions = {0}; }},
    {"R4", "OpenButGiven", Since::V1_0, Sizes::ALL_OPEN,
     [](Request& r) {
       for (auto& in : r.inputs) in.dimensions = {4};
       r.outputs[0].dimensions = {4};
     }},

    {"R5", "OutputLeftOpen", Since::V1_2, Sizes::OPEN_OUTPUT, [](Request&) {}},
    {"R5", "OutputLeftOpenByZero", Since::V1_2, Sizes::OPEN_OUTPUT,
     [](Request& r) { r.outputs[0].dimensions = {0}; }},

    {"R6", "TokenZero", Since::NEVER, Sizes::KNOWN, [](Request& r) { r.pools[0] = uint32_t{0}; }},
    {"R6", "TokenThatNobodyGave", Since::NEVER, Sizes::KNOWN,
     [](Request& r) {
       r.pools[0] = uint32_t{100};
       for (auto& in : r.inputs) in.location = {};
     }},
    {"R6", "TokenWithOffset", Since::NEVER, Sizes::KNOWN,
     [](Request& r) { r.pools[0] = uint32_t{100}; }},
    {"R6", "NoHandle", Since::NEVER, Sizes::KNOWN, nullptr,
     [](auto r) { r.getPools()[0].getMemory().getFile().disownFd(); }},
    {"R6", "UnknownKind", Since::NEVER, Sizes::KNOWN, nullptr,
     [](auto r) { r.getPools()[0].getMemory().setKind(static_cast<wire::MemoryKind>(9)); }},

    {"R7", "OffsetAndLengthZeroIsThePool", Since::V1_0, Sizes::KNOWN,
     [](Request& r) {
       r.inputs[1] = r.inputs[0];
       r.outputs[0].location = {1, 0, 0};
     }},
};
// clang-format on

void expectNothingReported(const ExecutionAnswer& answer) {
  EXPECT_TRUE(answer.shapes.empty());
  EXPECT_FALSE(answer.timing.timeOnDevice.has_value());
  EXPECT_FALSE(answer.timing.timeInDriver.has_value());
}

class RequestTable : public ::testing::TestWithParam<Row> {};

TEST_P(RequestTable, HoldsOnEveryPathOfEveryDriver) {
  const Row& row = GetParam();
  unsigned asked = 0;
  for (const auto& subject : allSubjects()) {
    SCOPED_TRACE(subject->name());
    // A Request without change can only be spoilt in its message.
    if (!row.change && !subject->onTheWire()) continue;
    ASSERT_TRUE(subject->prepare(modelOf(row.sizes)).hasModel);
    for (const Path path : subject->paths()) {
      Request request = goodRequest();
      if (row.change) row.change(request);
      const bool usesTokens = std::holds_alternative<uint32_t>(request.pools[0]);
      ExecuteOptions options;
      options.measureTiming = true;
      const ExecutionAnswer answer = subject->execute(path, request, options, row.edit);
      ++asked;
      const bool valid =
          static_cast<uint8_t>(row.since) <= static_cast<uint8_t>(subject->version());
      if (valid) {
        EXPECT_EQ(answer.launch, Code::NONE) << answer.message;
        EXPECT_EQ(answer.status, Code::NONE) << answer.message;
        continue;
      }
      EXPECT_EQ(answer.status, Code::INVALID_ARGUMENT) << answer.message;
      // What is wrong with buffers may also be found after the launch.
      if (!(usesTokens && answer.launch == Code::NONE)) {
        EXPECT_EQ(answer.launch, Code::INVALID_ARGUMENT);
      }
      EXPECT_NE(answer.message, "");
      expectNothingReported(answer);
    }
  }
  EXPECT_GE(asked, row.change ? 15u : 10u);
}

INSTANTIATE_TEST_SUITE_P(Rows, RequestTable, ::testing::ValuesIn(kRows), [](const auto& tested) {
  return fmt::format("{}_{}", tested.param.rule, tested.param.what);
});

// Section 4.1, by what the test's device makes of its first input.
struct ReportRow {
  const char* what;
  float first;
  std::optional<std::chrono::seconds> deadline;  // from now on
  Code status;  // from HAL 1.3 on; before, those that came with it are GENERAL_FAILURE
  bool shapes;  // one entry per output is allowed
  bool sufficient;
  bool timing;  // when it is asked for
  HalVersion since = HalVersion::V1_0;
};
const ReportRow kReportRows[] = {
    {"AllGood", 1, {}, Code::NONE, true, true, true},
    {"OutputTooSmall", kTooSmall, {}, Code::OUTPUT_INSUFFICIENT_SIZE, true, false, false},
    {"DriverThrows", kThrow, {}, Code::GENERAL_FAILURE, false, false, false},
    {"DeadlineToCome", 1, std::chrono::seconds(60), Code::NONE, true, true, true, HalVersion::V1_3},
    {"DeadlinePassed", 1, std::chrono::seconds(-1), Code::MISSED_DEADLINE_PERSISTENT, false, false,
     false, HalVersion::V1_3},
};

class ReportTable : public ::testing::TestWithParam<ReportRow> {};

TEST_P(ReportTable, HoldsOnEveryPathOfEveryDriver) {
  const ReportRow& row = GetParam();
  for (const auto& subject : allSubjects()) {
    if (subject->version() < row.since) continue;
    SCOPED_TRACE(subject->name());
    ASSERT_TRUE(subject->prepare(addModel(4)).hasModel);
    // The methods of HAL 1.0 and 1.1 report a status and nothing else.
    const bool tells =
        subject->version() >= HalVersion::V1_2 || (!subject->onTheWire() && !subject->adapts());
    for (const Path path : subject->paths()) {
      for (const bool measure : {false, true}) {
        const SharedMemoryPtr out = memoryOf({0, 0, 0, 0});
        const Request request = poolRequest(memoryOf({row.first, 2, 3, 4, 10, 20, 30, 40}), out);
        ExecuteOptions options;
        options.measureTiming = measure;
        if (row.deadline) options.deadline = Clock::now() + *row.deadline;
        const ExecutionAnswer answer = subject->execute(path, request, options, nullptr);
        EXPECT_EQ(answer.status, row.status) << answer.message;
        EXPECT_EQ(answer.launch, path == Path::ASYNCHRONOUS ? Code::NONE : row.status);
        EXPECT_EQ(answer.message.empty(), row.status == Code::NONE);
        EXPECT_LE(answer.shapes.size(), row.shapes && tells ? 1u : 0u);
        if (row.status == Code::OUTPUT_INSUFFICIENT_SIZE && tells) {
          EXPECT_EQ(answer.shapes.size(), 1u);
        }
        for (const OutputShape& shape : answer.shapes) {
          EXPECT_EQ(shape.isSufficient, row.sufficient);
          EXPECT_EQ(shape.dimensions, Shape{4});
        }
        EXPECT_EQ(answer.timing.timeInDriver.has_value(), row.timing && measure && tells);
        if (answer.timing.timeInDriver && answer.timing.timeOnDevice) {
          EXPECT_LE(*answer.timing.timeOnDevice, *answer.timing.timeInDriver);
        }
        if (row.status == Code::NONE) {
          EXPECT_THAT(contentsOf(*out), ::testing::ElementsAre(11, 22, 33, 44));
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ReportTable, ::testing::ValuesIn(kReportRows),
                         [](const auto& tested) { return tested.param.what; });

}  // namespace
}  // namespace halyard::hal
