// ModelCode: the code that a prepared model of the reference driver computes with. It may come
// late, and better code may replace it.
// Thread safety: all methods may be called from several threads at once.
// Ownership: shared by the prepared model and its compilers.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>

#include "halyard/driver/device.h"
#include "personality.h"
#include "saved_model.h"

namespace halyard::drivers {

// One result of the compiler. An execution uses the same result from begin to end.
struct CompiledCode {
  std::shared_ptr<hal::PreparedModel> cpu;
  Stage stage = Stage::OPTIMISED;
};

class ModelCode {
 public:
  // Compiles the code at its first use. `options`: of the execution that needs it.
  using Compile = std::function<Result<std::shared_ptr<const CompiledCode>>(
      const hal::ExecuteOptions& options)>;

  explicit ModelCode(CompiledCode ready)
      : code_(std::make_shared<const CompiledCode>(std::move(ready))) {}
  explicit ModelCode(Compile compile) : compile_(std::move(compile)) {}

  // The best code so far. Without any code, one caller compiles and the others wait, as long as
  // their deadlines and cancellations allow. If it fails, the next of them compiles.
  Result<std::shared_ptr<const CompiledCode>> get(const hal::ExecuteOptions& options);
  // Sets the code of executions that begin from now on.
  void replace(CompiledCode better);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<const CompiledCode> code_;
  Compile compile_;
  bool compiling_ = false;
};

}  // namespace halyard::drivers
