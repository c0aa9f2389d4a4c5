// Executing by calls: invalid requests, sizes that are too small, deadlines, memory of all kinds,
// and several executions at once.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/request_rows.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

using namespace std::chrono_literals;

const std::initializer_list<Code> kMissed = {Code::MISSED_DEADLINE_TRANSIENT,
                                             Code::MISSED_DEADLINE_PERSISTENT};

// Runs `use` with a prepared addModel(n), if the driver supports it.
CheckResult withPreparedAdd(HalClient& client, HalVersion method, uint32_t n,
                            const std::function<Status(const DriverObjectPtr&)>& use) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, method, addModel(n)));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  return use(prepared.model);
}

CheckResult badExecuteRequest(HalClient& client, HalVersion method, const BadRequest& row) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
    const hal::Request bad = row.spoilt(memory.request());
    for (const Path path : pathsOf(method)) {
      ExecuteCall call;
      call.measure = method >= HalVersion::V1_2;
      if (row.edit != nullptr) call.edit = row.edit;
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(method, path, model, bad, call));
      HALYARD_RETURN_IF_ERROR(expectError(answer, row.codes()), "executed {}", pathName(path));
    }
    // The invalid request has done no harm.
    return runsAdd(client, method, model, 4);
  });
}

// A request with 16 bytes for each argument, in separate pools.
Result<hal::Request> sizedRequest(const SizedRequest& row, SharedMemoryPtr* out) {
  hal::Request request;
  for (const unsigned value : {1u, 2u, 0u}) {
    HALYARD_ASSIGN_OR_RETURN(*out, SharedMemory::create(16, "an argument"));
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, (*out)->mapped());
    const std::vector<uint8_t> bytes = filled(kFloat, 4, value);
    std::copy(bytes.begin(), bytes.end(), mapping->data());
    hal::RequestArgument argument;
    argument.kind = hal::RequestArgument::Kind::POOL;
    argument.location = {static_cast<uint32_t>(request.pools.size()), 0, 16};
    (value == 0 ? request.outputs : request.inputs).push_back(argument);
    request.pools.emplace_back(*out);
  }
  if (row.change != nullptr) row.change(request);
  return request;
}

CheckResult checkSized(HalClient& client, HalVersion method, const SizedRequest& row) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, method, row.model()));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  for (const Path path : pathsOf(method)) {
    SharedMemoryPtr out;
    HALYARD_ASSIGN_OR_RETURN(const hal::Request request, sizedRequest(row, &out));
    ExecuteCall call;
    call.measure = method >= HalVersion::V1_2;
    HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                             client.execute(method, path, prepared.model, request, call));
    if (!row.isRight(method)) {
      HALYARD_RETURN_IF_ERROR(expectError(answer, {Code::INVALID_ARGUMENT}), "executed {}",
                              pathName(path));
      continue;
    }
    const bool isOpen = row.sizes == SizedRequest::Sizes::OPEN_OUTPUT;
    HALYARD_RETURN_IF_ERROR(expectSuccess(answer, {{4}}, call.measure, isOpen), "executed {}",
                            pathName(path));
    HALYARD_ASSIGN_OR_RETURN(const Mapping* const mapping, out->mapped());
    const std::vector<uint8_t> expected = filled(kFloat, 4, 3);
    if (!std::equal(expected.begin(), expected.end(), mapping->data())) {
      return opFailed("executed {}, the output is wrong", pathName(path));
    }
  }
  return okStatus();
}

// `measure` has a number that stands for neither yes nor no.
CheckResult unknownMeasure(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
    ExecuteCall call;
    call.measureNumber = 7;
    for (const Path path : pathsOf(method)) {
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(method, path, model, memory.request(), call));
      HALYARD_RETURN_IF_ERROR(expectError(answer, {Code::INVALID_ARGUMENT}), "executed {}",
                              pathName(path));
    }
    return runsAdd(client, method, model, 4);
  });
}

