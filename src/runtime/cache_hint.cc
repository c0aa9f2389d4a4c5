// A hint is "halyard hint 1 N\n": the last N starts have saved nothing. It is written over the one
// before, which has the same length; who reads anything else has no hint.
#include "runtime/cache_hint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "base/sha256.h"

namespace halyard::runtime {
namespace {

constexpr int kSafely = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

bool isOwnFile(const struct stat& st) {
  return S_ISREG(st.st_mode) && st.st_uid == ::geteuid() && st.st_nlink == 1;
}

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
    : preference_(preference) {
  path_ = request.folder + ".halyard-hint-";
  const Digest digest = digestOf(request, model, devices, preference, priority);
  for (const uint8_t byte : std::span(digest).first<16>()) path_ += fmt::format("{:02x}", byte);
}

uint32_t CacheHint::uselessStarts() const {
  const UniqueFd fd(::open(path_.c_str(), O_RDONLY | kSafely));
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || !isOwnFile(st)) return 0;
  const int64_t age = std::time(nullptr) - st.st_mtime;
  if (age < 0 || age > std::chrono::seconds(kHintAge).count()) return 0;
  std::array<char, 64> text{};  // ends in a NUL
  if (::read(fd.get(), text.data(), text.size() - 1) <= 0) return 0;
  uint32_t starts = 0;
  char end = 0;
  const int found = std::sscanf(text.data(), "halyard hint 1 %" SCNu32 "%c", &starts, &end);
  return found == 2 && end == '\n' ? starts : 0;
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
  if (!useless) {
    if (before > 0) (void)::unlink(path_.c_str());
    return;
  }
  const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CREAT | kSafely, S_IRUSR | S_IWUSR));
  struct stat st {};
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0 || !isOwnFile(st)) return;
  const std::string text =
      fmt::format("halyard hint 1 {}\n", std::min(before + 1, kMostUselessStarts));
  // In place: cutting a file off takes some file systems a millisecond.
  const auto size = static_cast<ssize_t>(text.size());
  if (::pwrite(fd.get(), text.data(), text.size(), 0) == size && st.st_size > size) {
    (void)!::ftruncate(fd.get(), size);
  }
}

}  // namespace halyard::runtime
