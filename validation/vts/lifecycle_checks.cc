// The driver's process and the objects that it keeps for its clients: no object stays behind, and
// the process ends with its client.
#include <sys/mman.h>

#include <thread>

#include "validation/kit/growth.h"
#include "validation/vts/burst_client.h"
#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

using namespace std::chrono_literals;

// The growth of a span of rounds that is not a leak.
constexpr size_t kAllowedBytes = size_t{12} << 20;
constexpr size_t kAllowedDescriptors = 12;
constexpr int kFewestWarmUp = 10;
constexpr uint32_t kLarge = 1 << 18;  // elements: 1 MiB of floats

bool isExecutable(const TargetSpec& target) {
  return target.manifest && target.manifest->kind == hal::Manifest::Kind::EXECUTABLE;
}

// Calls `once` some times to warm up, and then `rounds` times for each span of expectGrowthEnds.
CheckResult expectNoGrowth(Target& target, int rounds,
                           const std::function<CheckResult(HalClient&)>& once) {
  if (!isExecutable(target.spec())) {
    return CheckResult::skipped("the driver has no process of its own");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> client, HalClient::open(target));
  const auto repeat = [&](int times) {
    for (int i = 0; i < times; ++i) {
      CheckResult result = once(*client);
      if (result.outcome != Outcome::PASSED) return result;
    }
    return CheckResult::passed();
  };
  const CheckResult warm = repeat(std::max(kFewestWarmUp, rounds / 2));
  if (warm.outcome != Outcome::PASSED) return warm;
  return expectGrowthEnds(
      {.memoryBytes = kAllowedBytes, .descriptors = kAllowedDescriptors},
      [&] { return repeat(rounds); },
      [&]() -> Result<ProcessFigures> {
        HALYARD_RETURN_IF_ERROR(client->roundTrip());
        return figuresOf(client->processId());
      });
}

// out = a + constant, with a constant of 1 MiB.
Model largeModel() {
  Model model = addModel(kLarge);
  const std::vector<uint8_t> constant = filled(kFloat, kLarge, 2);
  model.main.operands[1].lifetime = Lifetime::CONSTANT_COPY;
  model.main.operands[1].location = appendConstant(model, constant.data(), constant.size());
  model.main.inputIndexes = {0};
  return model;
}

CheckResult preparedModels(HalClient& client) {
  const HalVersion method = client.version();
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, method, largeModel()));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  HALYARD_ASSIGN_OR_RETURN(
      const RequestMemory memory,
      RequestMemory::make({filled(kFloat, kLarge, 1)}, {kLarge * sizeof(float)}));
  HALYARD_ASSIGN_OR_RETURN(
      const ExecutionAnswer answer,
      client.execute(method, pathsOf(method).back(), prepared.model, memory.request()));
  return expectSuccess(answer, {{kLarge}}, false, false);
}

CheckResult repeatedExecutions(HalClient& client) {
  const HalVersion method = client.version();
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, method, addModel(kLarge)));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  for (int i = 0; i < 3; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(kLarge));
    for (const Path path : pathsOf(method)) {
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(method, path, prepared.model, memory.request()));
      HALYARD_RETURN_IF_ERROR(expectSuccess(answer, {{kLarge}}, false, false));
      HALYARD_RETURN_IF_ERROR(expectFilled(memory, kLarge, 3));
    }
  }
  return okStatus();
}

CheckResult buffers(HalClient& client) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, HalVersion::V1_3, addModel(kLarge)));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  HALYARD_ASSIGN_OR_RETURN(const BufferAnswer buffer,
                           client.allocate({}, {prepared.model}, {{0, 0, 1.0f}}, {}));
  if (!buffer.hasBuffer) return CheckResult::skipped("the driver allocates no buffers");
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory,
                           RequestMemory::make({filled(kFloat, kLarge, 1)}, {1}));
  HALYARD_ASSIGN_OR_RETURN(
      const StatusAnswer copied,
      client.copyFrom(buffer.buffer, std::get<SharedMemoryPtr>(memory.request().pools[0]), {}));
  return expectCode("copyFrom", copied.status, {Code::NONE}, copied.message);
}

