// The delegate as TensorFlow Lite sees it: its structure, and the kernels that it puts into graphs.
//
// Thread safety: several interpreters in several threads may use one delegate. One thread at a time
// uses an interpreter, with its kernels.
// Ownership: a kernel shares the delegate's state, so the delegate may be destroyed before the
// interpreters that use it.
#pragma once

#include "halyard/driver/status.h"
#include "tflite_delegate/abi.h"
#include "tflite_delegate/delegate_options.h"

namespace halyard::tflite {

// Makes a delegate, which destroyDelegate frees. BAD_DATA for devices that do not exist.
Result<LiteDelegate*> createDelegate(const DelegateOptions& options);
// Does nothing for null.
void destroyDelegate(LiteDelegate* delegate);

}  // namespace halyard::tflite
