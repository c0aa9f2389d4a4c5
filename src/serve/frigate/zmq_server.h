// ZmqServer: receives the messages of Frigate's ZMQ detector.
// Thread safety: start and stop from one thread.
// Ownership: owns its thread and sockets. The detector is used by that thread alone.
#pragma once

#include <memory>
#include <string>

#include "halyard/driver/status.h"
#include "serve/frigate/detector.h"

namespace halyard::serve {

class ZmqServer {
 public:
  ZmqServer(Detector detector, std::string endpoint, size_t maxMessageBytes);
  // Ends the server as stop() does.
  ~ZmqServer();

  // Listens from now on. OP_FAILED if the endpoint cannot be used.
  Status start();
  // The endpoint with its real port.
  std::string endpoint() const;
  // Answers the message that it has, and ends.
  void stop();

 private:
  class Implementation;
  const std::unique_ptr<Implementation> implementation_;
};

}  // namespace halyard::serve
