// Bursts: valid and invalid packets, slots of memory, channels, and data that must not leak.
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "validation/vts/burst_client.h"
#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/request_rows.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

using hal::Datum;
using hal::RequestTag;

constexpr int32_t kInSlot = 0;  // slots of addMemory's pools
constexpr int32_t kOutSlot = 1;

// A burst of addModel(4) with its memory in slots 0 and 1.
struct AddBurst {
  DriverObjectPtr model;
  std::unique_ptr<BurstClient> burst;
  std::optional<RequestMemory> memory;
  std::string skip;

  std::vector<Datum> packet(bool measure = false) const {
    return BurstClient::packetFor(memory->request(), {kInSlot, kOutSlot}, measure);
  }
};

Result<AddBurst> openAdd(HalClient& client, HalVersion method, const BurstOptions& options = {},
                         uint32_t n = 4) {
  AddBurst made;
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, method, addModel(n)));
  if (prepared.model == nullptr) {
    made.skip = prepared.skip;
    return made;
  }
  made.model = prepared.model;
  HALYARD_ASSIGN_OR_RETURN(BurstClient::Opened opened,
                           BurstClient::open(client, prepared.model, options));
  if (opened.status != Code::NONE) {
    if (opened.hasContext) return opFailed("{} comes with a burst", codeName(opened.status));
    made.skip = fmt::format("the driver has no bursts: {}", opened.message);
    return made;
  }
  made.burst = std::move(opened.burst);
  HALYARD_ASSIGN_OR_RETURN(RequestMemory memory, addMemory(4));
  if (n == 0) {
    for (hal::RequestArgument& input : memory.mutableRequest().inputs) input.dimensions = {4};
  }
  made.burst->setSlot(kInSlot, std::get<SharedMemoryPtr>(memory.request().pools[0]));
  made.burst->setSlot(kOutSlot, std::get<SharedMemoryPtr>(memory.request().pools[1]));
  made.memory = std::move(memory);
  return made;
}

using BurstUse = std::function<Status(AddBurst&)>;
HalChecks::WithVersion withAddBurst(BurstUse use) {
  return [use = std::move(use)](HalClient& client, HalVersion method) -> CheckResult {
    HALYARD_ASSIGN_OR_RETURN(AddBurst add, openAdd(client, method));
    if (!add.skip.empty()) return CheckResult::skipped(add.skip);
    return use(add);
  };
}

// Unused bytes are zero, so that no data of the driver's memory gets out.
Status checkPadding(const std::vector<Datum>& datums) {
  for (size_t i = 0; i < datums.size(); ++i) {
    const auto& words = datums[i].words;
    const auto tag = static_cast<hal::ResultTag>(datums[i].tag());
    std::array<uint32_t, 6> meant{};
    meant[0] = words[0] & 0xff;
    if (tag == hal::ResultTag::PACKET_INFORMATION) {
      meant = {meant[0], 0, words[2], words[3], words[4], 0};
    } else if (tag == hal::ResultTag::OPERAND) {
      meant = {meant[0], 0, words[2] & 0xff, words[3], 0, 0};
    } else if (tag == hal::ResultTag::DIMENSION) {
      meant = {meant[0], 0, words[2], 0, 0, 0};
    } else {
      meant = {meant[0], 0, words[2], words[3], words[4], words[5]};
    }
    if (words != meant) return opFailed("datum {} of the answer has bytes in its padding", i);
  }
  return okStatus();
}

Status expectRuns(AddBurst& add, unsigned value = 3, bool measure = false) {
  add.memory->clearOutputs();
  HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(add.packet(measure)));
  HALYARD_RETURN_IF_ERROR(expectCode("execution in the burst", answer.status, {Code::NONE}));
  HALYARD_RETURN_IF_ERROR(checkTiming(answer.timing, measure));
  HALYARD_RETURN_IF_ERROR(checkPadding(answer.datums));
  return expectFilled(*add.memory, 4, value);
}

