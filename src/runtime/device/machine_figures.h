// The times that this machine needs to wake another thread, to copy and to multiply.
// Thread safety: any thread.
// Ownership: none.
#pragma once

namespace halyard::runtime {

struct MachineFigures {
  double wakeNs = 0;         // waking a sleeping thread, which then wakes its waker
  double nsPerByte = 0;      // copying some MiB
  double productsPerNs = 0;  // multiply-add operations in a matrix product, on all processors
};

// Measures at the first call, in about a millisecond. The figures stay the same for the rest of the
// process.
const MachineFigures& machineFigures();

}  // namespace halyard::runtime
