# Interfaces of NN HAL 1.0.
@0xb5c8582ed0fbbe58;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("halyard::wire::v1_0");
using T = import "types.capnp";

interface IDevice {
  getCapabilities @0 () -> (status :T.ErrorStatus, message :Text, capabilities :T.Capabilities);
  getSupportedOperations @1 (model :T.Model)
      -> (status :T.ErrorStatus, message :Text, supported :List(Bool),
          details :List(T.OperationSupport));
  # One value per operation, in order. `details` are empty or as many.
  prepareModel @2 (model :T.Model, callback :IPreparedModelCallback)
      -> (status :T.ErrorStatus, message :Text);
  # The status of the launch. With `none` the callback is called once, later; with another status it
  # has been called with the same (unless the callback is null).
  getStatus @3 () -> (status :T.DeviceStatus);
}

interface IPreparedModel {
  # Dropping the last reference frees the prepared model in the driver.
  execute @0 (request :T.Request, callback :IExecutionCallback)
      -> (status :T.ErrorStatus, message :Text);
}

interface IPreparedModelCallback {
  notify @0 (status :T.ErrorStatus, message :Text, preparedModel :IPreparedModel);
}

interface IExecutionCallback {
  notify @0 (status :T.ErrorStatus, message :Text);
}
