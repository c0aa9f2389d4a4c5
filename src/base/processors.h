// The processors that the calling thread can use.
// Thread safety: all functions may be called from any thread.
// Ownership: none.
#pragma once

namespace halyard {

// Returns the number of processors that the thread may use.
unsigned usableProcessors();
// Moves the thread to another processor, if it may use one. The set of usable processors stays the
// same.
void leaveProcessor();
// Moves the thread to this processor, if it may use it. The set of usable processors stays the
// same.
void moveToProcessor(unsigned processor);

}  // namespace halyard
