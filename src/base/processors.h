// Which processors there are for the calling thread.
// Thread safety: all functions may be called from any thread. Ownership: none.
#pragma once

namespace halyard {

// How many the thread may use.
unsigned usableProcessors();
// Moves the thread to another one, if it may use one. It may use the same ones as before.
void leaveProcessor();

}  // namespace halyard