Status expectRefused(const BurstAnswer& answer, std::initializer_list<Code> allowed) {
  if (answer.status == Code::NONE) return opFailed("the packet is accepted");
  if (allowed.size() != 0) {
    HALYARD_RETURN_IF_ERROR(expectCode("execution in the burst", answer.status, allowed));
  }
  if (answer.operands != 0) {
    return opFailed("{} comes with {} output shapes", codeName(answer.status), answer.operands);
  }
  const Datum& timing = answer.datums.back();
  if (std::any_of(timing.words.begin() + 2, timing.words.end(),
                  [](uint32_t word) { return word != UINT32_MAX; })) {
    return opFailed("{} comes with times", codeName(answer.status));
  }
  return checkPadding(answer.datums);
}

Status burstRuns(AddBurst& add) {
  for (int i = 0; i < 20; ++i) HALYARD_RETURN_IF_ERROR(expectRuns(add, 3, i % 2 == 1));
  return okStatus();
}

// After a slot is freed, its number may be used for other memory.
Status freedSlot(AddBurst& add) {
  HALYARD_RETURN_IF_ERROR(expectRuns(add));
  HALYARD_RETURN_IF_ERROR(add.burst->freeMemory(kInSlot));
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory other, addMemory(4, kFloat, 10, 20));
  add.burst->setSlot(kInSlot, std::get<SharedMemoryPtr>(other.request().pools[0]));
  add.memory->clearOutputs();
  HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(add.packet()));
  HALYARD_RETURN_IF_ERROR(expectCode("execution in the burst", answer.status, {Code::NONE}));
  return expectFilled(*add.memory, 4, 30)
      .annotate("the memory of a slot that was freed and used again");
}

Status freedOutput(AddBurst& add) {
  HALYARD_RETURN_IF_ERROR(expectRuns(add));
  HALYARD_RETURN_IF_ERROR(add.burst->freeMemory(kOutSlot));
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory other, addMemory(4));
  add.burst->setSlot(kOutSlot, std::get<SharedMemoryPtr>(other.request().pools[1]));
  add.memory->clearOutputs();
  HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(add.packet()));
  HALYARD_RETURN_IF_ERROR(expectCode("execution in the burst", answer.status, {Code::NONE}));
  HALYARD_RETURN_IF_ERROR(expectFilled(other, 4, 3),
                          "the output in a slot that was freed and used again");
  return okStatus();
}

Status freeingIsHarmless(AddBurst& add) {
  for (const int32_t slot : {kInSlot, kInSlot, int32_t{77}, int32_t{-1}, hal::kNoSlot}) {
    HALYARD_RETURN_IF_ERROR(expectRuns(add));
    HALYARD_RETURN_IF_ERROR(add.burst->freeMemory(slot));
  }
  return expectRuns(add);
}

Status unknownSlots(AddBurst& add) {
  for (const int32_t slot : {int32_t{5}, hal::kNoSlot}) {
    HALYARD_ASSIGN_OR_RETURN(
        const BurstAnswer answer,
        add.burst->exchange(BurstClient::packetFor(add.memory->request(), {slot, kOutSlot})));
    HALYARD_RETURN_IF_ERROR(expectRefused(answer, {Code::INVALID_ARGUMENT}), "slot {}", slot);
    HALYARD_RETURN_IF_ERROR(expectRuns(add));
  }
  return okStatus();
}

Status tooFewMemories(AddBurst& add) {
  add.burst->answerTooFew();
  HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(add.packet()));
  HALYARD_RETURN_IF_ERROR(expectRefused(answer, {Code::INVALID_ARGUMENT}),
                          "answered one memory for two slots");
  return expectRuns(add);
}

// One datum is missing, at each place in turn.
Status removedDatums(AddBurst& add) {
  const std::vector<Datum> good = add.packet();
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<Datum> bad = good;
    bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(i));
    if (bad.empty()) continue;
    HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(bad));
    HALYARD_RETURN_IF_ERROR(expectRefused(answer, {}), "without datum {}", i);
  }
  return expectRuns(add);
}

Datum datum(RequestTag tag, std::array<uint32_t, 5> payload) {
  Datum made;
  made.words[0] = static_cast<uint32_t>(tag);
  std::copy(payload.begin(), payload.end(), made.words.begin() + 1);
  return made;
}

