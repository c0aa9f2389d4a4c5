#include "compilation_store.h"

#include <utility>

#include "halyard/driver/trace.h"
#include "ops/simd.h"

namespace halyard::cpudriver {
namespace {

using hal::CompileCache;

// The most that loading may take of what compiling does: what gains less is not saved.
constexpr double kMostOfCompiling = 0.3;

CompileCache::Identity identityOf(const hal::DeviceInfo& info,
                                  const CompilationStore::Maker& maker) {
  return {info.name, fmt::format("{} {} {} SIMD level {}", maker.build, maker.processor,
                                 info.versionString, maker.simdLevel)};
}

}  // namespace

CompilationStore::Maker CompilationStore::Maker::ofThisProcess() {
  // Wherever this code is: in the driver's executable, or in a library.
  static const char here = 0;
  return {CompileCache::buildIdOf(&here), CompileCache::cpuFeatures(),
          static_cast<int>(ops::simdLevel())};
}

Result<std::unique_ptr<CompilationStore>> CompilationStore::open(const hal::DeviceInfo& info,
                                                                 const std::string& folder,
                                                                 bool savesAlways,
                                                                 const Maker& maker) {
  HALYARD_ASSIGN_OR_RETURN(auto cache,
                           CompileCache::openAtFirstUse(identityOf(info, maker), folder));
  return std::unique_ptr<CompilationStore>(new CompilationStore(std::move(cache), savesAlways));
}

Status CompilationStore::save(const Model& model, const CompiledModel& compiled,
                              const PackingRecorder& recorder, const hal::PrepareOptions& options,
                              std::chrono::nanoseconds took) {
  uint64_t bytes = 0;
  for (const PackedPiece& piece : recorder.pieces()) bytes += piece.bytes;
  const std::chrono::nanoseconds load = CompileCache::expectedLoad(bytes);
  if (!savesAlways_ && load > kMostOfCompiling * took) {
    return opFailed("compiling took {:.2f} ms, and loading {} bytes would take about {:.2f} ms",
                    1e-6 * static_cast<double>(took.count()), bytes,
                    1e-6 * static_cast<double>(load.count()));
  }
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION, "save");
  HALYARD_ASSIGN_OR_RETURN(const CompileCache::Content content,
                           packCompilation(model, compiled, recorder, options));
  return cache_->save(*options.cache, content, options.clientUid);
}

Result<SavedCompilation> CompilationStore::load(const hal::PrepareOptions& options) {
  const trace::Scope mark(trace::Layer::DRIVER, trace::Phase::COMPILATION, "load");
  HALYARD_ASSIGN_OR_RETURN(const CompileCache::Loaded loaded,
                           cache_->loadInPlace(*options.cache, options.clientUid));
  if (loaded.model.size() != kModelFiles || loaded.data.size() != kDataFiles) {
    return opFailed("{} model and {} data files", loaded.model.size(), loaded.data.size());
  }
  return unpackCompilation(loaded.model[0].bytes(), loaded.data[0].bytes(), loaded.data[0].memory);
}

}  // namespace halyard::cpudriver
