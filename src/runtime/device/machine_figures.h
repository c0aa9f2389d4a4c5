// What this machine needs to wake another thread, to copy and to multiply.
// Thread safety: any thread. Ownership: none.
#pragma once

namespace halyard::runtime {

struct MachineFigures {
  double wakeNs = 0;         // a sleeping thread is woken and wakes its waker
  double nsPerByte = 0;      // of a copy of some MiB
  double productsPerNs = 0;  // multiply and add in a matrix product, with all processors
};

// Measured by the first call, in about a millisecond; the same for the rest of the process.
const MachineFigures& machineFigures();

}  // namespace halyard::runtime
