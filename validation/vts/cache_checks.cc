// Caching: saved compilations come back, and no other data does, with any changes to the files.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "validation/vts/cache_files.h"
#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

constexpr unsigned kShort = 3;  // operations of the chains
constexpr unsigned kLong = 100;
const std::initializer_list<Code> kCacheRefusals = {Code::GENERAL_FAILURE, Code::INVALID_ARGUMENT};

// One check of the suite, with the cache files of its driver.
struct CacheSetting {
  HalClient& client;
  HalVersion method;
  Kind kind;
  bool full;
  uint32_t modelFiles;
  uint32_t dataFiles;
  hal::Token token = newToken();

  Result<MemoryFiles> files() const { return MemoryFiles::make(modelFiles, dataFiles); }
  Model add(unsigned length = kShort) const { return chainModel(false, length, kind); }
  Model mul(unsigned length = kShort) const { return chainModel(true, length, kind); }

  // Prepares with the files. The prepared model must be right with any files.
  Status save(const Model& model, bool multiplies, const CacheHandles& handles,
              unsigned length = kShort) const {
    PrepareCall call;
    call.cache = &handles;
    HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, client.prepare(method, model, call));
    HALYARD_RETURN_IF_ERROR(expectPrepared(prepared), "prepared with cache files");
    return runsChain(client, method, prepared.model, multiplies, length, kind);
  }
  Result<Preparation> load(const CacheHandles& handles) const {
    return client.prepareFromCache(method, handles);
  }
  Status expectLoads(const CacheHandles& handles) const {
    HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, load(handles));
    HALYARD_RETURN_IF_ERROR(expectPrepared(prepared), "what was saved");
    return runsChain(client, method, prepared.model, false, kShort, kind);
  }
  Status expectRefused(const CacheHandles& handles, std::initializer_list<Code> codes) const {
    HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, load(handles));
    return expectFailed(prepared, codes);
  }
};

using CacheUse = CheckResult (*)(const CacheSetting&);

// Whether the driver does not cache the model. It may decline.
Result<bool> declines(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)));
  HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, setting.load(files.open(setting.token)));
  // A driver that saves no data declines. A driver that saves data and refuses it has an error.
  bool isEmpty = true;
  for (const std::string& text : files.contents()) isEmpty = isEmpty && text.empty();
  return isEmpty && prepared.callback == Code::GENERAL_FAILURE;
}

CheckResult withCacheSetting(HalClient& client, HalVersion method, Kind kind, bool full,
                             CacheUse use) {
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  if (facts.modelCacheFiles + facts.dataCacheFiles == 0) {
    return CheckResult::skipped("the driver does not cache compilations");
  }
  if (facts.modelCacheFiles > 32 || facts.dataCacheFiles > 32) {
    return opFailed("{} and {} cache files, at most 32 are allowed", facts.modelCacheFiles,
                    facts.dataCacheFiles);
  }
  const CacheSetting setting{
      client, method, kind, full, facts.modelCacheFiles, facts.dataCacheFiles};
  for (const Model& model : {setting.add(), setting.mul()}) {
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip able, prepareIfSupported(client, method, model));
    if (able.model == nullptr) return CheckResult::skipped(able.skip);
  }
  HALYARD_ASSIGN_OR_RETURN(const bool declined, declines(setting));
  if (declined) return CheckResult::skipped("the driver declines to cache the model");
  return use(setting);
}

CheckResult comesBack(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)));
  for (int i = 0; i < 3; ++i) {
    HALYARD_RETURN_IF_ERROR(setting.expectLoads(files.open(setting.token)));
  }
  // The multiplication is another compilation, under another token.
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles other, setting.files());
  const hal::Token second = newToken();
  HALYARD_RETURN_IF_ERROR(setting.save(setting.mul(), true, other.open(second)));
  HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, setting.load(other.open(second)));
  HALYARD_RETURN_IF_ERROR(expectPrepared(prepared));
  HALYARD_RETURN_IF_ERROR(
      runsChain(setting.client, setting.method, prepared.model, true, kShort, setting.kind));
  return setting.expectLoads(files.open(setting.token));
}

CheckResult nonZeroOffset(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  for (size_t i = 0; i < files.count(); ++i) files.write(i, "xy");
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token, 2)));
  return setting.expectLoads(files.open(setting.token, 1));
}

void dropLast(std::vector<CacheHandle>& list) {
  if (!list.empty()) list.pop_back();
}

