"""The block of memory through which shim.c is told what to do, and says what it has done."""

import mmap
import os
import struct

FIELDS = ("operations", "first", "last", "error", "probability", "random", "wall_offset", "injected", "delay", "age")
# In the place of an errno: half of a write, and the end of the process.
TEAR = -1
# And an operation that lasts as long as this is set.
HANG = -2
FOREVER = 1 << 62


class Control:
    """One block, for one life after the other."""

    def __init__(self, machine, name="control"):
        self._shim = machine.shim
        self._path = os.path.join(machine.place, name)
        with open(self._path, "wb") as file:
            file.write(bytes(8 * len(FIELDS)))
        with open(self._path, "r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8 * len(FIELDS))

    def environment(self, root):
        return {"LD_PRELOAD": self._shim, "FAULTS_CONTROL": self._path, "FAULTS_ROOT": root}

    def __getitem__(self, field):
        return struct.unpack_from("=q", self._memory, 8 * FIELDS.index(field))[0]

    def __setitem__(self, field, value):
        struct.pack_into("=q", self._memory, 8 * FIELDS.index(field), value)

    def reset(self):
        for field in FIELDS:
            self[field] = 0

    def fail(self, first, last, error):
        """Has all operations from number `first` to `last` fail. The first one is written last: it is the switch."""
        self["error"] = error
        self["last"] = last
        self["first"] = first

    def fail_at_random(self, probability, seed):
        """Has each operation fail with a probability in thousandths."""
        self["random"] = seed
        self["probability"] = probability

    def end(self):
        """Ends all faults."""
        self["first"] = 0
        self["probability"] = 0
