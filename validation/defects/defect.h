// Defect: a driver that is wrong in one way, for the test of the validation kit itself: the kit has
// to find every one, and say where.
// Thread safety: constant tables; hooks may be called from several threads at once, those of the
// wire on the loop's thread only. Ownership: static.
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

// What a defect keeps for a prepared model.
struct KeptOutputs {
  std::mutex mutex;
  std::vector<std::vector<uint8_t>> outputs;  // of the first execution
};

// One execution that has succeeded, before its caller is told.
struct Computed {
  const Model& model;  // as the client sent it
  std::span<const hal::MappedArgument> inputs;
  std::span<const hal::MappedArgument> outputs;
  std::vector<size_t> outputBytes;      // what was written of each
  uint64_t number;                      // of the execution, in the process, from 1 on
  uint64_t numberOfModel;               // the same, among those of the prepared model
  unsigned running;                     // executions at this moment, this one included
  bool isNewest;                        // of the models that were prepared
  hal::ExecutionPreference preference;  // that the model was prepared with
  KeptOutputs& kept;                    // of the prepared model
  hal::ExecutionResult& result;
};

// What the process does when its client has gone.
enum class AtEnd : uint8_t { EXIT, FINISH_WORK, STAY };

struct Defect {
  std::string_view name;
  std::string_view what;  // what the driver does
  std::string_view area;  // of the kit, which has to find it

  // The reference driver's personality on which all else stands, as JSON.
  std::string_view personality = "{}";
  // Hooks; null: nothing is changed.
  void (*info)(hal::DeviceInfo& info) = nullptr;
  void (*model)(Model& model) = nullptr;  // what is computed instead
  void (*supported)(const Model& model, std::vector<bool>& answers) = nullptr;
  void (*options)(hal::ExecuteOptions& options) = nullptr;
  void (*computed)(Computed& computed) = nullptr;
  void (*prepared)() = nullptr;  // a model has been prepared
  const CacheFlaws* cache = nullptr;
  AtEnd atEnd = AtEnd::EXIT;
  WireHook call = nullptr;    // a call from the client, before it is served
  WireHook answer = nullptr;  // its results, or a callback to the client
};

// Makes results wrong.
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