// Each way to have files too many or too few, or one handle with several descriptors or without
// any.
std::vector<std::function<void(CacheHandles&)>> wrongHandles(int extra) {
  std::vector<std::function<void(CacheHandles&)>> ways = {
      [extra](CacheHandles& handles) { handles.modelCache.push_back({extra}); },
      [extra](CacheHandles& handles) { handles.dataCache.push_back({extra}); },
      [](CacheHandles& handles) { handles.modelCache.clear(); },
      [](CacheHandles& handles) { handles.dataCache.clear(); },
      [](CacheHandles& handles) { dropLast(handles.modelCache); },
      [](CacheHandles& handles) { dropLast(handles.dataCache); },
      [](CacheHandles& handles) {
        handles.modelCache.clear();
        handles.dataCache.clear();
      },
      [extra](CacheHandles& handles) {
        handles.modelCache.resize(40, {extra});
        handles.dataCache.resize(40, {extra});
      }};
  for (const bool model : {true, false}) {
    for (const bool none : {true, false}) {
      ways.emplace_back([model, none, extra](CacheHandles& handles) {
        auto& list = model ? handles.modelCache : handles.dataCache;
        if (list.empty()) return;
        if (none) {
          list[0].clear();
        } else {
          list[0].push_back(extra);
        }
      });
    }
  }
  return ways;
}

bool haveSameHandles(const CacheHandles& a, const CacheHandles& b) {
  return a.modelCache == b.modelCache && a.dataCache == b.dataCache;
}

CheckResult wrongNumbers(const CacheSetting& setting) {
  const UniqueFd extra(::memfd_create("one too many", MFD_CLOEXEC));
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles good, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, good.open(setting.token)));
  const auto ways = wrongHandles(extra.get());
  const std::initializer_list<Code> kInvalid = {Code::INVALID_ARGUMENT};
  for (size_t i = 0; i < ways.size(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
    CacheHandles handles = files.open(setting.token);
    const CacheHandles right = handles;
    ways[i](handles);
    // One file of each kind is the early form of caching, which any driver may accept.
    const bool isEarly = handles.modelCache.size() == 1 && handles.dataCache.size() == 1 &&
                         (setting.modelFiles != 1 || setting.dataFiles != 1);
    if (haveSameHandles(handles, right) || isEarly) continue;
    HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, handles), "saved in way {}", i);
    HALYARD_RETURN_IF_ERROR(setting.expectRefused(handles, kInvalid),
                            "loaded after saving in way {}", i);
    CacheHandles bad = good.open(setting.token);
    ways[i](bad);
    HALYARD_RETURN_IF_ERROR(setting.expectRefused(bad, kInvalid), "loaded in way {}", i);
  }
  return setting.expectLoads(good.open(setting.token));
}

// Files that are not regular, or not open for reading and writing.
CheckResult wrongFiles(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles good, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, good.open(setting.token)));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errnoStatus(ResultCode::OP_FAILED, errno, "pipe");
  const UniqueFd pipes[] = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  const UniqueFd file(::memfd_create("opened in other ways", MFD_CLOEXEC));
  const auto opened = [](const std::string& path, int flags) {
    return UniqueFd(::open(path.c_str(), flags | O_CLOEXEC));
  };
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  const std::pair<const char*, UniqueFd> wrong[] = {
      {"a file that may be read only", opened(path, O_RDONLY)},
      {"a file that may be written only", opened(path, O_WRONLY)},
      {"a path", opened(path, O_PATH)},
      {"the reading end of a pipe", UniqueFd(pipes[0].duplicate())},
      {"the writing end of a pipe", UniqueFd(pipes[1].duplicate())},
      {"a device", opened("/dev/null", O_RDWR)},
      {"a folder", opened("/", O_RDONLY)}};
  for (size_t i = 0; i < good.count(); ++i) {
    for (const auto& [what, fd] : wrong) {
      HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
      const auto spoil = [&, bad = fd.get()](CacheHandles handles) {
        const bool isModel = i < files.modelFiles();
        (isModel ? handles.modelCache[i] : handles.dataCache[i - files.modelFiles()]) = {bad};
        return handles;
      };
      HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, spoil(files.open(setting.token))),
                              "saved with {} for file {}", what, i);
      HALYARD_RETURN_IF_ERROR(
          setting.expectRefused(spoil(good.open(setting.token)), {Code::INVALID_ARGUMENT}),
          "loaded with {} for file {}", what, i);
    }
  }
  return setting.expectLoads(good.open(setting.token));
}

