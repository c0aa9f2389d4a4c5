// Calls with cache files and tokens that every driver must answer, even if it caches nothing.
#include "validation/vts/cache_files.h"
#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

CheckResult unsupported(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  if (facts.modelCacheFiles + facts.dataCacheFiles > 0) {
    return CheckResult::skipped("the driver caches compilations");
  }
  for (const uint32_t count : {0u, 1u}) {
    HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, MemoryFiles::make(count, count));
    HALYARD_ASSIGN_OR_RETURN(const Preparation prepared,
                             client.prepareFromCache(method, files.open(newToken())));
    HALYARD_RETURN_IF_ERROR(expectRefusedAtLaunch(prepared, {Code::GENERAL_FAILURE}),
                            "with {} files of each kind", count);
  }
  return okStatus();
}

// A model is prepared with any number of handles, and with any content.
CheckResult anyHandles(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip able,
                           prepareIfSupported(client, method, addModel(4)));
  if (able.model == nullptr) return CheckResult::skipped(able.skip);
  for (const auto& [models, datas] : {std::pair(0, 0), std::pair(1, 0), std::pair(0, 1),
                                      std::pair(1, 1), std::pair(2, 1), std::pair(3, 40)}) {
    for (const size_t descriptors : {0, 1, 2}) {
      CacheHandles handles;
      handles.token = newToken();
      handles.modelCache.assign(static_cast<size_t>(models), CacheHandle(descriptors, -1));
      handles.dataCache.assign(static_cast<size_t>(datas), CacheHandle(descriptors, -1));
      PrepareCall call;
      call.cache = &handles;
      HALYARD_ASSIGN_OR_RETURN(const Preparation prepared,
                               client.prepare(method, addModel(4), call));
      HALYARD_RETURN_IF_ERROR(expectPrepared(prepared), "with {} and {} handles of {} descriptors",
                              models, datas, descriptors);
      HALYARD_RETURN_IF_ERROR(runsAdd(client, method, prepared.model, 4));
    }
  }
  return okStatus();
}

// A token has 32 bytes. A token that is left out is all zero.
CheckResult tokenLength(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip able,
                           prepareIfSupported(client, method, addModel(4)));
  if (able.model == nullptr) return CheckResult::skipped(able.skip);
  const auto expectText = [](const Preparation& answer) {
    if (answer.message.find("32") != std::string::npos) return okStatus();
    return opFailed("\"{}\" does not say that a token has 32 bytes", answer.message);
  };
  for (const size_t bytes : {1, 5, 31, 33}) {
    HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, MemoryFiles::make(1, 1));
    CacheHandles handles = files.open(newToken());
    handles.tokenBytes = bytes;
    PrepareCall call;
    call.cache = &handles;
    HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, client.prepare(method, addModel(4), call));
    HALYARD_RETURN_IF_ERROR(expectRefusedAtLaunch(prepared, {Code::INVALID_ARGUMENT}),
                            "prepared with a token of {} bytes", bytes);
    HALYARD_RETURN_IF_ERROR(expectText(prepared));
    HALYARD_ASSIGN_OR_RETURN(const Preparation loaded, client.prepareFromCache(method, handles));
    HALYARD_RETURN_IF_ERROR(expectRefusedAtLaunch(loaded, {Code::INVALID_ARGUMENT}),
                            "loaded with a token of {} bytes", bytes);
    HALYARD_RETURN_IF_ERROR(expectText(loaded));
  }
  CacheHandles none;
  none.tokenBytes = 0;
  PrepareCall call;
  call.cache = &none;
  HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, client.prepare(method, addModel(4), call));
  return expectPrepared(prepared);
}

CheckResult nullCacheCallback(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, MemoryFiles::make(1, 1));
  HALYARD_ASSIGN_OR_RETURN(
      const Preparation prepared,
      client.prepareFromCache(method, files.open(newToken()), std::nullopt, true));
  HALYARD_RETURN_IF_ERROR(expectCode("launch without a callback", prepared.launch,
                                     {Code::INVALID_ARGUMENT}, prepared.message));
  return client.roundTrip();
}

}  // namespace

void listCacheCallChecks(HalChecks& checks) {
  const HalVersion since = HalVersion::V1_2;
  checks.addForVersions(since, "cache/unsupported",
                        "a driver that does not cache answers GENERAL_FAILURE", {}, unsupported);
  checks.addForVersions(since, "cache/any_handles",
                        "handles without files keep no model from being prepared", {"ND-070"},
                        anyHandles);
  checks.addForVersions(since, "cache/token_length", "a token of other than 32 bytes is refused",
                        {}, tokenLength);
  checks.addForVersions(since, "cache/null_callback",
                        "loading without a callback is refused with INVALID_ARGUMENT", {},
                        nullCacheCallback);
}

}  // namespace halyard::validation
