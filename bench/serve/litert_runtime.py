"""A runtime for mlserver: a .tflite file with LiteRT and its default delegate."""
import numpy as np
from ai_edge_litert.interpreter import Interpreter
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse, MetadataTensor
from mlserver.utils import get_model_uri

DATATYPES = {np.dtype("float32"): "FP32", np.dtype("uint8"): "UINT8", np.dtype("int8"): "INT8"}
THREADS = 2


class LiteRt(MLModel):
    """It keeps one interpreter for each size of batch."""

    async def load(self) -> bool:
        self.file = await get_model_uri(self.settings)
        self.interpreters = {}
        interpreter = self._interpreter(1)
        self.inputs = [self._metadata(each) for each in interpreter.get_input_details()]
        self.outputs = [self._metadata(each) for each in interpreter.get_output_details()]
        return True

    async def predict(self, payload):
        values = NumpyCodec.decode_input(payload.inputs[0])
        interpreter = self._interpreter(values.shape[0])
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], values)
        interpreter.invoke()
        outputs = [
            NumpyCodec.encode_output(each["name"], interpreter.get_tensor(each["index"]))
            for each in interpreter.get_output_details()
        ]
        return InferenceResponse(model_name=self.name, outputs=outputs)

    def _interpreter(self, batch):
        found = self.interpreters.get(batch)
        if found is None:
            found = Interpreter(self.file, num_threads=THREADS)
            details = found.get_input_details()[0]
            found.resize_tensor_input(details["index"], [batch, *details["shape"][1:]])
            found.allocate_tensors()
            self.interpreters[batch] = found
        return found

    @staticmethod
    def _metadata(details):
        shape = [-1, *(int(each) for each in details["shape"][1:])]
        return MetadataTensor(name=details["name"], datatype=DATATYPES[np.dtype(details["dtype"])], shape=shape)