CheckResult wrongAccess(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles good, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, good.open(setting.token)));
  for (size_t i = 0; i < good.count(); ++i) {
    HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
    HALYARD_RETURN_IF_ERROR(
        setting.save(setting.add(), false, files.open(setting.token, 0, O_RDONLY, i)),
        "saved with file {} open for reading only", i);
    HALYARD_RETURN_IF_ERROR(
        setting.expectRefused(files.open(setting.token, 0, O_RDONLY, i), {Code::INVALID_ARGUMENT}),
        "loaded after saving with file {} open for reading only", i);
    HALYARD_RETURN_IF_ERROR(
        setting.expectRefused(good.open(setting.token, 0, O_WRONLY, i), {Code::INVALID_ARGUMENT}),
        "loaded with file {} open for writing only", i);
  }
  return setting.expectLoads(good.open(setting.token));
}

CheckResult fullDisk(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files,
                           MemoryFiles::make(setting.modelFiles, setting.dataFiles, /*full=*/true));
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)),
                          "with files that cannot be written");
  return setting.expectRefused(files.open(setting.token), {Code::GENERAL_FAILURE});
}

CheckResult emptyFiles(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  return setting.expectRefused(files.open(setting.token), {Code::GENERAL_FAILURE});
}

CheckResult wrongToken(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)));
  std::mt19937 random(1);
  for (int i = 0; i < 10; ++i) {
    hal::Token wrong = setting.token;
    wrong[random() % wrong.size()] ^= static_cast<uint8_t>(1u << random() % 8);
    HALYARD_RETURN_IF_ERROR(setting.expectRefused(files.open(wrong), {Code::GENERAL_FAILURE}),
                            "with a bit of the token changed");
  }
  return setting.expectLoads(files.open(setting.token));
}

// Model files that `spoil` has changed are refused. Changed data files do no harm.
CheckResult spoilt(const CacheSetting& setting, void (*spoil)(std::string&, std::mt19937&)) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)));
  const std::vector<std::string> good = files.contents();
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < files.count(); ++i) {
      std::vector<std::string> bad = good;
      if (bad[i].empty()) continue;
      spoil(bad[i], random);
      files.writeAll(bad);
      HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, setting.load(files.open(setting.token)));
      if (i < files.modelFiles()) {
        HALYARD_RETURN_IF_ERROR(expectFailed(prepared, {Code::GENERAL_FAILURE}),
                                "model file {}, seed {}", i, seed);
      } else {
        HALYARD_RETURN_IF_ERROR(expectPreparedOr(prepared, kCacheRefusals), "data file {}, seed {}",
                                i, seed);
      }
    }
  }
  files.writeAll(good);
  return setting.expectLoads(files.open(setting.token));
}

CheckResult flippedBits(const CacheSetting& setting) {
  return spoilt(setting, [](std::string& text, std::mt19937& random) {
    text[random() % text.size()] ^= static_cast<char>(1u << random() % 8);
  });
}

CheckResult appendedBytes(const CacheSetting& setting) {
  return spoilt(setting, [](std::string& text, std::mt19937& random) {
    for (auto more = random() % 256 + 1; more > 0; --more) {
      text.push_back(static_cast<char>(random()));
    }
  });
}

CheckResult truncated(const CacheSetting& setting) {
  return spoilt(setting, [](std::string& text, std::mt19937& random) {
    text.resize(random() % text.size());
  });
}

// Replaces the model files by the complete ones of another model, which was saved under the same
// token.
CheckResult replaced(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles other, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.mul(), true, other.open(setting.token)));
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)));
  if (files.modelFiles() == 0) return CheckResult::skipped("the driver has no model cache files");
  const std::string own = files.content(0);
  for (size_t i = 0; i < files.modelFiles(); ++i) files.write(i, other.content(i));
  if (files.content(0) == own) return okStatus();
  HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, setting.load(files.open(setting.token)));
  // Without data files, the other files are a complete compilation of this driver, with this token.
  if (setting.dataFiles == 0 && prepared.callback == Code::NONE) {
    return runsChain(setting.client, setting.method, prepared.model, true, kShort, setting.kind);
  }
  return expectFailed(prepared, {Code::GENERAL_FAILURE});
}

