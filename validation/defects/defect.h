// Defect: a driver with one error, for the test of the validation kit itself. The kit must find
// every defect, and report where it is.
// Thread safety: constant tables. Several threads may call hooks at once; hooks of the wire run
// only on the loop's thread.
// Ownership: static.
#pragma once

#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "halyard/driver/device.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/mapped_request.h"
#include "validation/defects/interceptor.h"
#include "validation/defects/naive_cache.h"

namespace halyard::defects {

// The data that a defect keeps for a prepared model.
struct KeptOutputs {
  std::mutex mutex;
  std::vector<std::vector<uint8_t>> outputs;  // of the first execution
};

// One execution that has succeeded, before the driver answers its caller.
struct Computed {
  const Model& model;  // as the client sent it
  std::span<const hal::MappedArgument> inputs;
  std::span<const hal::MappedArgument> outputs;
  std::vector<size_t> outputBytes;      // bytes written of each output
  uint64_t number;                      // of the execution in the process; the first is 1
  uint64_t numberOfModel;               // of the execution of this prepared model; the first is 1
  unsigned running;                     // executions at this moment, including this one
  bool isNewest;                        // the model is the last that was prepared
  hal::ExecutionPreference preference;  // of the model's preparation
  KeptOutputs& kept;                    // of the prepared model
  hal::ExecutionResult& result;
};

// The errors of a driver with memory of its own. The personality has "own_memory".
struct MemoryFlaws {
  bool takesCopies = true;    // false: copyFrom changes nothing
  bool givesCopies = true;    // false: copyTo gives the first contents again and again
  bool isSeparate = true;     // false: all buffers are in one memory
  bool outlivesModel = true;  // false: the contents end with the prepared model
};

// How the process behaves after its client is gone.
enum class AtEnd : uint8_t { EXIT, FINISH_WORK, STAY };

struct Defect {
  std::string_view name;
  std::string_view what;   // the driver's behaviour
  std::string_view check;  // AREA/NAME of the kit's checks that find it, with * and ?

  // The personality of the reference driver below the defect, as JSON.
  std::string_view personality = "{}";
  // Hooks. Null: no change.
  void (*info)(hal::DeviceInfo& info) = nullptr;
  void (*model)(Model& model) = nullptr;  // changes the model that is computed
  void (*supported)(const Model& model, hal::SupportedOperations& answers) = nullptr;
  void (*options)(hal::ExecuteOptions& options) = nullptr;
  void (*computed)(Computed& computed) = nullptr;
  void (*prepared)() = nullptr;  // called after a model is prepared
  const CacheFlaws* cache = nullptr;
  const MemoryFlaws* memory = nullptr;
  AtEnd atEnd = AtEnd::EXIT;
  WireHook call = nullptr;    // a call from the client, before it is served
  WireHook answer = nullptr;  // its results, or a callback to the client
};

// Makes results wrong by inverting all outputs' bytes.
void invertOutputs(Computed& c);

// In the order of docs/validation.md.
std::vector<Defect> allDefects();
std::span<const Defect> kernelDefects();
std::span<const Defect> networkDefects();
std::span<const Defect> deviceDefects();
std::span<const Defect> apiDefects();
std::span<const Defect> loadDefects();
std::span<const Defect> wireModelDefects();
std::span<const Defect> wireAnswerDefects();

}  // namespace halyard::defects