// Results and errors come by the notification of the method's version. An old client does not have
// a newer one.
CheckResult executionCallbackForm(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    for (const bool right : {true, false}) {
      HALYARD_ASSIGN_OR_RETURN(RequestMemory memory, addMemory(4));
      if (!right) memory.mutableRequest().inputs.pop_back();
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(method, Path::ASYNCHRONOUS, model, memory.request()));
      HALYARD_RETURN_IF_ERROR(expectForm(answer.form, method), "a {} request",
                              right ? "right" : "wrong");
    }
    return okStatus();
  });
}

// The client's callback throws an exception. It is not called again, and the driver continues.
CheckResult throwingCallback(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    for (const bool right : {true, false}) {
      HALYARD_ASSIGN_OR_RETURN(RequestMemory memory, addMemory(4));
      if (!right) memory.mutableRequest().inputs.pop_back();
      ExecuteCall call;
      call.callbackThrows = true;
      HALYARD_ASSIGN_OR_RETURN(
          const ExecutionAnswer answer,
          client.execute(method, Path::ASYNCHRONOUS, model, memory.request(), call));
      const Code expected = right ? Code::NONE : Code::INVALID_ARGUMENT;
      HALYARD_RETURN_IF_ERROR(expectCode("execution", answer.status(), {expected}, answer.message));
      HALYARD_RETURN_IF_ERROR(runsAdd(client, method, model, 4));
      if (answer.notifications == nullptr || *answer.notifications != 1) {
        return opFailed("a callback that throws was called {} times, expected once",
                        answer.notifications == nullptr ? 0 : answer.notifications->load());
      }
    }
    return okStatus();
  });
}

CheckResult nullExecutionCallback(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
    ExecuteCall call;
    call.nullCallback = true;
    HALYARD_ASSIGN_OR_RETURN(
        const ExecutionAnswer answer,
        client.execute(method, Path::ASYNCHRONOUS, model, memory.request(), call));
    HALYARD_RETURN_IF_ERROR(expectCode("launch without a callback", answer.launch,
                                       {Code::INVALID_ARGUMENT}, answer.message));
    return runsAdd(client, method, model, 4);
  });
}

CheckResult executionCalledBackOnce(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    HALYARD_ASSIGN_OR_RETURN(RequestMemory memory, addMemory(4));
    for (const bool right : {true, false}) {
      if (!right) memory.mutableRequest().inputs.pop_back();
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(method, Path::ASYNCHRONOUS, model, memory.request()));
      std::this_thread::sleep_for(20ms);
      HALYARD_RETURN_IF_ERROR(client.roundTrip());
      if (answer.notifications == nullptr || *answer.notifications != 1) {
        return opFailed("the callback of a {} request was called {} times, expected once",
                        right ? "right" : "wrong",
                        answer.notifications == nullptr ? 0 : answer.notifications->load());
      }
    }
    return okStatus();
  });
}

// The output is one byte too small.
CheckResult tooSmallOutput(HalClient& client, HalVersion method, bool open) {
  return withPreparedAdd(client, method, open ? 0 : 4, [&](const DriverObjectPtr& model) -> Status {
    HALYARD_ASSIGN_OR_RETURN(
        RequestMemory memory,
        RequestMemory::make({filled(kFloat, 4, 1), filled(kFloat, 4, 2)}, {15}));
    if (open) {
      for (hal::RequestArgument& input : memory.mutableRequest().inputs) input.dimensions = {4};
    }
    for (const Path path : pathsOf(method)) {
      ExecuteCall call;
      call.measure = method >= HalVersion::V1_2;
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                               client.execute(method, path, model, memory.request(), call));
      HALYARD_RETURN_IF_ERROR(expectCode("execution with 15 bytes for 16", answer.status(),
                                         {Code::OUTPUT_INSUFFICIENT_SIZE}, answer.message),
                              "executed {}", pathName(path));
      if (method < HalVersion::V1_2)
        continue;  // the notification of these versions has only the status
      if (answer.shapes.size() != 1) {
        return opFailed("{} output shapes, expected 1", answer.shapes.size());
      }
      if (answer.shapes[0].isSufficient) return opFailed("the output is said to fit");
      const Shape& dims = answer.shapes[0].dimensions;
      if (dims.size() != 1 || (dims[0] != 4 && (open ? true : dims[0] != 0))) {
        return opFailed("the output is said to be [{}], expected [4]", fmt::join(dims, ","));
      }
      if (answer.timing.timeOnDevice || answer.timing.timeInDriver) {
        return opFailed("OUTPUT_INSUFFICIENT_SIZE comes with times");
      }
      HALYARD_RETURN_IF_ERROR(memory.checkUntouched());
    }
    return open ? runsAdd(client, method, model, 4, true) : runsAdd(client, method, model, 4);
  });
}

