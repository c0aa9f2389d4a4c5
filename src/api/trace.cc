// Implements traces as documents, and slices of the application.
#include "api/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "api/objects.h"
#include "base/environment.h"
#include "base/log.h"
#include "base/process_generation.h"
#include "runtime/compile/compilation_profile.h"
#include "trace/timeline.h"
#include "trace/trace_collection.h"
#include "trace/trace_json.h"

namespace halyard::api {
namespace {

using trace::TraceCollection;

// The slices that the application has begun on this thread.
struct OwnSlices {
  static constexpr size_t kMost = 32;
  struct Slice {
    uint64_t begin = 0;  // 0: no trace was running
    trace::Phase phase = trace::Phase::OVERALL;
    std::array<char, trace::Record::kTextBytes> text;
  };
  std::array<Slice, kMost> slices;
  size_t depth = 0;  // may be larger than kMost
};

OwnSlices& ownSlices() {
  thread_local OwnSlices slices;
  return slices;
}

std::string programName() {
  std::array<char, 4096> path{};
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  if (length <= 0) return "application";
  const std::string whole(path.data(), static_cast<size_t>(length));
  return whole.substr(whole.rfind('/') + 1);
}

trace::Timeline timelineOf(const trace::TraceRecords& records) {
  return trace::makeTimeline(records, programName(), ::getpid());
}

template <typename Make>
int give(char** json, Make make) {
  try {
    const trace::TraceRecords records = TraceCollection::ofProcess().records();
    if (!records.started) return ANEURALNETWORKS_BAD_STATE;
    *json = ::strdup(make(records).c_str());
  } catch (const std::bad_alloc&) {
    *json = nullptr;
  }
  return *json ? ANEURALNETWORKS_NO_ERROR : ANEURALNETWORKS_OUT_OF_MEMORY;
}

// The file for the trace of this process, if the environment requests one.
constinit PerProcess<std::string> traceFile;

Status writeFile(const std::string& path, const std::string& text) {
  const UniqueFd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644));
  if (!file.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, "opening it");
  for (size_t written = 0; written < text.size();) {
    const ssize_t n = ::write(file.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return errnoStatus(ResultCode::OP_FAILED, errno, "writing it");
    written += static_cast<size_t>(n);
  }
  return okStatus();
}

// Called at exit. A forked child inherits this call, but does not have the trace.
void writeTraceFile() {
  const std::string* const file = traceFile.find();
  if (file == nullptr) return;
  TraceCollection& collection = TraceCollection::ofProcess();
  (void)collection.stop();  // the application may have stopped it already
  Status written;
  try {
    written = writeFile(*file, trace::traceJson(timelineOf(collection.records())));
  } catch (const std::bad_alloc&) {
    written = Status(ResultCode::OUT_OF_MEMORY, "out of memory");
  }
  if (!written.ok()) logWarning("HALYARD_TRACE: {}: {}", *file, written.toString());
}

}  // namespace

int traceStart(uint32_t slices) {
  return static_cast<int>(TraceCollection::ofProcess().start(slices).code());
}

int traceStop() { return static_cast<int>(TraceCollection::ofProcess().stop().code()); }

int traceJson(char** json) {
  return give(json, [](const trace::TraceRecords& records) {
    return trace::traceJson(timelineOf(records));
  });
}

int compilationProfile(const ANeuralNetworksCompilation* compilation, char** json) {
  if (!compilation->madeIn.isOfThisProcess() || !compilation->impl->checkValid().ok()) {
    return ANEURALNETWORKS_BAD_STATE;
  }
  return give(json, [&](const trace::TraceRecords& records) {
    return runtime::profileJson(*compilation->impl, timelineOf(records), records.running);
  });
}

void traceBegin(int32_t phase, const char* text) {
  OwnSlices& own = ownSlices();
  if (own.depth++ >= OwnSlices::kMost) return;
  OwnSlices::Slice& slice = own.slices[own.depth - 1];
  slice.begin = 0;
  if (!trace::isActive()) return;
  const bool isPhase = phase >= 0 && phase <= static_cast<int32_t>(trace::Phase::TERMINATION);
  slice.phase = isPhase ? static_cast<trace::Phase>(phase) : trace::Phase::OVERALL;
  slice.text.fill('\0');
  if (text != nullptr) std::strncpy(slice.text.data(), text, slice.text.size() - 1);
  slice.begin = trace::now();
}

void traceEnd() {
  OwnSlices& own = ownSlices();
  if (own.depth == 0 || --own.depth >= OwnSlices::kMost) return;
  const OwnSlices::Slice& slice = own.slices[own.depth];
  if (slice.begin == 0) return;
  trace::addSlice(trace::Layer::APPLICATION, slice.phase, slice.text.data(), slice.begin,
                  trace::now());
}

void startTraceOfEnvironment() {
  const char* const file = environmentVariable("HALYARD_TRACE");
  if (file == nullptr || *file == '\0') return;
  std::string path = file;
  const size_t place = path.find("%p");
  if (place != std::string::npos) path.replace(place, 2, std::to_string(::getpid()));
  // The forked child must not overwrite the file of its parent.
  if (place == std::string::npos && processGeneration() != 0) return;
  const Status started = TraceCollection::ofProcess().start(trace::Recorder::kMostCapacity / 4);
  if (!started.ok()) {
    logWarning("HALYARD_TRACE: {}", started.toString());
    return;
  }
  traceFile.get([&] { return std::make_unique<std::string>(std::move(path)); });
  // Registered once, because children inherit it.
  static constinit std::atomic<bool> isRegistered = false;
  if (!isRegistered.exchange(true)) std::atexit(writeTraceFile);
}

}  // namespace halyard::api
