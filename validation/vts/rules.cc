#include "validation/vts/rules.h"

#include <algorithm>

#include "hal/core/error_status.h"
#include "hal/core/operation_support.h"

namespace halyard::validation {
namespace {

bool isOneOf(Code code, std::initializer_list<Code> codes) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

Status expectText(const std::string& message, Code code) {
  if (!message.empty()) return okStatus();
  return opFailed("{} comes without a text that says why", codeName(code));
}

std::string quoted(const std::string& message) {
  return message.empty() ? "" : fmt::format(" (\"{}\")", message);
}

// The reasons and costs: none, or one of each operation, in the form of the HAL.
Status checkDetails(const SupportedAnswer& answer) {
  if (answer.details.empty()) return okStatus();
  if (answer.details.size() != answer.supported.size()) {
    return opFailed("getSupportedOperations gives reasons or costs of {} operations of {}",
                    answer.details.size(), answer.supported.size());
  }
  hal::SupportedOperations proper = answer.details;
  hal::normalise(proper);
  for (size_t i = 0; i < proper.size(); ++i) {
    const hal::OperationSupport& given = answer.details[i];
    if (given.reason != proper[i].reason) {
      return opFailed("the reason for operation {} is '{}', expected '{}'", i,
                      hal::safeText(std::string_view(given.reason)), proper[i].reason);
    }
    if (given.cost != proper[i].cost) {
      return opFailed("operation {} is {}supported at a cost of {}", i,
                      given.supported ? "" : "not ", *given.cost);
    }
  }
  return okStatus();
}

Status checkCallback(const Preparation& preparation) {
  if (!preparation.callback) return opFailed("the callback was dropped without a call");
  if (preparation.notifications != nullptr && *preparation.notifications != 1) {
    return opFailed("the callback was called {} times, expected once",
                    preparation.notifications->load());
  }
  const bool succeeded = *preparation.callback == Code::NONE;
  if (preparation.hasModel != succeeded) {
    return opFailed("the callback has {} and {} model", codeName(*preparation.callback),
                    preparation.hasModel ? "a" : "no");
  }
  return okStatus();
}

}  // namespace

std::string codesText(std::initializer_list<Code> codes) {
  std::string text;
  for (const Code code : codes) {
    if (!text.empty()) text += " or ";
    text += codeName(code);
  }
  return text;
}

Status expectCode(std::string_view what, Code status, std::initializer_list<Code> allowed,
                  const std::string& message) {
  if (isOneOf(status, allowed)) return okStatus();
  return opFailed("{}: {}{}, expected {}", what, codeName(status), quoted(message),
                  codesText(allowed));
}

Status expectPrepared(const Preparation& preparation) {
  HALYARD_RETURN_IF_ERROR(expectCode("launch of the preparation", preparation.launch, {Code::NONE},
                                     preparation.message));
  HALYARD_RETURN_IF_ERROR(checkCallback(preparation));
  return expectCode("callback of the preparation", *preparation.callback, {Code::NONE},
                    preparation.message);
}

Status expectRefusedAtLaunch(const Preparation& preparation, std::initializer_list<Code> allowed) {
  HALYARD_RETURN_IF_ERROR(
      expectCode("launch of the preparation", preparation.launch, allowed, preparation.message));
  HALYARD_RETURN_IF_ERROR(checkCallback(preparation));
  HALYARD_RETURN_IF_ERROR(expectCode("callback of the preparation", *preparation.callback,
                                     {preparation.launch}, preparation.message));
  return expectText(preparation.message, preparation.launch);
}

Status expectFailed(const Preparation& preparation, std::initializer_list<Code> allowed) {
  if (preparation.launch != Code::NONE) return expectRefusedAtLaunch(preparation, allowed);
  HALYARD_RETURN_IF_ERROR(checkCallback(preparation));
  HALYARD_RETURN_IF_ERROR(expectCode("callback of the preparation", *preparation.callback, allowed,
                                     preparation.message));
  return expectText(preparation.message, *preparation.callback);
}

Status expectPreparedOr(const Preparation& preparation, std::initializer_list<Code> allowed) {
  if (preparation.launch == Code::NONE && preparation.callback == Code::NONE) {
    return expectPrepared(preparation);
  }
  return expectFailed(preparation, allowed);
}

Status expectForm(std::optional<HalVersion> form, HalVersion method) {
  if (!form) return opFailed("the callback was dropped without a call");
  const HalVersion expected = method < HalVersion::V1_2 ? HalVersion::V1_0 : method;
  if (*form == expected) return okStatus();
  return opFailed("the callback is called by the notification of HAL {}, expected HAL {}",
                  halVersionName(*form), halVersionName(expected));
}

Status checkTiming(const hal::Timing& timing, bool measured) {
  if (!measured && (timing.timeOnDevice || timing.timeInDriver)) {
    return opFailed("times come without having been asked for");
  }
  if (timing.timeOnDevice && timing.timeInDriver && *timing.timeOnDevice > *timing.timeInDriver) {
    return opFailed("{} ns on the device are more than {} ns in the driver", *timing.timeOnDevice,
                    *timing.timeInDriver);
  }
  return okStatus();
}

Status expectError(const ExecutionAnswer& answer, std::initializer_list<Code> allowed) {
  HALYARD_RETURN_IF_ERROR(expectCode("execution", answer.status(), allowed, answer.message));
  if (!answer.callback) return opFailed("the callback was dropped without a call");
  if (answer.launch != Code::NONE && *answer.callback != answer.launch) {
    return opFailed("the launch has {}, the callback {}", codeName(answer.launch),
                    codeName(*answer.callback));
  }
  if (!answer.shapes.empty()) {
    return opFailed("{} comes with {} output shapes, expected none", codeName(answer.status()),
                    answer.shapes.size());
  }
  if (answer.timing.timeOnDevice || answer.timing.timeInDriver) {
    return opFailed("{} comes with times", codeName(answer.status()));
  }
  return expectText(answer.message, answer.status());
}

Status expectError(const FencedAnswer& answer, std::initializer_list<Code> allowed) {
  HALYARD_RETURN_IF_ERROR(expectCode("executeFenced", answer.status, allowed, answer.message));
  if (answer.hasFence) return opFailed("{} comes with a fence", codeName(answer.status));
  if (answer.hasCallback) return opFailed("{} comes with a callback", codeName(answer.status));
  return expectText(answer.message, answer.status);
}

Status expectSuccess(const ExecutionAnswer& answer, const std::vector<Shape>& shapes, bool measured,
                     bool mustHaveShapes) {
  HALYARD_RETURN_IF_ERROR(
      expectCode("launch of the execution", answer.launch, {Code::NONE}, answer.message));
  if (!answer.callback) return opFailed("the callback was dropped without a call");
  HALYARD_RETURN_IF_ERROR(expectCode("execution", *answer.callback, {Code::NONE}, answer.message));
  HALYARD_RETURN_IF_ERROR(checkTiming(answer.timing, measured));
  if (answer.shapes.empty() && !mustHaveShapes) return okStatus();
  if (answer.shapes.size() != shapes.size()) {
    return opFailed("{} output shapes for {} outputs", answer.shapes.size(), shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!answer.shapes[i].isSufficient) return opFailed("output {} is said not to fit", i);
    if (answer.shapes[i].dimensions != shapes[i]) {
      return opFailed("output {} is said to be [{}], expected [{}]", i,
                      fmt::join(answer.shapes[i].dimensions, ","), fmt::join(shapes[i], ","));
    }
  }
  return okStatus();
}

Status expectModelRefused(HalClient& client, HalVersion method, const Model& model,
                          const ModelEdit& edit) {
  HALYARD_ASSIGN_OR_RETURN(const SupportedAnswer supported, client.supported(method, model, edit));
  HALYARD_RETURN_IF_ERROR(expectCode("getSupportedOperations", supported.status,
                                     {Code::INVALID_ARGUMENT}, supported.message));
  if (!supported.supported.empty()) {
    return opFailed("getSupportedOperations: INVALID_ARGUMENT comes with {} values",
                    supported.supported.size());
  }
  HALYARD_RETURN_IF_ERROR(expectText(supported.message, supported.status));
  PrepareCall call;
  call.edit = edit;
  HALYARD_ASSIGN_OR_RETURN(const Preparation preparation, client.prepare(method, model, call));
  return expectRefusedAtLaunch(preparation, {Code::INVALID_ARGUMENT});
}

Result<PreparedOrSkip> prepareIfSupported(HalClient& client, HalVersion method, const Model& model,
                                          const PrepareCall& call) {
  HALYARD_ASSIGN_OR_RETURN(const SupportedAnswer supported, client.supported(method, model));
  HALYARD_RETURN_IF_ERROR(
      expectCode("getSupportedOperations", supported.status, {Code::NONE}, supported.message));
  if (supported.supported.size() != model.main.operations.size()) {
    return opFailed("getSupportedOperations answers for {} operations, the model has {}",
                    supported.supported.size(), model.main.operations.size());
  }
  HALYARD_RETURN_IF_ERROR(checkDetails(supported));
  const auto first = std::find(supported.supported.begin(), supported.supported.end(), false);
  HALYARD_ASSIGN_OR_RETURN(const Preparation preparation, client.prepare(method, model, call));
  if (first == supported.supported.end()) {
    HALYARD_RETURN_IF_ERROR(expectPrepared(preparation),
                            "every operation was said to be supported");
    return PreparedOrSkip{preparation.model, ""};
  }
  const auto index = static_cast<size_t>(first - supported.supported.begin());
  if (preparation.launch != Code::NONE || preparation.callback != Code::NONE) {
    HALYARD_RETURN_IF_ERROR(expectFailed(
        preparation, {Code::INVALID_ARGUMENT, Code::GENERAL_FAILURE,
                      Code::RESOURCE_EXHAUSTED_PERSISTENT, Code::RESOURCE_EXHAUSTED_TRANSIENT}));
  }
  const std::string reason =
      supported.details.empty() ? std::string() : supported.details[index].reason;
  return PreparedOrSkip{nullptr,
                        fmt::format("the driver does not support {}{}{}",
                                    operationText(index, model.main.operations[index].type),
                                    reason.empty() ? "" : ": ", reason)};
}

}  // namespace halyard::validation
