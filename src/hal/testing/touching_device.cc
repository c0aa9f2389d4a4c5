#include "hal/testing/touching_device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "halyard/driver/model_bytes.h"

namespace halyard::hal::testing {
namespace {

// The distance of the touched bytes. It is smaller than a page, so each missing page is detected.
constexpr size_t kStep = 1024;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "the server let through: %s\n", what);
  std::abort();
}

void readAll(const uint8_t* bytes, size_t size) {
  volatile uint8_t sink = 0;
  for (size_t i = 0; i < size; i += kStep) sink = bytes[i];
  if (size != 0) sink = bytes[size - 1];
  (void)sink;
}

void writeAll(uint8_t* bytes, size_t size) {
  for (size_t i = 0; i < size; i += kStep) bytes[i] = 0xff;
  if (size != 0) bytes[size - 1] = 0xff;
}

Status touchConstants(const Model& model, const Subgraph& subgraph) {
  for (const Operand& operand : subgraph.operands) {
    const DataLocation& at = operand.location;
    const uint64_t end = uint64_t{at.offset} + at.length;
    if (operand.lifetime == Lifetime::CONSTANT_COPY) {
      require(end <= model.operandValues.size(), "a constant outside operandValues");
      readAll(model.operandValues.data() + at.offset, at.length);
    } else if (operand.lifetime == Lifetime::CONSTANT_REFERENCE && at.length != 0) {
      require(at.poolIndex < model.pools.size(), "a constant in no pool");
      const SharedMemoryPtr& pool = model.pools[at.poolIndex];
      require(end <= pool->size(), "a constant outside its pool");
      require((pool->prot() & PROT_READ) != 0, "a constant that may not be read");
      HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, pool->mapped());
      readAll(mapping->data() + at.offset, at.length);
    } else if (operand.lifetime == Lifetime::SUBGRAPH) {
      require(at.offset < model.referenced.size(), "a reference to no subgraph");
    }
  }
  return okStatus();
}

Status touchArgument(const Request& request, const RequestArgument& argument, bool isOutput) {
  if (argument.kind == RequestArgument::Kind::NO_VALUE) return okStatus();
  if (argument.kind == RequestArgument::Kind::POINTER) {
    require(argument.pointer != nullptr, "a null pointer");
    auto* const bytes = static_cast<uint8_t*>(argument.pointer);
    isOutput ? writeAll(bytes, argument.length) : readAll(bytes, argument.length);
    return okStatus();
  }
  const DataLocation& at = argument.location;
  require(at.poolIndex < request.pools.size(), "an argument in no pool");
  const auto* const memory = std::get_if<SharedMemoryPtr>(&request.pools[at.poolIndex]);
  require(memory != nullptr, "a token");
  require(((*memory)->prot() & (isOutput ? PROT_WRITE : PROT_READ)) != 0, "a pool without right");
  if ((*memory)->kind() == MemoryKind::HARDWARE_BUFFER) {
    require(at.offset == 0 && at.length == 0, "a part of an image");
    HALYARD_ASSIGN_OR_RETURN(const Mapping mapping, (*memory)->mapHardwareBuffer());
    isOutput ? writeAll(mapping.data(), mapping.size()) : readAll(mapping.data(), mapping.size());
    return okStatus();
  }
  require(uint64_t{at.offset} + at.length <= (*memory)->size(), "an argument outside its pool");
  HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, (*memory)->mapped());
  uint8_t* const bytes = mapping->data() + at.offset;
  isOutput ? writeAll(bytes, at.length) : readAll(bytes, at.length);
  return okStatus();
}

