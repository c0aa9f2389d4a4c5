# Interfaces of NN HAL 1.1: models may be computed in relaxed precision, preparation takes a
# preference.
@0xee9c97f6a5cdadbc;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("halyard::wire::v1_1");
using T = import "types.capnp";
using V10 = import "v1_0.capnp";

interface IDevice extends(V10.IDevice) {
  getCapabilities11 @0 () -> (status :T.ErrorStatus, message :Text, capabilities :T.Capabilities);
  getSupportedOperations11 @1 (model :T.Model)
      -> (status :T.ErrorStatus, message :Text, supported :List(Bool),
          details :List(T.OperationSupport));
  prepareModel11 @2 (model :T.Model, preference :T.ExecutionPreference,
                     callback :V10.IPreparedModelCallback)
      -> (status :T.ErrorStatus, message :Text);
}
