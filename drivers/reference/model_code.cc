#include "model_code.h"

#include "halyard/driver/deadline.h"

namespace halyard::drivers {

Result<std::shared_ptr<const CompiledCode>> ModelCode::get(const hal::ExecuteOptions& options) {
  std::unique_lock lock(mutex_);
  const auto usable = [this] { return code_ != nullptr || !compiling_; };
  if (options.deadline) {
    changed_.wait_until(lock, options.cancel, *options.deadline, usable);
  } else {
    changed_.wait(lock, options.cancel, usable);
  }
  if (code_ != nullptr) return code_;
  HALYARD_RETURN_IF_ERROR(hal::checkMayContinue(options));
  compiling_ = true;
  lock.unlock();
  Result<std::shared_ptr<const CompiledCode>> compiled =
      opFailed("the compiler threw an exception");
  const auto done = [&] {
    lock.lock();
    compiling_ = false;
    changed_.notify_all();
  };
  try {
    compiled = compile_(options);
  } catch (...) {
    done();
    throw;
  }
  done();
  if (!compiled.ok()) return compiled;
  code_ = *compiled;
  compile_ = nullptr;  // not called any more; releases its captures
  return compiled;
}

void ModelCode::replace(CompiledCode better) {
  auto code = std::make_shared<const CompiledCode>(std::move(better));
  const std::lock_guard lock(mutex_);
  code_.swap(code);
}

}  // namespace halyard::drivers