std::vector<Datum> badDatums() {
  return {datum(RequestTag::PACKET_INFORMATION, {10, 10, 10, 10, 0}),
          datum(RequestTag::INPUT_OPERAND, {0, 0, 0, 0, 10}),
          datum(RequestTag::INPUT_DIMENSION, {0, 0, 0, 0, 0}),
          datum(RequestTag::OUTPUT_OPERAND, {0, 0, 0, 0, 10}),
          datum(RequestTag::OUTPUT_DIMENSION, {0, 0, 0, 0, 0}),
          datum(RequestTag::POOL, {static_cast<uint32_t>(hal::kNoSlot), 0, 0, 0, 0}),
          datum(RequestTag::MEASURE_TIMING, {1, 0, 0, 0, 0})};
}

Status insertedDatums(AddBurst& add) {
  const std::vector<Datum> good = add.packet();
  for (size_t i = 0; i <= good.size(); ++i) {
    for (const Datum& extra : badDatums()) {
      std::vector<Datum> bad = good;
      bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(i), extra);
      HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(bad));
      HALYARD_RETURN_IF_ERROR(expectRefused(answer, {}), "a datum of tag {} at {}", extra.tag(), i);
    }
  }
  return expectRuns(add);
}

Status replacedDatums(AddBurst& add) {
  const std::vector<Datum> good = add.packet();
  for (size_t i = 0; i < good.size(); ++i) {
    for (const Datum& other : badDatums()) {
      // Another value of the same kind may be valid.
      const bool isValue = other.tag() == good[i].tag() &&
                           (other.tag() == static_cast<uint8_t>(RequestTag::INPUT_DIMENSION) ||
                            other.tag() == static_cast<uint8_t>(RequestTag::OUTPUT_DIMENSION) ||
                            other.tag() == static_cast<uint8_t>(RequestTag::MEASURE_TIMING));
      if (isValue) continue;
      std::vector<Datum> bad = good;
      bad[i] = other;
      HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(bad));
      HALYARD_RETURN_IF_ERROR(expectRefused(answer, {}), "a datum of tag {} in place of {}",
                              other.tag(), i);
    }
  }
  return expectRuns(add);
}

Status badBurstRequest(AddBurst& add, const BadRequest& row) {
  const hal::Request wrong = row.spoilt(add.memory->request());
  HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, add.burst->exchange(BurstClient::packetFor(
                                                         wrong, {kInSlot, kOutSlot}, true)));
  HALYARD_RETURN_IF_ERROR(expectRefused(answer, row.codes()));
  return expectRuns(add);
}

// The result of a model with open dimensions needs four datums.
CheckResult smallResultChannel(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(AddBurst regular, openAdd(client, method, {}, 0));
  if (!regular.skip.empty()) return CheckResult::skipped(regular.skip);
  HALYARD_RETURN_IF_ERROR(expectRuns(regular));
  BurstOptions options;
  options.resultCapacity = 2;
  HALYARD_ASSIGN_OR_RETURN(AddBurst small, openAdd(client, method, options, 0));
  if (!small.skip.empty()) return CheckResult::skipped(small.skip);
  HALYARD_ASSIGN_OR_RETURN(const BurstAnswer answer, small.burst->exchange(small.packet()));
  return expectRefused(answer, {Code::GENERAL_FAILURE});
}

CheckResult tooSmallInBurst(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(AddBurst add, openAdd(client, method));
  if (!add.skip.empty()) return CheckResult::skipped(add.skip);
  RequestMemory small = *add.memory;
  small.mutableRequest().outputs[0].location.length = 15;
  HALYARD_ASSIGN_OR_RETURN(
      const BurstAnswer answer,
      add.burst->exchange(BurstClient::packetFor(small.request(), {kInSlot, kOutSlot}, true)));
  HALYARD_RETURN_IF_ERROR(expectCode("execution with 15 bytes for 16", answer.status,
                                     {Code::OUTPUT_INSUFFICIENT_SIZE}));
  if (answer.shapes.size() != 1 || answer.shapes[0].isSufficient) {
    return opFailed("it does not say that the output does not fit");
  }
  return expectRuns(add);
}

