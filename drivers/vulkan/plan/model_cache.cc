#include "plan/model_cache.h"

#include <cstring>

#include "halyard/driver/model_bytes.h"

namespace halyard::vulkandriver {
namespace {

// At the start of the model cache; the device's code and the model's structure follow.
struct Header {
  uint32_t version;
  uint8_t preference;
  uint8_t priority;
  uint8_t unused[2];
  uint64_t codeBytes;
};
constexpr uint32_t kVersion = 1;

}  // namespace

Result<std::unique_ptr<ModelCache>> ModelCache::open(const std::string& driver,
                                                     const std::string& codeIdentity,
                                                     const std::filesystem::path& folder) {
  HALYARD_ASSIGN_OR_RETURN(
      std::shared_ptr<hal::CompileCache> store,
      hal::CompileCache::openAtFirstUse(
          {driver, fmt::format("{} {} {}", hal::CompileCache::buildIdOfThisProgram(),
                               hal::CompileCache::cpuFeatures(), codeIdentity)},
          folder));
  return std::make_unique<ModelCache>(std::move(store));
}

Status ModelCache::save(const Model& model, std::span<const uint8_t> code,
                        const hal::PrepareOptions& options) const {
  HALYARD_ASSIGN_OR_RETURN(ModelBytes bytes, serializeModel(model));
  const Header header = {kVersion,
                         static_cast<uint8_t>(options.preference),
                         static_cast<uint8_t>(options.priority),
                         {},
                         code.size()};
  std::vector<uint8_t> first(sizeof header);
  std::memcpy(first.data(), &header, sizeof header);
  first.insert(first.end(), code.begin(), code.end());
  first.insert(first.end(), bytes.structure.begin(), bytes.structure.end());
  return store_->save(*options.cache, {{std::move(first)}, {std::move(bytes.values)}},
                      options.clientUid);
}

Result<SavedModel> ModelCache::load(const hal::PrepareOptions& options) const {
  HALYARD_ASSIGN_OR_RETURN(const hal::CompileCache::Loaded loaded,
                           store_->loadInPlace(*options.cache, options.clientUid));
  if (loaded.model.size() != 1 || loaded.data.size() != 1) {
    return opFailed("{} and {} cache files, expected 1 and 1", loaded.model.size(),
                    loaded.data.size());
  }
  std::span<const uint8_t> bytes = loaded.model[0].bytes();
  Header header = {};
  if (bytes.size() < sizeof header) return opFailed("{} bytes of a saved model", bytes.size());
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.subspan(sizeof header);
  if (header.version != kVersion || header.codeBytes > bytes.size() || header.preference > 2 ||
      header.priority > 2) {
    return opFailed("the saved model has version {} and {} bytes of code in {}", header.version,
                    header.codeBytes, bytes.size());
  }
  const std::span<const uint8_t> code = bytes.first(static_cast<size_t>(header.codeBytes));
  auto model = parseModel(bytes.subspan(code.size()), loaded.data[0].bytes());
  if (!model.ok()) return model.takeStatus().withCode(ResultCode::OP_FAILED);
  return SavedModel{std::move(*model),
                    {code.begin(), code.end()},
                    static_cast<hal::ExecutionPreference>(header.preference),
                    static_cast<hal::Priority>(header.priority)};
}

}  // namespace halyard::vulkandriver
