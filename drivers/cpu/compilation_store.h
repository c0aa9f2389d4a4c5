// CompilationStore: the CPU driver's cache of compilations: what is worth saving is saved, and
// comes back verified. Thread safety: all methods may be called from several threads at once.
// Ownership: owns its CompileCache.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "halyard/driver/compile_cache.h"
#include "saved_compilation.h"

namespace halyard::cpudriver {

class CompilationStore {
 public:
  // What else than the device decides what is compiled: who compiles, and for what processor. What
  // others have saved is a miss.
  struct Maker {
    std::string build;
    std::string processor;
    int simdLevel = 0;

    // This code on this machine.
    static Maker ofThisProcess();
  };

  // `folder`: where the store is; empty: the usual place. `savesAlways`: also what does not pay.
  // Errors as CompileCache::openAtFirstUse.
  static Result<std::unique_ptr<CompilationStore>> open(
      const hal::DeviceInfo& info, const std::string& folder, bool savesAlways,
      const Maker& maker = Maker::ofThisProcess());

  // How many files of each kind a compilation needs.
  static constexpr uint32_t kModelFiles = 1;
  static constexpr uint32_t kDataFiles = 1;

  // Saves what `model` was compiled to in options.cache. OP_FAILED, with the reason, where that
  // cannot be, or does not pay: `took` is what compiling took.
  Status save(const Model& model, const CompiledModel& compiled, const PackingRecorder& recorder,
              const hal::PrepareOptions& options, std::chrono::nanoseconds took);
  // OP_FAILED for whatever is not exactly what was saved last.
  Result<SavedCompilation> load(const hal::PrepareOptions& options);

 private:
  CompilationStore(std::shared_ptr<hal::CompileCache> cache, bool savesAlways)
      : cache_(std::move(cache)), savesAlways_(savesAlways) {}

  const std::shared_ptr<hal::CompileCache> cache_;
  const bool savesAlways_;
};

}  // namespace halyard::cpudriver