CheckResult channels(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(AddBurst add, openAdd(client, method));
  if (!add.skip.empty()) return CheckResult::skipped(add.skip);
  const auto expectNone = [&](const char* what, const BurstOptions& options) -> Status {
    HALYARD_ASSIGN_OR_RETURN(const BurstClient::Opened opened,
                             BurstClient::open(client, add.model, options));
    HALYARD_RETURN_IF_ERROR(expectCode(fmt::format("a burst with {}", what), opened.status,
                                       {Code::GENERAL_FAILURE, Code::INVALID_ARGUMENT},
                                       opened.message));
    if (opened.hasContext) return opFailed("a burst with {} has a context", what);
    return okStatus();
  };
  BurstOptions options;
  options.hasEventWord = false;
  HALYARD_RETURN_IF_ERROR(expectNone("channels without an event word", options));
  options = {};
  options.nullCallback = true;
  HALYARD_RETURN_IF_ERROR(expectNone("no callback", options));
  options = {};
  options.elementSize = 16;
  HALYARD_RETURN_IF_ERROR(expectNone("elements of 16 bytes", options));
  options = {};
  options.saidCapacity = 4096;
  HALYARD_RETURN_IF_ERROR(expectNone("channels larger than their memory", options));
  return expectRuns(add);
}

// A driver must not watch any file as a doorbell: it would wait for the file's file system.
CheckResult doorbells(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(AddBurst add, openAdd(client, method));
  if (!add.skip.empty()) return CheckResult::skipped(add.skip);
  int pipeEnds[2];
  int datagramEnds[2];
  if (::pipe2(pipeEnds, O_CLOEXEC) != 0) return errnoStatus(ResultCode::OP_FAILED, errno, "pipe");
  const UniqueFd pipes[] = {UniqueFd(pipeEnds[0]), UniqueFd(pipeEnds[1])};
  if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, datagramEnds) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "socketpair");
  }
  const UniqueFd datagrams[] = {UniqueFd(datagramEnds[0]), UniqueFd(datagramEnds[1])};
  const UniqueFd file(::memfd_create("no doorbell", MFD_CLOEXEC));
  const UniqueFd counter(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::pair<const char*, int> wrong[] = {{"the reading end of a pipe", pipeEnds[0]},
                                               {"the writing end of a pipe", pipeEnds[1]},
                                               {"a datagram socket", datagramEnds[0]},
                                               {"a file", file.get()},
                                               {"an eventfd", counter.get()}};
  for (const auto& [what, fd] : wrong) {
    BurstOptions options;
    options.doorbell = fd;
    HALYARD_ASSIGN_OR_RETURN(const BurstClient::Opened opened,
                             BurstClient::open(client, add.model, options));
    HALYARD_RETURN_IF_ERROR(expectCode(fmt::format("a burst with {} for a doorbell", what),
                                       opened.status, {Code::GENERAL_FAILURE}, opened.message));
  }
  return expectRuns(add);
}

// The client has the driver's doorbell, too, and can fill it. A driver that writes to it must not
// wait for the client.
CheckResult fullDoorbell(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(AddBurst add, openAdd(client, method));
  if (!add.skip.empty()) return CheckResult::skipped(add.skip);
  BurstOptions options;
  options.doorbell = -1;
  HALYARD_ASSIGN_OR_RETURN(BurstClient::Opened opened,
                           BurstClient::open(client, add.model, options));
  if (opened.status != Code::NONE) {
    return CheckResult::skipped("the driver refuses bursts without a doorbell");
  }
  if (!opened.driversDoorbell.valid()) return opFailed("a burst without any doorbell");
  AddBurst old;
  old.burst = std::move(opened.burst);
  old.memory = add.memory;
  old.burst->setSlot(kInSlot, std::get<SharedMemoryPtr>(add.memory->request().pools[0]));
  old.burst->setSlot(kOutSlot, std::get<SharedMemoryPtr>(add.memory->request().pools[1]));
  const int doorbell = opened.driversDoorbell.get();
  old.burst->wakeBy(doorbell);
  HALYARD_RETURN_IF_ERROR(expectRuns(old), "a client that has no doorbell");
  // The counter is full, so that a writer waits.
  (void)::fcntl(doorbell, F_SETFL, O_NONBLOCK);
  uint64_t content = 0;
  (void)!::read(doorbell, &content, sizeof content);
  const uint64_t most = UINT64_MAX - 1;
  (void)!::write(doorbell, &most, sizeof most);
  (void)::fcntl(doorbell, F_SETFL, 0);
  HALYARD_RETURN_IF_ERROR(old.burst->freeMemory(kInSlot));
  HALYARD_RETURN_IF_ERROR(client.roundTrip());
  return expectRuns(add);
}

