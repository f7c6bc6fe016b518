"""A small ext4 file system of one's own, which can lose its power or turn read-only."""

import fcntl
import os
import struct
import subprocess

# From the kernel's headers: _IOR('X', 125, __u32), and to drop even the journal that has not been written.
FS_IOC_SHUTDOWN = 0x8004587D
SHUTDOWN_WITHOUT_FLUSHING = 2


class Volume:
    """An image on a loop device; use it in a `with`."""

    def __init__(self, machine, name="volume", options="data=ordered"):
        machine.need_root("for a file system of one's own")
        machine.need("mkfs.ext4", "e2fsprogs")
        machine.need("losetup", "mount")
        self._machine = machine
        self._options = options
        self._image = os.path.join(machine.place, f"{name}.img")
        self.path = os.path.join(machine.place, name)

    def __enter__(self):
        with open(self._image, "wb") as file:
            file.truncate(48 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^resize_inode", self._image], check=True)
        self.mount()
        return self

    def __exit__(self, *_):
        self.unmount()
        os.unlink(self._image)

    def mount(self):
        self._machine.mount(self.path, "-t", "ext4", "-o", f"loop,{self._options}", self._image)

    def unmount(self):
        self._machine.unmount(self.path)

    def again(self):
        """As after a restart of the machine."""
        self.unmount()
        self.mount()

    def lose_power(self):
        """From here on nothing more reaches the image."""
        directory = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(directory, FS_IOC_SHUTDOWN, struct.pack("=I", SHUTDOWN_WITHOUT_FLUSHING))
        finally:
            os.close(directory)

    def find_error(self):
        """Has the kernel find the file system in disorder; mounted with errors=remount-ro, it is read-only then."""
        device = os.stat(self.path).st_dev
        name = os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"))
        with open(f"/sys/fs/ext4/{name}/trigger_fs_error", "w", encoding="utf-8") as file:
            file.write("read-only, on purpose")