CheckResult bursts(HalClient& client) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, client.version(), addModel(4)));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  HALYARD_ASSIGN_OR_RETURN(const BurstClient::Opened opened,
                           BurstClient::open(client, prepared.model));
  if (opened.burst == nullptr) return CheckResult::skipped("the driver has no bursts");
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
  for (int32_t slot : {0, 1}) {
    opened.burst->setSlot(
        slot, std::get<SharedMemoryPtr>(memory.request().pools[static_cast<size_t>(slot)]));
  }
  HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, opened.burst->exchange(BurstClient::packetFor(
                                                         memory.request(), {0, 1})));
  return expectCode("execution in a burst", answer.status, {Code::NONE});
}

// With the right files, with one file too many, and from empty files.
CheckResult cacheFiles(HalClient& client) {
  const HalVersion method = client.version();
  HALYARD_ASSIGN_OR_RETURN(const DeviceFacts facts, client.facts(method));
  if (facts.modelCacheFiles + facts.dataCacheFiles == 0) {
    return CheckResult::skipped("the driver does not cache compilations");
  }
  std::vector<UniqueFd> files;
  const auto handlesOf = [&](uint32_t count) {
    std::vector<CacheHandle> handles;
    for (uint32_t i = 0; i < count; ++i) {
      files.emplace_back(::memfd_create("cache of a check", MFD_CLOEXEC));
      handles.push_back({files.back().get()});
    }
    return handles;
  };
  for (const uint32_t extra : {0u, 1u}) {
    CacheHandles cache;
    cache.modelCache = handlesOf(facts.modelCacheFiles + extra);
    cache.dataCache = handlesOf(facts.dataCacheFiles);
    HALYARD_ASSIGN_OR_RETURN(const Preparation empty, client.prepareFromCache(method, cache));
    HALYARD_RETURN_IF_ERROR(expectFailed(empty, {Code::GENERAL_FAILURE, Code::INVALID_ARGUMENT}));
    PrepareCall call;
    call.cache = &cache;
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                             prepareIfSupported(client, method, addModel(4), call));
    if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
    HALYARD_ASSIGN_OR_RETURN(const Preparation loaded, client.prepareFromCache(method, cache));
    HALYARD_RETURN_IF_ERROR(
        expectPreparedOr(loaded, {Code::GENERAL_FAILURE, Code::INVALID_ARGUMENT}));
  }
  return okStatus();
}

CheckResult refusals(HalClient& client) {
  Model wrong = largeModel();
  wrong.main.operands[0].scale = 1;
  return expectModelRefused(client, client.version(), wrong);
}

// After some work, the end of its connection asks the driver to end.
CheckResult endsWithItsClient(Target& target) {
  if (!isExecutable(target.spec())) {
    return CheckResult::skipped("the driver has no process of its own");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> client,
                           HalClient::open(target, /*watched=*/false));
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(*client, client->version(), addModel(4)));
  if (prepared.model != nullptr) {
    HALYARD_RETURN_IF_ERROR(runsAdd(*client, client->version(), prepared.model, 4));
  }
  HALYARD_ASSIGN_OR_RETURN(const std::string end, client->disconnect());
  if (end.find("exit status 0") != std::string::npos) return okStatus();
  return opFailed("{}, expected exit status 0 within 2 s of the client's end", end);
}

// The connection ends during an endless execution.
CheckResult endsInTheMiddle(Target& target) {
  if (!isExecutable(target.spec())) {
    return CheckResult::skipped("the driver has no process of its own");
  }
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> client,
                           HalClient::open(target, /*watched=*/false));
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(*client, HalVersion::V1_3, endlessModel()));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory,
                           RequestMemory::make({filled(kFloat, 1, 1)}, {4}));
  ExecuteCall call;
  call.loopTimeout = 15s;
  std::thread executing([&] {
    (void)client->execute(HalVersion::V1_3, Path::SYNCHRONOUS, prepared.model, memory.request(),
                          call);
  });
  std::this_thread::sleep_for(100ms);
  const Result<std::string> end = client->disconnect();
  executing.join();
  HALYARD_RETURN_IF_ERROR(end.status());
  if (end->find("exit status") != std::string::npos) return okStatus();
  return opFailed("{}: it went on executing for a client that was gone", *end);
}