// Meanwhile another thread copies the files of another model, with another token, over these files.
// Then it copies these back, and so on. The load must fail, or give this model. Only a load in
// which the files changed counts: on a busy machine the other thread often comes too late.
CheckResult timeOfCheckAndUse(const CacheSetting& setting) {
  const Model add = setting.add(kLong);
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles other, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.mul(kLong), true, other.open(newToken()), kLong));
  HALYARD_RETURN_IF_ERROR(setting.save(add, false, files.open(setting.token), kLong));
  const std::vector<std::string> good = files.contents();
  const std::vector<std::string> bad = other.contents();
  const int least = setting.full ? 100 : 24;
  const int wanted = setting.full ? 100 : 40;
  const auto end = hal::Clock::now() + std::chrono::seconds(8);
  int changed = 0;
  for (int i = 0; changed < wanted && (i < least || hal::Clock::now() < end); ++i) {
    files.writeAll(good);
    std::atomic<bool> stop = false;
    std::atomic<int> changes = 0;
    std::thread copier([&] {
      // The time at which the files begin to change moves through the first milliseconds.
      std::this_thread::sleep_for(std::chrono::microseconds(250 * (i % 12)));
      for (bool isBad = true; !stop; isBad = !isBad) {
        files.writeAll(isBad ? bad : good);
        ++changes;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    const bool saves = i % 4 == 3;
    const CacheHandles handles = files.open(setting.token);
    const Status saved = saves ? setting.save(add, false, handles, kLong) : okStatus();
    const int before = changes;
    auto loaded = setting.load(files.open(setting.token));
    changed += changes != before ? 1 : 0;
    stop = true;
    copier.join();
    HALYARD_RETURN_IF_ERROR(saved, "while its files are being replaced");
    HALYARD_RETURN_IF_ERROR(loaded.status());
    if (loaded->callback != Code::NONE) {
      HALYARD_RETURN_IF_ERROR(expectFailed(*loaded, kCacheRefusals));
      continue;
    }
    HALYARD_RETURN_IF_ERROR(expectPrepared(*loaded));
    HALYARD_RETURN_IF_ERROR(
        runsChain(setting.client, setting.method, loaded->model, false, kLong, setting.kind),
        "loaded from files that were replaced meanwhile");
  }
  if (changed == 0)
    return CheckResult::skipped("the files changed in no load: the machine is busy");
  return okStatus();
}

// Requests of a loaded model are checked as those of a prepared one.
CheckResult requestsOfLoaded(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)));
  HALYARD_ASSIGN_OR_RETURN(const Preparation prepared, setting.load(files.open(setting.token)));
  HALYARD_RETURN_IF_ERROR(expectPrepared(prepared));
  const size_t bytes = filled(setting.kind, 1024, 1).size();
  HALYARD_ASSIGN_OR_RETURN(RequestMemory memory,
                           RequestMemory::make({filled(setting.kind, 1024, 1)}, {bytes}));
  hal::Request larger = memory.request();
  larger.inputs[0].dimensions = {2048};
  HALYARD_ASSIGN_OR_RETURN(
      const ExecutionAnswer tooLarge,
      setting.client.execute(setting.method, Path::SYNCHRONOUS, prepared.model, larger));
  HALYARD_RETURN_IF_ERROR(expectError(tooLarge, {Code::INVALID_ARGUMENT}),
                          "an input of other dimensions");
  memory.mutableRequest().inputs[0].location.length = 8;
  HALYARD_ASSIGN_OR_RETURN(
      const ExecutionAnswer answer,
      setting.client.execute(setting.method, Path::SYNCHRONOUS, prepared.model, memory.request()));
  HALYARD_RETURN_IF_ERROR(expectError(answer, {Code::INVALID_ARGUMENT}),
                          "an input that is too short");
  memory.mutableRequest().inputs.clear();
  HALYARD_ASSIGN_OR_RETURN(
      const ExecutionAnswer none,
      setting.client.execute(setting.method, Path::SYNCHRONOUS, prepared.model, memory.request()));
  HALYARD_RETURN_IF_ERROR(expectError(none, {Code::INVALID_ARGUMENT}), "a request without inputs");
  return runsChain(setting.client, setting.method, prepared.model, false, kShort, setting.kind);
}

