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

// Puts the files and the token into a call that has fields for them; nothing for null.
template <typename Call>
void putCacheFiles(const CacheFiles* from, Call& call) {
  if (from == nullptr) return;
  encodeHandles(from->modelCache,
                call.initModelCache(static_cast<unsigned>(from->modelCache.size())));
  encodeHandles(from->dataCache, call.initDataCache(static_cast<unsigned>(from->dataCache.size())));
  call.setToken(kj::arrayPtr(from->token.data(), from->token.size()));
}

// How many descriptors of their own the files need in a message.
size_t countDescriptors(const CacheFiles* files);

// What a call says of cache files, before their descriptors have been looked for. `token` has been
// checked for its form (checkToken).
struct WireCacheFiles {
  capnp::List<wire::Handle>::Reader modelCache;
  capnp::List<wire::Handle>::Reader dataCache;
  capnp::Data::Reader token;

  template <typename Params>
  static WireCacheFiles of(Params params) {
    return {params.getModelCache(), params.getDataCache(), params.getToken()};
  }
};

// The files with duplicates of their descriptors, an invalid one for a handle that has none or
// several; no more of a kind than tells that they are too many. Null when the call has neither
// files nor a token. RESOURCE_EXHAUSTED when `quota`, which they are charged to for as long as they
// live, does not allow them.
kj::Promise<Result<std::shared_ptr<const CacheFiles>>> decodeCacheFiles(WireCacheFiles from,
                                                                        Quota& quota);

}  // namespace halyard::hal
