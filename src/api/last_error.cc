// The error text of each thread, and the function table for libhalyard.so.
#include "api/last_error.h"

#include <atomic>
#include <cstring>
#include <string>

#include "api/caching.h"
#include "api/implementation.h"
#include "api/objects.h"
#include "api/shadow.h"
#include "api/trace.h"
#include "base/thread_owned.h"
#include "runtime/report/report_json.h"

namespace halyard::api {
namespace {

// The code of the thread's last call. A successful call writes only this code. It needs no
// constructor, unlike the text.
thread_local int lastCode = ANEURALNETWORKS_NO_ERROR;

std::string& lastText() { return threadOwned<std::string, struct LastText>(); }

const char* lastErrorText() {
  return lastCode == ANEURALNETWORKS_NO_ERROR ? "" : lastText().c_str();
}
int lastErrorCode() { return lastCode; }

int deviceProcessId(const ANeuralNetworksDevice* device, int64_t* pid) {
  const runtime::Device* found = deviceManager().find(device);
  if (found == nullptr) return ANEURALNETWORKS_BAD_DATA;
  *pid = found->hal().processId();
  return ANEURALNETWORKS_NO_ERROR;
}

int devicesJson(char** json) {
  *json = ::strdup(deviceManager().json().c_str());
  return *json ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
}

int compilationReport(const ANeuralNetworksCompilation* compilation, char** json) {
  if (!compilation->madeIn.isOfThisProcess()) return ANEURALNETWORKS_BAD_STATE;
  *json = ::strdup(runtime::reportJson(*compilation->impl->report()).c_str());
  return *json ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
}

}  // namespace

void registerImplementation() {
  static constinit const halyard_Implementation table = {sizeof(halyard_Implementation),
                                                         lastErrorText,
                                                         lastErrorCode,
                                                         deviceProcessId,
                                                         devicesJson,
                                                         compilationReport,
                                                         deviceCacheFiles,
                                                         setCachingFromFds,
                                                         traceStart,
                                                         traceStop,
                                                         traceJson,
                                                         compilationProfile,
                                                         traceBegin,
                                                         traceEnd,
                                                         setShadow};
  static constinit std::atomic<bool> isRegistered = false;
  if (isRegistered.load(std::memory_order_relaxed)) return;
  halyard_private_registerImplementation(&table);
  isRegistered.store(true, std::memory_order_relaxed);
}

int setLastError(const char* function, const Status& status) {
  registerImplementation();
  lastCode = static_cast<int>(status.code());
  if (!status.ok()) lastText() = fmt::format("{}: {}", function, status.message());
  return lastCode;
}

}  // namespace halyard::api
