"""A client of an X server that gives it keys and motions as of its own devices, not XTEST's, and grabs."""
import ctypes

REAL = ("Xvfb keyboard", "Xvfb mouse")


class DeviceInfo(ctypes.Structure):
    _fields_ = [("id", ctypes.c_ulong), ("type", ctypes.c_ulong), ("name", ctypes.c_char_p),
                ("num_classes", ctypes.c_int), ("use", ctypes.c_int), ("classes", ctypes.c_void_p)]


class RealDevices:
    def __init__(self, display):
        self.x, self.xi, self.xtst = (ctypes.CDLL(f"lib{name}.so.6") for name in ("X11", "Xi", "Xtst"))
        self.x.XOpenDisplay.restype = ctypes.c_void_p
        self.xi.XListInputDevices.restype = ctypes.POINTER(DeviceInfo)
        self.xi.XOpenDevice.restype = ctypes.c_void_p
        self.display = ctypes.c_void_p(self.x.XOpenDisplay(display.encode()))
        count = ctypes.c_int()
        found = self.xi.XListInputDevices(self.display, ctypes.byref(count))
        names = {found[i].name.decode(): found[i].id for i in range(count.value)}
        self.keyboard, self.mouse = (ctypes.c_void_p(self.xi.XOpenDevice(self.display, ctypes.c_ulong(names[name])))
                                     for name in REAL)

    def tap(self, code):
        for is_down in (1, 0):
            self.xtst.XTestFakeDeviceKeyEvent(self.display, self.keyboard, ctypes.c_uint(code), is_down, None, 0,
                                              ctypes.c_ulong(0))
        self.x.XSync(self.display, 0)

    def move(self, x, y):
        axes = (ctypes.c_int * 2)(x, y)
        self.xtst.XTestFakeDeviceMotionEvent(self.display, self.mouse, 0, 0, axes, 2, ctypes.c_ulong(0))
        self.x.XSync(self.display, 0)

    def grab_input(self):
        """Keys and buttons go to this client alone."""
        self.x.XDefaultRootWindow.restype = ctypes.c_ulong
        root = ctypes.c_ulong(self.x.XDefaultRootWindow(self.display))
        synchronous_off, any_time, buttons = 1, ctypes.c_ulong(0), 1 << 2 | 1 << 3
        self.x.XGrabPointer(self.display, root, 0, buttons, synchronous_off, synchronous_off, ctypes.c_ulong(0),
                            ctypes.c_ulong(0), any_time)
        self.x.XGrabKeyboard(self.display, root, 0, synchronous_off, synchronous_off, any_time)
        self.x.XSync(self.display, 0)

    def grab_server(self):
        """No other client is served."""
        self.x.XGrabServer(self.display)
        self.x.XSync(self.display, 0)

    def release(self):
        self.x.XUngrabServer(self.display)
        self.x.XUngrabPointer(self.display, ctypes.c_ulong(0))
        self.x.XUngrabKeyboard(self.display, ctypes.c_ulong(0))
        self.x.XSync(self.display, 0)

    def pressed(self):
        """The keys and buttons that are down, of any device, as bits."""
        keys = ctypes.create_string_buffer(32)
        self.x.XQueryKeymap(self.display, keys)
        self.x.XDefaultRootWindow.restype = ctypes.c_ulong
        root = ctypes.c_ulong(self.x.XDefaultRootWindow(self.display))
        windows, places, state = (ctypes.c_ulong * 2)(), (ctypes.c_int * 4)(), ctypes.c_uint()
        rooms = [ctypes.byref(room, i * ctypes.sizeof(room._type_)) for room in (windows, places)
                 for i in range(len(room))]
        self.x.XQueryPointer(self.display, root, *rooms, ctypes.byref(state))
        return int.from_bytes(keys.raw, "little"), state.value & 0x1F00

    def close(self):
        self.x.XCloseDisplay(self.display)
