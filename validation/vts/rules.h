// Rules that every answer of a driver must follow, independent of the call's arguments.
// Thread safety: pure functions.
// Ownership: values.
// Errors: OP_FAILED, with the driver's answer and the expected answer.
#pragma once

#include <initializer_list>
#include <vector>

#include "validation/vts/hal_client.h"

namespace halyard::validation {

std::string codesText(std::initializer_list<Code> codes);
// OP_FAILED unless `status` is one of `allowed`.
Status expectCode(std::string_view what, Code status, std::initializer_list<Code> allowed,
                  const std::string& message = "");

// The preparation succeeds: the launch is NONE, and the callback is called once with NONE and a
// model.
Status expectPrepared(const Preparation& preparation);
// The preparation is refused at once: the launch has one of the codes, and the callback has the
// same code and no model.
Status expectRefusedAtLaunch(const Preparation& preparation, std::initializer_list<Code> allowed);
// The preparation fails with one of the codes, at the launch or by the callback, without a model.
Status expectFailed(const Preparation& preparation, std::initializer_list<Code> allowed);
// The preparation succeeds, or fails as in expectFailed.
Status expectPreparedOr(const Preparation& preparation, std::initializer_list<Code> allowed);

// OP_FAILED unless the notification of the method's version calls the callback.
Status expectForm(std::optional<HalVersion> form, HalVersion method);

// An error with a text, and without shapes or times. The codes of launch and callback agree, or the
// launch is NONE.
Status expectError(const ExecutionAnswer& answer, std::initializer_list<Code> allowed);
Status expectError(const FencedAnswer& answer, std::initializer_list<Code> allowed);
// NONE, with no shapes or with these, all sufficient. Times only if `measured`, and consistent.
// `mustHaveShapes`: the model leaves some dimensions open.
Status expectSuccess(const ExecutionAnswer& answer, const std::vector<Shape>& shapes, bool measured,
                     bool mustHaveShapes);
Status checkTiming(const hal::Timing& timing, bool measured);

// Both calls with the model answer INVALID_ARGUMENT, as the HAL requires.
Status expectModelRefused(HalClient& client, HalVersion method, const Model& model,
                          const ModelEdit& edit = nullptr);

// A prepared model, or the reason why the driver does not support it.
struct PreparedOrSkip {
  DriverObjectPtr model;
  std::string skip;  // not empty: the driver does not support the model
};
// First asks which operations are supported. The driver must prepare a model whose operations are
// all supported (ND-021).
Result<PreparedOrSkip> prepareIfSupported(HalClient& client, HalVersion method, const Model& model,
                                          const PrepareCall& call = {});

}  // namespace halyard::validation