class TouchingPreparedModel final : public PreparedModel {
 public:
  explicit TouchingPreparedModel(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  ExecutionResult executeSynchronously(const Request& request, const ExecuteOptions&) override {
    ExecutionResult result;
    result.status = run(request);
    return result;
  }

 private:
  Status run(const Request& request) {
    require(request.inputs.size() == model_->main.inputIndexes.size(), "a wrong number of inputs");
    require(request.outputs.size() == model_->main.outputIndexes.size(),
            "a wrong number of outputs");
    HALYARD_RETURN_IF_ERROR(touchConstants(*model_, model_->main));
    for (const RequestArgument& input : request.inputs) {
      HALYARD_RETURN_IF_ERROR(touchArgument(request, input, false));
    }
    for (const RequestArgument& output : request.outputs) {
      HALYARD_RETURN_IF_ERROR(touchArgument(request, output, true));
    }
    return okStatus();
  }

  const std::shared_ptr<const Model> model_;
};

constexpr size_t kMostBytesLoaded = 1 << 16;

void touchFile(const UniqueFd& file) {
  struct stat st {};
  require(::fstat(file.get(), &st) == 0 && S_ISREG(st.st_mode), "a cache file that is none");
  require((::fcntl(file.get(), F_GETFL) & O_ACCMODE) == O_RDWR, "a cache file without right");
}

void touchFiles(const DeviceInfo& info, const CacheFiles& files, bool mayBeEarlyForm) {
  const bool none = files.modelCache.empty() && files.dataCache.empty();
  const bool early = mayBeEarlyForm && files.modelCache.size() == 1 && files.dataCache.size() == 1;
  require((none && !mayBeEarlyForm) || early ||
              (files.modelCache.size() == info.modelCacheFiles &&
               files.dataCache.size() == info.dataCacheFiles),
          "a wrong number of cache files");
  for (const UniqueFd& file : files.modelCache) touchFile(file);
  for (const UniqueFd& file : files.dataCache) touchFile(file);
}

void saveBytes(const UniqueFd& file, const std::vector<uint8_t>& bytes) {
  if (bytes.size() > kMostBytesLoaded || ::ftruncate(file.get(), 0) != 0) return;
  (void)!::pwrite(file.get(), bytes.data(), bytes.size(), 0);
}

std::vector<uint8_t> loadBytes(const UniqueFd& file) {
  std::vector<uint8_t> bytes(kMostBytesLoaded);
  const ssize_t length = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(length > 0 ? static_cast<size_t>(length) : 0);
  return bytes;
}

}  // namespace

TouchingDevice::TouchingDevice() {
  info_.name = "touching-device";
  info_.versionString = "1";
  info_.featureLevel = FeatureLevel::FL8;
  info_.type = DeviceType::CPU;
  info_.capabilities = Capabilities::uniform({1.0f, 1.0f});
  info_.modelCacheFiles = 1;
  info_.dataCacheFiles = 2;
}

Result<SupportedOperations> TouchingDevice::getSupportedOperations(const ValidModel& model) {
  return SupportedOperations(model->main.operations.size(), true);
}

Result<std::shared_ptr<PreparedModel>> TouchingDevice::prepareModel(const ValidModel& model,
                                                                    const PrepareOptions& options) {
  HALYARD_RETURN_IF_ERROR(touchConstants(*model, model->main));
  for (const Subgraph& subgraph : model->referenced) {
    HALYARD_RETURN_IF_ERROR(touchConstants(*model, subgraph));
  }
  if (options.cache != nullptr) {
    touchFiles(info_, *options.cache, false);
    const auto bytes = serializeModel(*model);
    if (bytes.ok() && !options.cache->modelCache.empty()) {
      saveBytes(options.cache->modelCache[0], bytes->structure);
      saveBytes(options.cache->dataCache[0], bytes->values);
    }
  }
  return std::shared_ptr<PreparedModel>(std::make_shared<TouchingPreparedModel>(model.share()));
}

Result<CachedModel> TouchingDevice::prepareModelFromCache(const std::optional<ValidModel>&,
                                                          const PrepareOptions& options) {
  require(options.cache != nullptr, "a model from no cache");
  touchFiles(info_, *options.cache, true);
  CachedModel cached;
  HALYARD_ASSIGN_OR_RETURN(
      const ValidModel saved,
      parseModel(loadBytes(options.cache->modelCache[0]), loadBytes(options.cache->dataCache[0])));
  cached.interface = saved.share();
  cached.prepared = std::make_shared<TouchingPreparedModel>(cached.interface);
  return cached;
}

}  // namespace halyard::hal::testing
