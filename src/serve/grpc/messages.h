// Converts between the messages of gRPC and the forms that all protocols share.
// Thread safety: pure functions.
// Ownership: a converted request refers to the message, which must outlive it.
#pragma once

#include "halyard/driver/status.h"
#include "serve/grpc/inference.pb.h"
#include "serve/protocol/infer.h"
#include "serve/repository/repository.h"

namespace halyard::serve {

inline constexpr int kMostTensors = 1024;  // of each kind, of a request

// The message is hostile until it is validated. BAD_DATA names the input and the fault.
Result<InferRequest> requestOf(const inference::ModelInferRequest& message,
                               Clock::time_point arrival);

// Moves the outputs of a success into the message.
void fillResponse(const InferRequest& request, InferAnswer answer,
                  inference::ModelInferResponse& message);

void fillMetadata(const ServedModel& model, const std::vector<std::string>& versions,
                  inference::ModelMetadataResponse& message);
void fillStatistics(const ServedModel& model, inference::ModelStatistics& message);

}  // namespace halyard::serve
