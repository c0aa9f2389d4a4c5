// The values that cross the HAL beside models: capabilities, requests, results, options. Thread
// safety: plain data. Ownership: owns its tables; pools are shared.
#pragma once

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "halyard/driver/device_memory.h"
#include "halyard/driver/export.h"
#include "halyard/driver/model.h"
#include "halyard/driver/shared_memory.h"
#include "halyard/driver/status.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal {

// Ratios to the reference CPU; smaller is better. An absent entry counts as FLT_MAX.
struct PerformanceInfo {
  float execTime;
  float powerUsage;
};
struct OperandPerformance {
  OperandType type;
  PerformanceInfo info;
};
struct HALYARD_EXPORT Capabilities {
  PerformanceInfo relaxedFloat32toFloat16PerformanceScalar;
  PerformanceInfo relaxedFloat32toFloat16PerformanceTensor;
  std::vector<OperandPerformance> operandPerformance;  // ascending by type, no duplicates
  PerformanceInfo ifPerformance;
  PerformanceInfo whilePerformance;

  // Every type, IF and WHILE at the same figures.
  static Capabilities uniform(PerformanceInfo info);
  PerformanceInfo lookup(OperandType type) const;  // {FLT_MAX, FLT_MAX} when absent
};
// All values > 0 and the table sorted, unique and without MODEL; otherwise says which entry.
HALYARD_EXPORT Status validateCapabilities(const Capabilities& capabilities);

enum class DeviceType : int32_t { UNKNOWN = 0, OTHER = 1, CPU = 2, GPU = 3, ACCELERATOR = 4 };
HALYARD_EXPORT std::string_view deviceTypeName(DeviceType type);

enum class ExecutionPreference : int32_t {
  LOW_POWER = 0,
  FAST_SINGLE_ANSWER = 1,
  SUSTAINED_SPEED = 2
};
// A set of preferences, 1 << preference each.
inline constexpr uint32_t kEveryPreference = 7;
constexpr uint32_t preferenceBit(ExecutionPreference preference) {
  return uint32_t{1} << static_cast<uint32_t>(preference);
}
enum class Priority : int32_t { LOW = 0, MEDIUM = 1, HIGH = 2 };
enum class DeviceStatus : int32_t { AVAILABLE = 0, BUSY = 1, OFFLINE = 2, UNKNOWN = 3 };

struct ExtensionOperandType {
  uint16_t type;
  bool isTensor;
  uint32_t byteSize;
};
struct Extension {
  std::string name;
  std::vector<ExtensionOperandType> operandTypes;
};

// Kinds of shared memory that a device with memory of its own uses in place, without a copy. A set
// has importBit of each.
enum class ImportKind : uint32_t {
  HOST_PAGES = 0,  // memory of the host that can be mapped
  DMA_BUF = 1,
};
constexpr uint32_t importBit(ImportKind kind) { return uint32_t{1} << static_cast<uint32_t>(kind); }
inline constexpr uint32_t kEveryImport = 3;

// Fixed for the life of a device; asked once at discovery.
struct DeviceInfo {
  std::string name;
  std::string versionString;  // "UNKNOWN" for HAL 1.0 and 1.1
  HalVersion halVersion = HalVersion::V1_3;
  // The newest operations and types that the device takes. HAL 1.3 is level 4. It also carries
  // those of the later levels, for a device that declares them. Before 1.3 the version decides.
  FeatureLevel featureLevel = FeatureLevel::FL4;
  DeviceType type = DeviceType::UNKNOWN;
  Capabilities capabilities;
  std::vector<Extension> extensions;
  uint32_t modelCacheFiles = 0;
  uint32_t dataCacheFiles = 0;
  // The preferences for which it may save anything (preferenceBit). Applications' compilations for
  // others are not offered files, which saves the digest of the model. Callers of the HAL may still
  // bring files.
  uint32_t cachedPreferences = kEveryPreference;
  // false: no bursts, and so no ring in shared memory; every execution is a call of its own. For
  // drivers whose process must not run more threads than it has to.
  bool bursts = true;
  // The executions that a driver's process runs at a time before further threads start for work
  // that may be blocked. 0: twice the number of processors, at least 4, which suits devices that
  // are waited for. Where executions compute on the processors, more than these are slower. Not
  // part of the description that clients get.
  uint32_t usualThreads = 0;
  // Whether it computes in memory of its own. Then it copies arguments in shared memory at each
  // execution, except the kinds in `imports`. It may implement Device::allocateMemory.
  bool ownMemory = false;
  uint32_t imports = 0;  // a set of ImportKind; only with ownMemory
};

inline bool offersExtension(const DeviceInfo& info, std::string_view name) {
  for (const Extension& extension : info.extensions) {
    if (extension.name == name) return true;
  }
  return false;
}

// Checks the rules of NNAPI for a description: valid capabilities, and at most 32 cache files of a
// kind. From HAL 1.2 on also a version string, a type other than UNKNOWN, and extensions with names
// like vendor.feature, each once. BAD_DATA names the fault. driverMain refuses to serve another
// device.
HALYARD_EXPORT Status validateDeviceInfo(const DeviceInfo& info);

// Whether it may save compilations for `preference`.
inline bool savesFor(const DeviceInfo& info, ExecutionPreference preference) {
  return info.modelCacheFiles + info.dataCacheFiles > 0 &&
         (info.cachedPreferences & preferenceBit(preference)) != 0;
}

// The newest feature level that models for the device may need.
inline FeatureLevel offeredLevel(const DeviceInfo& info) {
  return info.halVersion < HalVersion::V1_3 ? featureLevelOf(info.halVersion) : info.featureLevel;
}

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Token = std::array<uint8_t, 32>;

