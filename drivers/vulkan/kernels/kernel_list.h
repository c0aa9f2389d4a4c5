// The kernels of the device: one line for each operation in kernel_list.cc.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "plan/recording.h"

namespace halyard::vulkandriver {

// Null for an operation that the device does not have.
Kernel kernelOf(OperationType type);

Status recordBinary(const Site& site, Recording& recording);
Status recordRnnStep(const Site& site, Recording& recording);
Status recordRnnSequence(const Site& site, Recording& recording);
Status recordBidirectionalRnn(const Site& site, Recording& recording);
Status recordLstmStep(const Site& site, Recording& recording);
Status recordLstmSequence(const Site& site, Recording& recording);
Status recordBidirectionalLstm(const Site& site, Recording& recording);
Status recordSvdf(const Site& site, Recording& recording);
Status recordUnary(const Site& site, Recording& recording);

}  // namespace halyard::vulkandriver
