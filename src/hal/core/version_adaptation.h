// What of a model, a request or a device's figures an older HAL version can express, and how to
// bring it there: compliance with its reasons, conversion, slices.
// Thread safety: pure functions. Ownership: results own their data; models are shared.
//
// A driver serves one HAL version and those before it; whoever talks to it adapts what it sends.
// Versions are given as feature levels where later levels than HAL 1.3's may be meant.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halyard/driver/hal_types.h"
#include "halyard/driver/model.h"
#include "halyard/driver/valid_model.h"

namespace halyard::hal {

// An operation of the main subgraph that a driver of a level does not get.
struct NoncompliantOperation {
  size_t index = 0;
  // "needs feature level 3 (HAL 1.2), the device has ...: " and which operand or what of its
  // signature is newer, or why no driver gets it.
  std::string reason;
};

// Whether a driver of level `have` takes every operation of the main subgraph of a valid model: with all operands that it touches, and for a reference to a subgraph everything in
// there. Control flow of unknown sizes is the runtime's, whatever the level. BAD_DATA names the
// first operation that it does not take, and the reason. Operands and pools that no operation uses
// do not matter. With `all`, every such operation is listed there, ascending.
Status compliantWith(const Model& model, FeatureLevel have,
                     std::vector<NoncompliantOperation>* all = nullptr);

// A compliant model as a device of `version` gets it: the relaxed flag dropped before 1.1, the
// table of extensions before 1.2, subgraphs before 1.3, and what no operation uses and the version
// does not know replaced by an operand without value. `model` itself if there is nothing to change.
// BAD_DATA for an input of the model that no operation reads and the version does not know.
Result<ValidModel> convertTo(const ValidModel& model, HalVersion version);

// The part of a model that an older device can be asked about.
struct ModelSlice {
  ValidModel model;
  std::vector<size_t> operations;  // of the original, one per operation of `model`
};
// The operations of `model` that comply with level `have`, cut out: values that come from others
// become inputs of the slice, those that go to others outputs. Good for getSupportedOperations
// only. nullopt when nothing can be asked: no operation complies, the slice gives no result, or
// one of them refers to a subgraph.
std::optional<ModelSlice> sliceFor(const ValidModel& model, FeatureLevel have);

// Asks a device of level `have` which operations it supports: about the whole of a valid model if
// that complies, about its slice otherwise. What cannot be asked about is not supported.
using AskSupported = std::function<Result<std::vector<bool>>(const ValidModel& part)>;
Result<std::vector<bool>> supportedOperations(const ValidModel& model, FeatureLevel have,
                                              const AskSupported& ask);

// Whether the capabilities can be said in the groups of figures that HAL 1.0 and 1.1 have. Those
// that cannot are converted all the same, from TENSOR_FLOAT32 and TENSOR_QUANT8_ASYMM.
Status compliantWith(const Capabilities& capabilities, HalVersion version);

// Whether a prepared model of `version` takes the request's pools: buffers from 1.3 on, hardware
// buffers from 1.2 on.
Status compliantWith(const Request& request, HalVersion version);
Status compliantWith(MemoryKind kind, HalVersion version);

}  // namespace halyard::hal
