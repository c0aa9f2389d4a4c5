// Personality: deviations of the reference driver from good behaviour: old, limited, slow, faulty.
// docs/reference_driver.md describes the fields of the file.
// Thread safety: plain data.
// Ownership: owns its tables.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "halyard/driver/hal_types.h"

namespace halyard::drivers {

using Milliseconds = std::chrono::duration<double, std::milli>;

// The operations that the device supports, among those that it can run. An absent list allows all.
struct SupportRule {
  std::optional<std::set<OperationType>> operations;
  std::set<OperationType> notOperations;
  // The types of every operand that the operation reads or writes.
  std::optional<std::set<OperandType>> operandTypes;
  std::set<OperandType> notOperandTypes;
  // The type of one input: the first, unless `decidingInput` has another for the operation.
  std::optional<std::set<OperandType>> decidingTypes;
  std::map<OperationType, uint32_t> decidingInput;
};

struct Delays {
  Milliseconds start{0};
  Milliseconds getSupportedOperations{0};
  Milliseconds prepare{0};
  Milliseconds execute{0};
  // For a model that does not come from the cache. In MULTI_STAGE, the background needs it again.
  Milliseconds compile{0};
  Milliseconds optimise{0};
  Milliseconds quickExecute{0};  // in addition to `execute`, until the optimised code is ready
  Milliseconds load{0};
  Milliseconds save{0};
  // For each operation of the main subgraph, in every execution.
  std::map<OperationType, Milliseconds> operations;
};

enum class CompileMode : uint8_t {
  EAGER,         // when the model is prepared
  JUST_IN_TIME,  // at the first execution
  MULTI_STAGE,   // quickly when the model is prepared, then better in the background
};
// The number of cache files is in the DeviceInfo.
struct CacheBehaviour {
  CompileMode mode = CompileMode::EAGER;
  bool declines = false;      // neither saves nor loads
  bool savesGarbage = false;  // and records it as its own
  std::string folder;         // of the store; empty: CompileCache::defaultFolder
};

enum class FaultPoint : uint8_t {
  START,
  GET_SUPPORTED_OPERATIONS,
  PREPARE,
  EXECUTE,
  RELEASE,
  PREPARE_FROM_CACHE,
  SAVE,
};
// BEFORE: before the work. WORK: after the work, before the answer. ANSWER: after the answer.
enum class FaultMoment : uint8_t { BEFORE, WORK, ANSWER };
enum class FaultAction : uint8_t {
  FAIL,          // answers `status` and `text`
  THROW,         // throws an exception with `text`
  CRASH,         // SIGSEGV
  ABORT,         // SIGABRT
  KILL,          // SIGKILL
  EXIT,          // `exitStatus`
  STOP,          // SIGSTOP: the process stops until it is continued or killed
  HANG,          // the call never returns; deadlines and cancellation are ignored
  WRONG_RESULT,  // every byte of every output inverted
};

struct Fault {
  FaultPoint at = FaultPoint::EXECUTE;
  FaultMoment when = FaultMoment::BEFORE;
  FaultAction action = FaultAction::FAIL;
  std::optional<OperationType> operation;  // only for models that have it
  uint64_t nth = 1;                        // the first call that it affects, of those it could
  uint64_t times = UINT64_MAX;             // how many calls in a row
  ResultCode status = ResultCode::OP_FAILED;
  std::string text;
  int exitStatus = 1;
  Milliseconds delay{0};  // with ANSWER: how long after it
};

struct Personality {
  hal::DeviceInfo info;
  hal::DeviceStatus status = hal::DeviceStatus::AVAILABLE;
  unsigned threads = 0;  // 0: as many as there are processors
  bool reportsTiming = true;
  SupportRule support;
  Delays delays;
  CacheBehaviour cache;
  std::vector<Fault> faults;
  // By operation, the share by which each value that it computes is too large; see WrongValues.
  std::map<OperationType, double> wrongValues;
};

// The reference driver without a personality of its own.
Personality defaultPersonality();

// Reads a personality over the default one. BAD_DATA names the field, its value and the expected
// value. Unknown fields and repeated fields are errors.
Result<Personality> parsePersonality(std::string_view json);
// The same from a file of at most 1 MiB; errors name it.
Result<Personality> loadPersonality(const std::string& path);

}  // namespace halyard::drivers
