// Cache files on the wire: lists of handles, each with a capability that carries a descriptor.
// Thread safety: loop thread only.
// Ownership: encoding and decoding duplicate descriptors.
#pragma once

#include <kj/async.h>

#include <memory>

#include "hal/core/quota.h"
#include "hal/v1_3.capnp.h"
#include "hal/wire/wire_memory.h"
#include "halyard/driver/hal_types.h"

namespace halyard::hal {

void encodeHandles(const std::vector<UniqueFd>& from, capnp::List<wire::Handle>::Builder to);

// Puts the files and the token into a call's fields. Does nothing for null.
template <typename Call>
void putCacheFiles(const CacheFiles* from, Call& call) {
  if (from == nullptr) return;
  encodeHandles(from->modelCache,
                call.initModelCache(static_cast<unsigned>(from->modelCache.size())));
  encodeHandles(from->dataCache, call.initDataCache(static_cast<unsigned>(from->dataCache.size())));
  call.setToken(kj::arrayPtr(from->token.data(), from->token.size()));
}

// Returns the number of descriptors of a message for the files.
size_t countDescriptors(const CacheFiles* files);

// A call's cache files before their descriptors are resolved. checkToken has checked the form of
// `token`.
struct WireCacheFiles {
  capnp::List<wire::Handle>::Reader modelCache;
  capnp::List<wire::Handle>::Reader dataCache;
  capnp::Data::Reader token;

  template <typename Params>
  static WireCacheFiles of(Params params) {
    return {params.getModelCache(), params.getDataCache(), params.getToken()};
  }
};

// Returns the files with duplicates of their descriptors, invalid for a handle with none or
// several. The number of files per kind is limited, but still shows an excess. Returns null when
// the call has neither files nor a token. Returns RESOURCE_EXHAUSTED when `quota` refuses them; it
// is charged as long as they live.
kj::Promise<Result<std::shared_ptr<const CacheFiles>>> decodeCacheFiles(WireCacheFiles from,
                                                                        Quota& quota);

}  // namespace halyard::hal
