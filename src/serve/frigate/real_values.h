// The real values of quantised and integer outputs.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "halyard/driver/status.h"
#include "serve/protocol/infer.h"

namespace halyard::serve {

// Replaces the elements by their real values as FP32. Those of quantised tensors follow from the
// scale and the zero point of `info`, other integers stay as they are. BAD_DATA for other types.
Status makeReal(const TensorInfo& info, OutputTensor& output);

}  // namespace halyard::serve
