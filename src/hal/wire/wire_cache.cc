#include "hal/wire/wire_cache.h"

#include <algorithm>

#include "base/foreign_fd.h"
#include "halyard/driver/constants.h"

namespace halyard::hal {
namespace {

// One more than the maximum number of files of a kind for any driver, so that the number is wrong
// in any case.
constexpr unsigned kMostHandles = 33;

struct ChargedFiles {
  ChargedFiles() = default;
  ChargedFiles(const ChargedFiles&) = delete;
  ChargedFiles& operator=(const ChargedFiles&) = delete;
  ~ChargedFiles() {
    for (auto* const list : {&files.modelCache, &files.dataCache}) {
      for (UniqueFd& fd : *list) ForeignFd(std::move(fd)).reset();
    }
  }

  CacheFiles files;
  Quota::Charge descriptors;
};

}  // namespace

void encodeHandles(const std::vector<UniqueFd>& from, capnp::List<wire::Handle>::Builder to) {
  for (unsigned i = 0; i < to.size(); ++i) {
    KJ_IF_MAYBE (file, encodeFile(from[i].get())) to[i].initFds(1).set(0, kj::mv(*file));
  }
}

size_t countDescriptors(const CacheFiles* files) {
  return files == nullptr ? 0 : files->modelCache.size() + files->dataCache.size();
}

kj::Promise<Result<std::shared_ptr<const CacheFiles>>> decodeCacheFiles(WireCacheFiles from,
                                                                        Quota& quota) {
  using Decoded = Result<std::shared_ptr<const CacheFiles>>;
  const unsigned models = std::min(from.modelCache.size(), kMostHandles);
  const unsigned data = std::min(from.dataCache.size(), kMostHandles);
  auto charged = std::make_shared<ChargedFiles>();
  Token& token = charged->files.token;
  if (from.token.size() == token.size()) {
    std::copy(from.token.begin(), from.token.end(), token.begin());
  }
  if (models + data == 0 && token == Token{}) return Decoded(nullptr);
  Result<Quota::Charge> charge = quota.charge(Quota::Resource::DESCRIPTORS, models + data);
  if (!charge.ok()) return Decoded(charge.takeStatus());
  charged->descriptors = std::move(*charge);
  auto fds = kj::heapArrayBuilder<kj::Promise<ForeignFd>>(models + data);
  for (unsigned i = 0; i < models; ++i) fds.add(decodeHandle(from.modelCache[i]));
  for (unsigned i = 0; i < data; ++i) fds.add(decodeHandle(from.dataCache[i]));
  return kj::joinPromises(fds.finish()).then([charged, models](kj::Array<ForeignFd> opened) {
    for (size_t i = 0; i < opened.size(); ++i) {
      auto& list = i < models ? charged->files.modelCache : charged->files.dataCache;
      list.emplace_back(opened[i].release());
    }
    return Decoded(std::shared_ptr<const CacheFiles>(charged, &charged->files));
  });
}

}  // namespace halyard::hal