CheckResult several(HalClient& client, HalVersion method) {
  std::vector<AddBurst> bursts;
  for (int i = 0; i < 4; ++i) {
    HALYARD_ASSIGN_OR_RETURN(AddBurst add, openAdd(client, method));
    if (!add.skip.empty()) return CheckResult::skipped(add.skip);
    bursts.push_back(std::move(add));
  }
  Status status = inThreads(4, [&](unsigned thread) -> Status {
    for (int i = 0; i < 25; ++i) HALYARD_RETURN_IF_ERROR(expectRuns(bursts[thread]));
    return okStatus();
  });
  HALYARD_RETURN_IF_ERROR(std::move(status));
  bursts.erase(bursts.begin());
  HALYARD_RETURN_IF_ERROR(client.roundTrip());
  for (AddBurst& add : bursts) HALYARD_RETURN_IF_ERROR(expectRuns(add));
  return okStatus();
}

}  // namespace

void listBurstChecks(HalChecks& checks) {
  const HalVersion since = HalVersion::V1_2;
  const auto add = [&](const char* name, const char* what, BurstUse use) {
    checks.addForVersions(since, name, what, {}, withAddBurst(std::move(use)));
  };
  add("burst/runs", "executions in a burst give the right results", burstRuns);
  add("burst/freed_slot", "a slot that was freed and used again is asked for again", freedSlot);
  add("burst/freed_output", "the same for an output's memory", freedOutput);
  add("burst/freeing_is_harmless", "freeing slots twice, or unknown ones, disturbs nothing",
      freeingIsHarmless);
  add("burst/unknown_slots", "a slot that the client does not know is INVALID_ARGUMENT",
      unknownSlots);
  add("burst/too_few_memories", "an answer with too few memories is INVALID_ARGUMENT",
      tooFewMemories);
  add("burst/removed_datums", "a packet without one of its datums is refused", removedDatums);
  add("burst/inserted_datums", "a packet with a datum too many is refused", insertedDatums);
  add("burst/replaced_datums", "a packet with a datum of the wrong kind is refused",
      replacedDatums);
  checks.addForVersions(since, "burst/small_result_channel",
                        "a result that does not fit becomes GENERAL_FAILURE", {},
                        smallResultChannel);
  checks.addForVersions(since, "burst/too_small",
                        "an output that does not fit is told with its shape", {"ND-047"},
                        tooSmallInBurst);
  checks.addForVersions(since, "burst/channels", "channels that are not right are refused", {},
                        channels);
  checks.addForVersions(since, "burst/doorbells",
                        "what is no doorbell is refused, and the client's is taken", {"ND-066"},
                        doorbells);
  checks.addForVersions(since, "burst/full_doorbell",
                        "a client that fills a doorbell keeps nobody waiting", {"ND-066"},
                        fullDoorbell);
  checks.addForVersions(since, "burst/several", "bursts of one driver do not disturb each other",
                        {"ND-040"}, several);
  for (const BadRequest& row : badRequests()) {
    if (!row.fitsBurst) continue;
    checks.addForVersions(
        since, fmt::format("burst/{}_{}", row.rule, row.name),
        fmt::format("rule {} of requests: {} is refused", row.rule, row.name), {"ND-044"},
        withAddBurst([&row](AddBurst& burst) { return badBurstRequest(burst, row); }));
  }
}

}  // namespace halyard::validation
