// Preparation: callbacks, deadlines, priorities, and several models at once.
#include <thread>

#include "validation/vts/hal_suite.h"
#include "validation/vts/models.h"
#include "validation/vts/rules.h"
#include "validation/vts/runs.h"

namespace halyard::validation {
namespace {

using namespace std::chrono_literals;

Status nullPreparationCallback(HalClient& client, HalVersion method) {
  PrepareCall call;
  call.nullCallback = true;
  HALYARD_ASSIGN_OR_RETURN(const Preparation preparation,
                           client.prepare(method, addModel(4), call));
  HALYARD_RETURN_IF_ERROR(expectCode("launch without a callback", preparation.launch,
                                     {Code::INVALID_ARGUMENT}, preparation.message));
  // The driver continues to serve.
  return client.roundTrip();
}

CheckResult preparationCalledBackOnce(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const SupportedAnswer supported, client.supported(method, addModel(4)));
  for (const bool right : {true, false}) {
    Model model = addModel(4);
    if (!right) model.main.operands[0].scale = 1;
    HALYARD_ASSIGN_OR_RETURN(const Preparation preparation, client.prepare(method, model));
    // Time for a second notification, which would be an error.
    std::this_thread::sleep_for(20ms);
    HALYARD_RETURN_IF_ERROR(client.roundTrip());
    if (*preparation.notifications != 1) {
      return opFailed("the callback of a {} model was called {} times, expected once",
                      right ? "right" : "wrong", preparation.notifications->load());
    }
  }
  return okStatus();
}

Status preparationCallbackForm(HalClient& client, HalVersion method) {
  for (const bool right : {true, false}) {
    Model model = addModel(4);
    if (!right) model.main.operands[0].scale = 1;
    HALYARD_ASSIGN_OR_RETURN(const Preparation preparation, client.prepare(method, model));
    HALYARD_RETURN_IF_ERROR(expectForm(preparation.form, method), "a {} model",
                            right ? "right" : "wrong");
  }
  return okStatus();
}

// Deadlines: now, in 5 ms, in the past, and never. The launch is always NONE.
Status preparationDeadlines(HalClient& client) {
  const std::initializer_list<Code> kMissed = {Code::MISSED_DEADLINE_TRANSIENT,
                                               Code::MISSED_DEADLINE_PERSISTENT};
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip able,
                           prepareIfSupported(client, HalVersion::V1_3, addModel(4)));
  if (able.model == nullptr) return okStatus();
  const hal::TimePoint now = hal::Clock::now();
  for (const auto& [name, deadline, mayMiss] :
       {std::tuple("now", now, true), std::tuple("in 5 ms", now + 5ms, true),
        std::tuple("past", now - 1s, true), std::tuple("never", hal::TimePoint::max(), false)}) {
    PrepareCall call;
    call.deadline = deadline;
    HALYARD_ASSIGN_OR_RETURN(const Preparation preparation,
                             client.prepare(HalVersion::V1_3, addModel(4), call));
    HALYARD_RETURN_IF_ERROR(expectCode(fmt::format("launch with the deadline {}", name),
                                       preparation.launch, {Code::NONE}, preparation.message));
    HALYARD_RETURN_IF_ERROR(deadline < now
                                ? expectFailed(preparation, {Code::MISSED_DEADLINE_PERSISTENT})
                            : mayMiss ? expectPreparedOr(preparation, kMissed)
                                      : expectPrepared(preparation),
                            "with the deadline {}", name);
  }
  return okStatus();
}

CheckResult prioritiesAndPreferences(HalClient& client) {
  for (const int priority : {0, 1, 2}) {
    for (const int preference : {0, 1, 2}) {
      PrepareCall call;
      call.priority = priority;
      call.preference = preference;
      HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                               prepareIfSupported(client, HalVersion::V1_3, addModel(4), call));
      if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
      HALYARD_RETURN_IF_ERROR(runsAdd(client, HalVersion::V1_3, prepared.model, 4),
                              "priority {}, preference {}", priority, preference);
    }
  }
  return okStatus();
}