CheckResult executeConcurrently(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 64, [&](const DriverObjectPtr& model) -> Status {
    return inThreads(8, [&](unsigned thread) -> Status {
      HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(64, kFloat, thread, 100));
      for (int i = 0; i < 25; ++i) {
        memory.clearOutputs();
        const Path path = pathsOf(method)[static_cast<size_t>(i) % pathsOf(method).size()];
        HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                                 client.execute(method, path, model, memory.request()));
        HALYARD_RETURN_IF_ERROR(expectSuccess(answer, {{64}}, false, false));
        HALYARD_RETURN_IF_ERROR(expectFilled(memory, 64, thread + 100));
      }
      return okStatus();
    });
  });
}

CheckResult executionDeadlines(HalClient& client) {
  constexpr HalVersion kMethod = HalVersion::V1_3;
  return withPreparedAdd(client, kMethod, 4, [&](const DriverObjectPtr& model) -> Status {
    for (const Path path : pathsOf(kMethod)) {
      HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory, addMemory(4));
      const hal::TimePoint now = hal::Clock::now();
      for (const auto& [name, deadline, mayMiss] :
           {std::tuple("past", now - 1s, true), std::tuple("now", now, true),
            std::tuple("in 5 ms", now + 5ms, true), std::tuple("in a minute", now + 60s, false),
            std::tuple("never", hal::TimePoint::max(), false)}) {
        ExecuteCall call;
        call.deadline = deadline;
        memory.clearOutputs();
        HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                                 client.execute(kMethod, path, model, memory.request(), call));
        const bool isPast = deadline < now;
        if (isPast || (mayMiss && answer.status() != Code::NONE)) {
          HALYARD_RETURN_IF_ERROR(isPast ? expectError(answer, {Code::MISSED_DEADLINE_PERSISTENT})
                                         : expectError(answer, kMissed),
                                  "with the deadline {}", name);
          if (path == Path::ASYNCHRONOUS) {
            HALYARD_RETURN_IF_ERROR(
                expectCode("launch with a deadline", answer.launch, {Code::NONE}, answer.message));
          }
          continue;
        }
        HALYARD_RETURN_IF_ERROR(expectSuccess(answer, {{4}}, false, false), "with the deadline {}",
                                name);
        HALYARD_RETURN_IF_ERROR(expectFilled(memory, 4, 3), "with the deadline {}", name);
      }
    }
    return okStatus();
  });
}

// An endless loop that the options of `makeCall` must end, twice in each way.
CheckResult endless(HalClient& client, const std::function<ExecuteCall()>& makeCall) {
  constexpr HalVersion kMethod = HalVersion::V1_3;
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, kMethod, endlessModel()));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  HALYARD_ASSIGN_OR_RETURN(const RequestMemory memory,
                           RequestMemory::make({filled(kFloat, 1, 1)}, {4}));
  for (const Path path : pathsOf(kMethod)) {
    for (int i = 0; i < 2; ++i) {
      const hal::TimePoint began = hal::Clock::now();
      HALYARD_ASSIGN_OR_RETURN(
          const ExecutionAnswer answer,
          client.execute(kMethod, path, prepared.model, memory.request(), makeCall()));
      HALYARD_RETURN_IF_ERROR(expectError(answer, kMissed), "executed {}", pathName(path));
      const auto took =
          std::chrono::duration_cast<std::chrono::milliseconds>(hal::Clock::now() - began);
      // Far more than a busy machine can explain.
      if (took > 3s) return opFailed("it ended after {} ms, expected about 100", took.count());
    }
  }
  return okStatus();
}

