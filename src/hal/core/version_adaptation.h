// Adapts a model, a request or a device's figures to an older HAL version: compliance with reasons,
// conversion, slices.
// Thread safety: pure functions.
// Ownership: results own their data; models are shared.
//
// A driver serves one HAL version and the older ones. Its client adapts everything that it sends.
// Versions are given as feature levels where levels after HAL 1.3 are possible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/device.h"
#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"
#include "halyard/driver/valid_model.h"

namespace halyard::hal {

// An operation of the main subgraph that a driver of a level does not get.
struct NoncompliantOperation {
  size_t index = 0;
  // "needs feature level 3 (HAL 1.2), the device has ...: ", followed by the newer operand or part
  // of the signature. Otherwise the reason why no driver gets the operation.
  std::string reason;
};

// Checks whether a driver of level `have` supports every operation of the main subgraph of the
// valid `model`. The check includes all operands of an operation, and all of a subgraph that it
// refers to. Only the runtime runs control flow of unknown sizes, at any level. Returns BAD_DATA
// with the first unsupported operation and the reason. Operands and pools that no operation uses do
// not count. `all`, if not null, receives every such operation, ascending.
Status compliantWith(const Model& model, FeatureLevel have,
                     std::vector<NoncompliantOperation>* all = nullptr);

// Returns a compliant model in the form for a device of `version`. It drops the relaxed flag before
// 1.1, the table of extensions before 1.2, and subgraphs before 1.3. An unused operand that the
// version does not know becomes an operand without value. Returns `model` itself if nothing
// changes. Returns BAD_DATA for an unused input of the model that the version does not know.
Result<ValidModel> convertTo(const ValidModel& model, HalVersion version);

// The part of a model that an older device can be asked about.
struct ModelSlice {
  ValidModel model;
  std::vector<size_t> operations;  // indices in the original, one per operation of `model`
};
// Cuts out the operations of `model` that comply with level `have`. Values from other operations
// become inputs of the slice, and values for others become outputs. The slice is for
// getSupportedOperations only. Returns nullopt if a query is impossible: no operation complies, the
// slice has no result, or one of its operations refers to a subgraph.
std::optional<ModelSlice> sliceFor(const ValidModel& model, FeatureLevel have);

// Asks a device of level `have` which operations it supports. It asks about the whole valid model
// if that complies, otherwise about its slice. All other operations count as unsupported, with the
// reason of compliantWith if they have one.
using AskSupported = std::function<Result<SupportedOperations>(const ValidModel& part)>;
Result<SupportedOperations> supportedOperations(const ValidModel& model, FeatureLevel have,
                                                const AskSupported& ask);

// Returns whether the groups of figures of HAL 1.0 and 1.1 can represent the capabilities. Other
// capabilities are still converted, from TENSOR_FLOAT32 and TENSOR_QUANT8_ASYMM.
Status compliantWith(const Capabilities& capabilities, HalVersion version);

// Returns whether a prepared model of `version` supports the request's pools: buffers since 1.3,
// hardware buffers since 1.2.
Status compliantWith(const Request& request, HalVersion version);
Status compliantWith(MemoryKind kind, HalVersion version);

}  // namespace halyard::hal