struct OutputShape {
  Shape dimensions;
  bool isSufficient = true;
};

// Nanoseconds; nullopt: not measured.
struct Timing {
  std::optional<uint64_t> timeOnDevice;
  std::optional<uint64_t> timeInDriver;
};

// One input or output of an execution.
struct RequestArgument {
  enum class Kind : uint8_t {
    NO_VALUE,  // omitted
    POOL,      // `location` in Request::pools
    POINTER,   // `pointer`, `length` bytes, in this process: a remote device copies it to a pool
  };
  Kind kind = Kind::NO_VALUE;
  DataLocation location;
  void* pointer = nullptr;  // never written through for an input
  uint32_t length = 0;
  Shape dimensions;  // empty: as the model says

  friend bool operator==(const RequestArgument& a, const RequestArgument& b) {
    return a.kind == b.kind && a.location.poolIndex == b.location.poolIndex &&
           a.location.offset == b.location.offset && a.location.length == b.location.length &&
           a.pointer == b.pointer && a.length == b.length && a.dimensions == b.dimensions;
  }
};
// Shared memory, the token of a buffer, or memory that the driver itself has allocated. A client
// names a buffer by its token. The session around the driver puts memory in its place.
using RequestPool = std::variant<SharedMemoryPtr, uint32_t, DeviceMemoryPtr>;
struct Request {
  std::vector<RequestArgument> inputs;
  std::vector<RequestArgument> outputs;
  std::vector<RequestPool> pools;

  friend bool operator==(const Request&, const Request&) = default;
};

// An attribute that an extension defines: `token` is prefix << 16 | code, as in the extension's
// types.
struct ExtensionAttribute {
  uint32_t token = 0;
  std::vector<uint8_t> value;
};
// The attributes of a compilation or an execution, and the extensions that their tokens speak of.
struct HALYARD_EXPORT ExtensionAttributes {
  std::vector<ExtensionAttribute> attributes;
  std::vector<ExtensionNameAndPrefix> extensionNameToPrefix;

  bool empty() const { return attributes.empty(); }
  // The value of attribute `code` of the extension `name`; null when it is not there.
  const std::vector<uint8_t>* find(std::string_view name, uint16_t code) const;
};
// BAD_DATA unless the table of extensions is a legal one, it has the prefix of each token, and no
// token comes twice.
HALYARD_EXPORT Status validateExtensionAttributes(const ExtensionAttributes& attributes);

// The files in which an application keeps a compilation, and its token. A driver gets as many files
// as its DeviceInfo says, each open for reading and writing, with any content and offset. If files
// could not be made, it gets only a token. Every process that can open the files may change them at
// any moment. So read each once, into memory of your own, and check that (compile_cache.h does it).
struct CacheFiles {
  std::vector<UniqueFd> modelCache;  // could do harm if it were changed: code
  std::vector<UniqueFd> dataCache;   // could only make results wrong: constants
  Token token = {};
};

struct HALYARD_EXPORT PrepareOptions {
  ExecutionPreference preference = ExecutionPreference::FAST_SINGLE_ANSWER;
  Priority priority = Priority::MEDIUM;
  std::optional<TimePoint> deadline;
  // The files for the prepared model; null: it is not saved. A driver may keep the files, to write
  // when it knows more. An error of writing is no failure of the preparation.
  std::shared_ptr<const CacheFiles> cache = nullptr;
  // Valid; for a device of feature level 8. Older ones get no attributes.
  ExtensionAttributes attributes = {};
  // The user of the prepared model. In a driver's process the kernel tells it, not the client. A
  // driver separates its data about cached compilations by it.
  uint32_t clientUid = static_cast<uint32_t>(::geteuid());
};
// The timeout of a WHILE operation, if the execution gives none, and its limit.
inline constexpr std::chrono::nanoseconds kDefaultLoopTimeout = std::chrono::seconds(2);
inline constexpr std::chrono::nanoseconds kMaximumLoopTimeout = std::chrono::seconds(15);

struct ExecuteOptions {
  bool measureTiming = false;
  std::optional<TimePoint> deadline;
  std::optional<std::chrono::nanoseconds> loopTimeout;
  // Asks a device in this process to give up between two operations, with OP_FAILED. Not passed on
  // to other processes.
  std::stop_token cancel = {};
  // As those of PrepareOptions.
  ExtensionAttributes attributes = {};
};

// How a buffer will be used: as input or output `ioIndex` of a prepared model.
struct BufferRole {
  uint32_t modelIndex = 0;  // among the prepared models named with it
  uint32_t ioIndex = 0;
  float frequency = 1.0f;  // how often, in 0 < frequency <= 1
};

// The report of a fenced execution after its end.
struct FencedInfo {
  Status status;
  Timing launched;  // from the call on
  Timing fenced;    // from the moment on when all fences had signalled
};

// Result of an execution. With OK: outputShapes is empty, or one sufficient entry per output. With
// OUTPUT_INSUFFICIENT_SIZE: one entry per output. With any other error: empty.
struct ExecutionResult {
  Status status;
  std::vector<OutputShape> outputShapes;
  Timing timing;
  // The bytes that the driver has copied between shared memory and its own, in both directions.
  // Other layers add the bytes that they copy on the way.
  uint64_t copiedBytes = 0;
};

// Checks a request against the model's main subgraph (spec of NN HAL, request rules R1 to R7)
// except pool sizes of tokens. `allowUnspecifiedOutput`: output dimensions may be unknown.
HALYARD_EXPORT Status validateRequest(const Model& model, const Request& request,
                                      bool allowUnspecifiedOutput);

}  // namespace halyard::hal