// A file with 16 bytes for each input and for the output, from `offset` on. `readOnlyInputs`: the
// inputs' descriptor is opened for reading only.
struct FileMemory {
  UniqueFd fd;
  hal::Request request;
};
Result<FileMemory> fileMemory(off_t offset, bool readOnlyInputs) {
  FileMemory made;
  made.fd = UniqueFd(::memfd_create("memory of a check", MFD_CLOEXEC));
  if (!made.fd.valid()) return errnoStatus(ResultCode::OP_FAILED, errno, "memfd_create");
  std::vector<uint8_t> bytes = filled(kFloat, 4, 1);
  const std::vector<uint8_t> second = filled(kFloat, 4, 2);
  bytes.insert(bytes.end(), second.begin(), second.end());
  bytes.resize(4096);
  if (::pwrite(made.fd.get(), bytes.data(), bytes.size(), offset) != 4096 ||
      ::ftruncate(made.fd.get(), offset + 8192) != 0) {
    return errnoStatus(ResultCode::OP_FAILED, errno, "writing a file");
  }
  const UniqueFd readOnly(
      ::open(fmt::format("/proc/self/fd/{}", made.fd.get()).c_str(), O_RDONLY | O_CLOEXEC));
  HALYARD_ASSIGN_OR_RETURN(
      SharedMemoryPtr in,
      SharedMemory::fromFd(4096, readOnlyInputs ? PROT_READ : PROT_READ | PROT_WRITE,
                           readOnlyInputs ? readOnly.get() : made.fd.get(),
                           static_cast<uint64_t>(offset)));
  HALYARD_ASSIGN_OR_RETURN(SharedMemoryPtr out,
                           SharedMemory::fromFd(4096, PROT_READ | PROT_WRITE, made.fd.get(),
                                                static_cast<uint64_t>(offset) + 4096));
  const auto argument = [](uint32_t pool, uint32_t at) {
    hal::RequestArgument one;
    one.kind = hal::RequestArgument::Kind::POOL;
    one.location = {pool, at, 16};
    return one;
  };
  made.request.inputs = {argument(0, 0), argument(0, 16)};
  made.request.outputs = {argument(1, 0)};
  made.request.pools = {std::move(in), std::move(out)};
  return made;
}

CheckResult filesAsPools(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    for (const off_t offset : {off_t{0}, off_t{4096}}) {
      for (const bool readOnly : {false, true}) {
        HALYARD_ASSIGN_OR_RETURN(const FileMemory file, fileMemory(offset, readOnly));
        for (const Path path : pathsOf(method)) {
          HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer answer,
                                   client.execute(method, path, model, file.request));
          HALYARD_RETURN_IF_ERROR(expectSuccess(answer, {{4}}, false, false),
                                  "a file at offset {}, inputs read only: {}", offset, readOnly);
          float result[4] = {};
          if (::pread(file.fd.get(), result, sizeof result, offset + 4096) != 16 ||
              result[0] != 3 || result[3] != 3) {
            return opFailed("the file at offset {} holds {}, expected 3", offset, result[0]);
          }
          const float zero[4] = {};
          (void)!::pwrite(file.fd.get(), zero, sizeof zero, offset + 4096);
        }
      }
    }
    return okStatus();
  });
}

// The client shortens its file. The execution may fail, but the driver must not end.
CheckResult filesThatShrink(HalClient& client, HalVersion method) {
  return withPreparedAdd(client, method, 4, [&](const DriverObjectPtr& model) -> Status {
    for (int i = 0; i < 20; ++i) {
      HALYARD_ASSIGN_OR_RETURN(const FileMemory file, fileMemory(0, false));
      std::thread shrinking([&] { (void)!::ftruncate(file.fd.get(), 0); });
      const auto answer = client.execute(method, pathsOf(method).back(), model, file.request);
      shrinking.join();
      HALYARD_RETURN_IF_ERROR(answer.status());
      HALYARD_ASSIGN_OR_RETURN(const ExecutionAnswer after,
                               client.execute(method, pathsOf(method).back(), model, file.request));
      if (after.status() == Code::NONE) {
        return opFailed("an execution with an empty file for its arguments succeeds");
      }
    }
    return runsAdd(client, method, model, 4);
  });
}

}  // namespace