CheckResult releaseWhileExecuting(Target& target) {
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> client, HalClient::open(target));
  const HalVersion method = client->version();
  for (int i = 0; i < 10; ++i) {
    HALYARD_ASSIGN_OR_RETURN(PreparedOrSkip prepared,
                             prepareIfSupported(*client, method, addModel(kLarge)));
    if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(kLarge));
    Status status;
    std::thread executing([&, model = prepared.model]() mutable {
      const auto answer = client->execute(method, Path::ASYNCHRONOUS, model, memory.request());
      status = answer.ok() ? expectSuccess(*answer, {{kLarge}}, false, false) : answer.status();
      model.reset();
    });
    prepared.model.reset();
    executing.join();
    HALYARD_RETURN_IF_ERROR(std::move(status), "execution {}", i);
  }
  return client->roundTrip();
}

// Prepared models are released one by one and all at once, and the driver continues.
CheckResult survivesReleases(Target& target) {
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> client, HalClient::open(target));
  const HalVersion method = client->version();
  for (int i = 0; i < 5; ++i) {
    std::vector<DriverObjectPtr> models;
    for (int k = 0; k < 4; ++k) {
      HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                               prepareIfSupported(*client, method, addModel(4)));
      if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
      HALYARD_RETURN_IF_ERROR(runsAdd(*client, method, prepared.model, 4));
      models.push_back(prepared.model);
    }
    models.clear();
    std::this_thread::sleep_for(10ms);
    HALYARD_RETURN_IF_ERROR(client->roundTrip());
  }
  return okStatus();
}

// Two processes of the driver, or two clients of a service.
CheckResult twoClients(Target& target) {
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> first, HalClient::open(target));
  HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<HalClient> second, HalClient::open(target));
  return inThreads(2, [&](unsigned thread) -> Status {
    HalClient& client = thread == 0 ? *first : *second;
    for (int i = 0; i < 10; ++i) {
      HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                               prepareIfSupported(client, client.version(), addModel(4 + thread)));
      if (prepared.model == nullptr) return okStatus();
      HALYARD_RETURN_IF_ERROR(runsAdd(client, client.version(), prepared.model, 4 + thread));
    }
    return okStatus();
  });
}

}  // namespace

void listLifecycleChecks(HalChecks& checks) {
  const int rounds = checks.plan().full ? 200 : 30;
  const auto addGrowth = [&](HalVersion since, const char* name, const char* what,
                             std::function<CheckResult(HalClient&)> once) {
    checks
        .addAlone(since, fmt::format("lifecycle/leaves_no_{}", name), what, {"ND-062"},
                  [rounds, once = std::move(once)](Target& target) {
                    return expectNoGrowth(target, rounds, once);
                  })
        .expectedSeconds = 0.5;
  };
  addGrowth(HalVersion::V1_0, "prepared_models", "a released prepared model leaves no memory",
            preparedModels);
  addGrowth(HalVersion::V1_0, "executions", "executions leave no memory", repeatedExecutions);
  addGrowth(HalVersion::V1_3, "buffers", "released buffers leave no memory", buffers);
  addGrowth(HalVersion::V1_2, "bursts", "bursts that have ended leave no memory", bursts);
  addGrowth(HalVersion::V1_2, "cache_files", "the files of caches are closed", cacheFiles);
  addGrowth(HalVersion::V1_0, "refusals", "models that were refused leave no memory", refusals);
  const HalVersion v10 = HalVersion::V1_0;
  checks.addAlone(v10, "lifecycle/ends_with_its_client",
                  "the process ends by itself when its client has gone", {"ND-061"},
                  endsWithItsClient);
  checks.addAlone(HalVersion::V1_3, "lifecycle/ends_in_the_middle",
                  "also in the middle of an execution", {"ND-050"}, endsInTheMiddle);
  checks.addAlone(v10, "lifecycle/release_while_executing",
                  "a model that is released while it is executed finishes", {"ND-062"},
                  releaseWhileExecuting);
  checks.addAlone(v10, "lifecycle/survives_releases", "releasing prepared models does no harm",
                  {"ND-062"}, survivesReleases);
  checks.addAlone(v10, "lifecycle/two_clients", "two clients do not disturb each other", {"ND-064"},
                  twoClients);
}

}  // namespace halyard::validation
