// Detector: answers the messages of Frigate's ZMQ detector.
// Thread safety: one thread at a time.
// Ownership: borrows the service.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "serve/frigate/detections.h"
#include "serve/service/service.h"

namespace halyard::serve {

class Detector {
 public:
  // `modelFolder` receives models that Frigate sends; empty: none are taken.
  Detector(Service& service, std::string modelFolder)
      : service_(service), modelFolder_(std::move(modelFolder)) {}

  // The frames of the answer to a message. `client` tells the senders apart, since a frame with a
  // picture does not name its model. Every message has an answer, because Frigate waits for one. A
  // faulty picture is answered with no detections, and a warning in the log.
  std::vector<std::string> answer(const std::string& client,
                                  const std::vector<std::string_view>& frames);

 private:
  std::string answerQuery(const std::string& client, const std::string& file);
  std::string answerModel(const std::string& client, const std::string& file,
                          std::string_view bytes);
  Result<Detections> detect(const std::string& client, std::string_view header,
                            std::string_view bytes);
  Status install(const std::string& name, std::string_view bytes) const;

  Service& service_;
  const std::string modelFolder_;
  std::map<std::string, std::string> models_;  // by client
};

}  // namespace halyard::serve