void listExecuteChecks(HalChecks& checks) {
  const HalVersion v10 = HalVersion::V1_0;
  for (const BadRequest& row : badRequests()) {
    checks.addForVersions(v10, fmt::format("execute/{}_{}", row.rule, row.name),
                          fmt::format("rule {} of requests: {} is refused", row.rule, row.name),
                          {"ND-044"}, [&row](HalClient& client, HalVersion method) {
                            return badExecuteRequest(client, method, row);
                          });
  }
  for (const SizedRequest& row : sizedRequests()) {
    checks.addForVersions(
        v10, fmt::format("execute/{}_{}", row.rule, row.name),
        fmt::format("rule {} of requests: {} is {}", row.rule, row.name,
                    !row.right
                        ? "refused"
                        : fmt::format("accepted from HAL {} on", halVersionName(*row.right))),
        {"ND-044", "ND-046"},
        [&row](HalClient& client, HalVersion method) { return checkSized(client, method, row); });
  }
  checks.addForVersions(HalVersion::V1_2, "execute/measure_7",
                        "a wish for times that is neither yes nor no is refused", {},
                        unknownMeasure);
  checks.addForVersions(v10, "execute/callback_form",
                        "the callback is called by the notification of the method's version", {},
                        executionCallbackForm);
  checks.addForVersions(v10, "execute/throwing_callback",
                        "a callback that throws is not called again and does no harm", {},
                        throwingCallback);
  checks.addForVersions(v10, "execute/null_callback",
                        "an execution without a callback is refused with INVALID_ARGUMENT", {},
                        nullExecutionCallback);
  checks.addForVersions(v10, "execute/callback_once",
                        "the callback of an execution is called exactly once", {},
                        executionCalledBackOnce);
  for (const bool open : {false, true}) {
    checks.addForVersions(open ? HalVersion::V1_2 : v10,
                          open ? "execute/too_small_open" : "execute/too_small",
                          "an output that does not fit is told with its real shape", {"ND-047"},
                          [open](HalClient& client, HalVersion method) {
                            return tooSmallOutput(client, method, open);
                          });
  }
  checks.addForVersions(v10, "execute/concurrently", "8 threads execute one prepared model at once",
                        {"ND-040"}, executeConcurrently);
  checks.add(HalVersion::V1_3, "execute/deadlines",
             "a deadline is met or answered with MISSED_DEADLINE", {"ND-049"},
             [](HalClient& client) { return executionDeadlines(client); });
  checks.add(HalVersion::V1_3, "execute/loop_timeout",
             "an endless WHILE ends with MISSED_DEADLINE after the loop timeout, each time",
             {"ND-051"}, [](HalClient& client) {
               return endless(client, [] {
                 ExecuteCall call;
                 call.loopTimeout = 100ms;
                 return call;
               });
             });
  checks.add(HalVersion::V1_3, "execute/deadline_is_kept",
             "what takes for ever ends with MISSED_DEADLINE when its deadline passes", {"ND-049"},
             [](HalClient& client) {
               return endless(client, [] {
                 ExecuteCall call;
                 call.loopTimeout = 15s;
                 call.deadline = hal::Clock::now() + 100ms;
                 return call;
               });
             });
  checks.addForVersions(v10, "execute/files_as_pools",
                        "arguments lie in any file, at any page, readable only for inputs",
                        {"ND-041", "ND-042"}, filesAsPools);
  checks.addForVersions(v10, "execute/files_that_shrink",
                        "a client that shortens its file gets an error", {"ND-065"},
                        filesThatShrink);
}

}  // namespace halyard::validation
