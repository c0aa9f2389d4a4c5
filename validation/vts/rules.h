// What every answer of a driver has to be like, whatever was asked.
// Thread safety: pure functions. Ownership: none. Errors: OP_FAILED that says what the driver
// answered and what was expected.
#pragma once

#include <initializer_list>
#include <vector>

#include "validation/vts/hal_client.h"

namespace halyard::validation {

std::string codesText(std::initializer_list<Code> codes);
// OP_FAILED unless `status` is one of `allowed`.
Status expectCode(std::string_view what, Code status, std::initializer_list<Code> allowed,
                  const std::string& message = "");

// The preparation has succeeded: launched with NONE, called back once with NONE and a model.
Status expectPrepared(const Preparation& preparation);
// It was refused at once: the launch has one of the codes, the callback the same one, no model.
Status expectRefusedAtLaunch(const Preparation& preparation, std::initializer_list<Code> allowed);
// It failed with one of the codes at launch or by the callback, without a model.
Status expectFailed(const Preparation& preparation, std::initializer_list<Code> allowed);
// It succeeded, or failed as expectFailed has it.
Status expectPreparedOr(const Preparation& preparation, std::initializer_list<Code> allowed);

// OP_FAILED unless the callback was called by the notification that came with the method.
Status expectForm(std::optional<HalVersion> form, HalVersion method);

// An error: the codes of launch and callback agree or the launch was fine, no shapes, no times, and
// a text.
Status expectError(const ExecutionAnswer& answer, std::initializer_list<Code> allowed);
Status expectError(const FencedAnswer& answer, std::initializer_list<Code> allowed);
// NONE, with no shapes or these and all sufficient; times only if `measured`, in their order.
// `mustHaveShapes`: the model leaves some open.
Status expectSuccess(const ExecutionAnswer& answer, const std::vector<Shape>& shapes, bool measured,
                     bool mustHaveShapes);
Status checkTiming(const hal::Timing& timing, bool measured);

// Both calls about the model answer INVALID_ARGUMENT, as the HAL lays down.
Status expectModelRefused(HalClient& client, HalVersion method, const Model& model,
                          const ModelEdit& edit = nullptr);

// A model that the driver takes, prepared; or why it does not apply.
struct PreparedOrSkip {
  DriverObjectPtr model;
  std::string skip;  // not empty: the driver does not support the model
};
// Asks what is supported first; what is wholly supported has to be prepared (ND-021).
Result<PreparedOrSkip> prepareIfSupported(HalClient& client, HalVersion method, const Model& model,
                                          const PrepareCall& call = {});

}  // namespace halyard::validation