CheckResult afterRestart(Target& target, Kind kind) {
  HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<HalClient> client, HalClient::open(target));
  const HalVersion method = client->version();
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client->facts(method));
  if (facts.modelCacheFiles + facts.dataCacheFiles == 0) {
    return CheckResult::skipped("the driver does not cache compilations");
  }
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files,
                           MemoryFiles::make(facts.modelCacheFiles, facts.dataCacheFiles));
  const hal::Token token = newToken();
  {
    const CacheSetting setting{
        *client, method, kind, false, facts.modelCacheFiles, facts.dataCacheFiles};
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip able,
                             prepareIfSupported(*client, method, setting.add()));
    if (able.model == nullptr) return CheckResult::skipped(able.skip);
    HALYARD_ASSIGN_OR_RETURN(const bool declined, declines(setting));
    if (declined) return CheckResult::skipped("the driver declines to cache the model");
    HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(token)));
  }
  client.reset();
  HALYARD_ASSIGN_OR_RETURN(client, HalClient::open(target));
  const CacheSetting setting{
      *client, method, kind, false, facts.modelCacheFiles, facts.dataCacheFiles};
  return setting.expectLoads(files.open(token)).annotate("after a restart of the driver");
}

// The launch succeeds, and the callback reports that the deadline has passed.
CheckResult passedDeadline(const CacheSetting& setting) {
  HALYARD_ASSIGN_OR_RETURN(MemoryFiles files, setting.files());
  HALYARD_RETURN_IF_ERROR(setting.save(setting.add(), false, files.open(setting.token)));
  if (setting.method >= HalVersion::V1_3) {
    HALYARD_ASSIGN_OR_RETURN(
        const Preparation late,
        setting.client.prepareFromCache(setting.method, files.open(setting.token),
                                        hal::Clock::now() - std::chrono::seconds(1)));
    HALYARD_RETURN_IF_ERROR(
        expectCode("launch with a deadline", late.launch, {Code::NONE}, late.message));
    HALYARD_RETURN_IF_ERROR(expectFailed(late, {Code::MISSED_DEADLINE_PERSISTENT}));
  }
  return setting.expectLoads(files.open(setting.token));
}

struct Case {
  const char* name;
  const char* what;
  std::vector<std::string> requirements;
  CacheUse use;
};

}  // namespace

void listCacheChecks(HalChecks& checks) {
  const HalVersion since = HalVersion::V1_2;
  const Case cases[] = {
      {"comes_back", "what was saved comes back, each by its token", {"ND-070"}, comesBack},
      {"non_zero_offset", "files may have content and an offset", {"ND-070"}, nonZeroOffset},
      {"wrong_numbers",
       "wrong numbers of files spoil no preparation and bring nothing back",
       {"ND-070", "ND-071"},
       wrongNumbers},
      {"wrong_access",
       "the same for files that are not open for reading and writing",
       {"ND-071"},
       wrongAccess},
      {"wrong_files", "the same for what is no regular file", {"ND-070", "ND-071"}, wrongFiles},
      {"passed_deadline", "a deadline that has passed is missed", {}, passedDeadline},
      {"full_disk", "files that cannot be written spoil no preparation", {"ND-071"}, fullDisk},
      {"empty_files", "empty files are refused", {"ND-072"}, emptyFiles},
      {"wrong_token", "another token is refused", {"ND-072"}, wrongToken},
      {"flipped_bits", "a model file with one bit changed is refused", {"ND-072"}, flippedBits},
      {"appended_bytes", "a model file that is too long is refused", {"ND-072"}, appendedBytes},
      {"truncated", "a model file that is too short is refused", {"ND-072"}, truncated},
      {"replaced", "model files of another model are refused", {"ND-072"}, replaced},
      {"time_of_check_and_use",
       "files that change while they are read do no harm",
       {"ND-073"},
       timeOfCheckAndUse},
      {"requests_of_loaded",
       "requests for a loaded model are checked",
       {"ND-074"},
       requestsOfLoaded},
  };
  const bool full = checks.plan().full;
  for (const auto& [suffix, kind] : {std::pair("float32", kFloat), std::pair("quant8", kQuant8)}) {
    for (const Case& one : cases) {
      checks.addForVersions(
          since, fmt::format("cache/{}_{}", one.name, suffix), one.what, one.requirements,
          [use = one.use, kind = kind, full](HalClient& client, HalVersion method) {
            return withCacheSetting(client, method, kind, full, use);
          });
    }
    checks.addAlone(since, fmt::format("cache/after_a_restart_{}", suffix),
                    "what was saved comes back in a driver that was started again", {"ND-070"},
                    [kind = kind](Target& target) { return afterRestart(target, kind); });
  }
}

}  // namespace halyard::validation