// Several models of one driver, executed in turns. They are released in another order than they are
// made.
CheckResult keepsModelsApart(HalClient& client, HalVersion method) {
  std::vector<std::pair<uint32_t, DriverObjectPtr>> models;
  for (const uint32_t n : {4u, 4u, 7u, 1u, 300u}) {
    HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                             prepareIfSupported(client, method, addModel(n)));
    if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
    models.emplace_back(n, prepared.model);
  }
  const auto runAll = [&]() -> Status {
    for (const auto& [n, model] : models) {
      HALYARD_RETURN_IF_ERROR(runsAdd(client, method, model, n), "{} elements", n);
    }
    return okStatus();
  };
  HALYARD_RETURN_IF_ERROR(runAll());
  models.erase(models.begin());
  HALYARD_RETURN_IF_ERROR(client.roundTrip());
  HALYARD_RETURN_IF_ERROR(runAll(), "after the first of two equal models has been released");
  models.erase(models.begin() + 1);
  HALYARD_RETURN_IF_ERROR(client.roundTrip());
  return runAll();
}

CheckResult fromSeveralThreads(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip able,
                           prepareIfSupported(client, method, addModel(4)));
  if (able.model == nullptr) return CheckResult::skipped(able.skip);
  return inThreads(8, [&](unsigned thread) -> Status {
    for (int i = 0; i < 10; ++i) {
      const uint32_t n = 1 + thread * 10;
      HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                               prepareIfSupported(client, method, addModel(n)));
      if (prepared.model == nullptr) return opFailed("{}, but it did before", prepared.skip);
      HALYARD_RETURN_IF_ERROR(runsAdd(client, method, prepared.model, n));
    }
    return okStatus();
  });
}

CheckResult unknownDimensions(HalClient& client, HalVersion method) {
  HALYARD_ASSIGN_OR_RETURN(const PreparedOrSkip prepared,
                           prepareIfSupported(client, method, addModel(0)));
  if (prepared.model == nullptr) return CheckResult::skipped(prepared.skip);
  for (const uint32_t n : {4u, 1u, 64u, 4u}) {
    HALYARD_RETURN_IF_ERROR(runsAdd(client, method, prepared.model, n, /*open=*/true),
                            "with {} elements", n);
  }
  return okStatus();
}

}  // namespace

void listPrepareChecks(HalChecks& checks) {
  const HalVersion v10 = HalVersion::V1_0;
  checks.addForVersions(v10, "prepare/null_callback",
                        "a preparation without a callback is refused with INVALID_ARGUMENT", {},
                        nullPreparationCallback);
  checks.addForVersions(v10, "prepare/callback_once",
                        "the callback of a preparation is called exactly once", {"ND-032"},
                        preparationCalledBackOnce);
  checks.addForVersions(v10, "prepare/callback_form",
                        "the callback is called by the notification of the method's version", {},
                        preparationCallbackForm);
  checks.add(HalVersion::V1_3, "prepare/deadlines",
             "a deadline is met or answered with MISSED_DEADLINE, never at the launch", {"ND-033"},
             [](HalClient& client) -> CheckResult { return preparationDeadlines(client); });
  checks.add(HalVersion::V1_3, "prepare/priorities_and_preferences",
             "results are the same with every priority and preference", {"ND-036"},
             prioritiesAndPreferences);
  checks.addForVersions(v10, "prepare/keeps_models_apart",
                        "several prepared models do not disturb each other", {"ND-035"},
                        keepsModelsApart);
  checks.addForVersions(v10, "prepare/from_several_threads",
                        "models can be prepared and executed from several threads at once",
                        {"ND-035", "ND-040"}, fromSeveralThreads);
  checks.addForVersions(HalVersion::V1_2, "prepare/unknown_dimensions",
                        "a model of open dimensions is executed with any", {"ND-046"},
                        unknownDimensions);
}

}  // namespace halyard::validation
