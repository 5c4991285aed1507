"""A client of an X server whose window, on the upper left part of the screen, closes at the first key or button it
gets. It says "open" when it is seen and "closed" when it is gone. With the word "always", it opens and closes windows
until it is killed."""
import ctypes
import sys
import time

SIDE = 600
BACKGROUND = 0x00FF00
KEY_PRESS, BUTTON_PRESS, EXPOSE = 2, 4, 12
EVENTS = 1 << 0 | 1 << 2 | 1 << 15  # keys, buttons, exposure
BETWEEN_S = 0.002  # others have their turn
EVENT_BYTES = 24 * ctypes.sizeof(ctypes.c_long)


class Windows:
    def __init__(self):
        self.x = ctypes.CDLL("libX11.so.6")
        self.x.XOpenDisplay.restype = ctypes.c_void_p
        self.x.XDefaultRootWindow.restype = self.x.XCreateSimpleWindow.restype = ctypes.c_ulong
        self.display = ctypes.c_void_p(self.x.XOpenDisplay(None))
        self.root = ctypes.c_ulong(self.x.XDefaultRootWindow(self.display))

    def open(self):
        window = ctypes.c_ulong(self.x.XCreateSimpleWindow(self.display, self.root, 0, 0, SIDE, SIDE, 0,
                                                           ctypes.c_ulong(0), ctypes.c_ulong(BACKGROUND)))
        self.x.XSelectInput(self.display, window, ctypes.c_long(EVENTS))
        self.x.XMapRaised(self.display, window)
        return window

    def next_event(self):
        event = ctypes.create_string_buffer(EVENT_BYTES)
        self.x.XNextEvent(self.display, event)
        return ctypes.c_int.from_buffer(event).value

    def flush(self):
        self.x.XSync(self.display, 0)

    def close(self, window):
        self.x.XDestroyWindow(self.display, window)
        self.flush()


def main():
    windows = Windows()
    while sys.argv[1:] == ["always"]:
        window = windows.open()
        windows.flush()
        time.sleep(BETWEEN_S)
        windows.close(window)
        time.sleep(BETWEEN_S)
    window = windows.open()
    while windows.next_event() != EXPOSE:
        pass
    print("open", flush=True)
    while windows.next_event() not in (KEY_PRESS, BUTTON_PRESS):
        pass
    windows.close(window)
    print("closed", flush=True)


if __name__ == "__main__":
    main()
