// A hint is the note "N": the last N starts have saved nothing.
#include "runtime/cache/cache_hint.h"

#include <algorithm>
#include <charconv>

#include "base/sha256.h"

namespace halyard::runtime {
namespace {

Digest digestOf(const CachingRequest& request, const Model& model,
                std::span<const Device* const> devices, hal::ExecutionPreference preference,
                hal::Priority priority) {
  Sha256 sha;
  sha.addText("halyard hint 1").addText(HALYARD_VERSION).add(request.token);
  sha.addText(processorText());
  sha.addNumber(static_cast<uint64_t>(preference)).addNumber(static_cast<uint64_t>(priority));
  sha.addNumber(devices.size());
  for (const Device* device : devices) {
    const hal::DeviceInfo& info = device->info();
    sha.addText(info.name).addText(info.versionString);
    sha.addNumber(info.modelCacheFiles).addNumber(info.dataCacheFiles);
  }
  sha.addNumber(model.main.operands.size()).addNumber(model.main.operations.size());
  sha.addNumber(model.referenced.size()).addNumber(model.operandValues.size());
  sha.addNumber(model.pools.size());
  for (const SharedMemoryPtr& pool : model.pools) sha.addNumber(pool->size());
  for (const uint32_t input : model.main.inputIndexes) {
    for (const uint32_t length : model.main.operands[input].dimensions) sha.addNumber(length);
  }
  return sha.finish();
}

}  // namespace

CacheHint::CacheHint(const CachingRequest& request, const Model& model,
                     std::span<const Device* const> devices, hal::ExecutionPreference preference,
                     hal::Priority priority)
    : preference_(preference),
      note_(request.folder, "hint", digestOf(request, model, devices, preference, priority)) {}

uint32_t CacheHint::uselessStarts() const {
  const std::optional<std::string> text = note_.read();
  if (!text) return 0;
  uint32_t starts = 0;
  const char* const end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data(), end, starts);
  return error == std::errc() && at == end ? starts : 0;
}

std::string CacheHint::whyNot() const {
  if (uselessStarts() < kMostUselessStarts) return {};
  return fmt::format(
      "in the last {} starts that could have, no driver has saved anything of such a model; it is "
      "tried again after a day",
      kMostUselessStarts);
}

void CacheHint::learn(const Plan& plan) const {
  const auto isUseless = [this](const ComputeStep& step) {
    return step.device->isCpu() || !hal::savesFor(step.device->info(), preference_) ||
           (step.cache.state == CacheRecord::State::MISS && step.cache.bytesWritten == 0);
  };
  const bool useless = std::ranges::all_of(plan.steps, isUseless) &&
                       std::ranges::any_of(plan.steps, [](const ComputeStep& step) {
                         return step.cache.state == CacheRecord::State::MISS;
                       });
  const uint32_t before = uselessStarts();
  if (useless) {
    note_.write(fmt::format("{}", std::min(before + 1, kMostUselessStarts)));
  } else if (before > 0) {
    note_.remove();
  }
}

}  // namespace halyard::runtime
